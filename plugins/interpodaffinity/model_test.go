// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package interpodaffinity

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func pick[T any](random *rand.Rand, values ...T) T { return values[random.IntN(len(values))] }

func randomTerm(random *rand.Rand) v1.PodAffinityTerm {
	t := term(pick(random, "zone", "host", "rack"), pick(random, "web", "db"))
	switch random.IntN(6) {
	case 0:
		of(pick(random, "a1", "default"))(&t)
	case 1:
		ofTeam(pick(random, "a", "b"))(&t)
	case 2:
		ofAll(&t)
	}
	return t
}

// randomPod has few different values for everything, so that pods are often about each other.
func randomPod(random *rand.Rand, name string) *v1.Pod {
	p := objects.Pod(name).Label("app", pick(random, "web", "db")).With(inNamespace(pick(random, "default", "default", "default", "a1"))).Build()
	terms := func() (terms []v1.PodAffinityTerm) {
		for range 1 + random.IntN(2) {
			terms = append(terms, randomTerm(random))
		}
		return terms
	}
	if random.IntN(4) == 0 {
		to(terms()...)(p)
	}
	if random.IntN(5) == 0 {
		from(terms()...)(p)
	}
	if random.IntN(5) == 0 {
		rather(weighted(int32(1+random.IntN(9)), randomTerm(random)))(p)
	}
	if random.IntN(5) == 0 {
		rarely(weighted(int32(1+random.IntN(9)), randomTerm(random)))(p)
	}
	return p
}

func randomNode(random *rand.Rand, i int) *framework.NodeInfo {
	var words []string
	if random.IntN(8) > 0 {
		words = append(words, fmt.Sprintf("host=n%d", i))
	}
	if random.IntN(8) > 0 {
		words = append(words, "zone="+pick(random, "z1", "z2", "z3"))
	}
	if random.IntN(2) > 0 {
		words = append(words, "rack="+pick(random, "r1", "r2"))
	}
	return node(fmt.Sprintf("n%d", i), strings.Join(words, " "))
}

func randomCluster(random *rand.Rand, nodes, pods int) []*framework.NodeInfo {
	var infos []*framework.NodeInfo
	for i := range nodes {
		infos = append(infos, randomNode(random, i))
	}
	for i := range pods {
		infos[random.IntN(nodes)].AddPod(randomPod(random, fmt.Sprintf("p%d", i)))
	}
	return infos
}

// modelMatches reports whether a term of one pod matches another pod. It knows terms as randomTerm makes them.
func modelMatches(term v1.PodAffinityTerm, of, other *v1.Pod) bool {
	if term.LabelSelector.MatchLabels["app"] != other.Labels["app"] {
		return false
	}
	if selector := term.NamespaceSelector; selector != nil {
		team := map[string]string{"a1": "a", "a2": "a", "b1": "b"}[other.Namespace]
		return len(selector.MatchLabels) == 0 || selector.MatchLabels["team"] == team
	}
	if len(term.Namespaces) > 0 {
		return term.Namespaces[0] == other.Namespace
	}
	return of.Namespace == other.Namespace
}

// modelTogether reports whether two nodes are in the same domain.
func modelTogether(key string, a, b *framework.NodeInfo) bool {
	valueA, okA := a.Node().Labels[key]
	valueB, okB := b.Node().Labels[key]
	return okA && okB && valueA == valueB
}

// modelVerdict says what Filter should, by looking at every pod of the cluster again.
func modelVerdict(pod *v1.Pod, candidate *framework.NodeInfo, nodes []*framework.NodeInfo) string {
	if !modelAffinity(pod, candidate, nodes) {
		return "affinity"
	}
	existing := false
	for _, info := range nodes {
		for _, other := range info.GetPods() {
			for _, term := range fwk.GetPodAntiAffinityTerms(pod.Spec.Affinity) {
				if modelMatches(term, pod, other.GetPod()) && modelTogether(term.TopologyKey, candidate, info) {
					return "anti"
				}
			}
			for _, term := range fwk.GetPodAntiAffinityTerms(other.GetPod().Spec.Affinity) {
				existing = existing || modelMatches(term, other.GetPod(), pod) && modelTogether(term.TopologyKey, candidate, info)
			}
		}
	}
	if existing {
		return "existing"
	}
	return "ok"
}

func modelAffinity(pod *v1.Pod, candidate *framework.NodeInfo, nodes []*framework.NodeInfo) bool {
	terms := fwk.GetPodAffinityTerms(pod.Spec.Affinity)
	matchesAll := func(other *v1.Pod) bool {
		for _, term := range terms {
			if !modelMatches(term, pod, other) {
				return false
			}
		}
		return true
	}
	all, none := true, true
	for _, term := range terms {
		if _, ok := candidate.Node().Labels[term.TopologyKey]; !ok {
			return false
		}
		found := false
		for _, info := range nodes {
			_, inDomain := info.Node().Labels[term.TopologyKey]
			for _, other := range info.GetPods() {
				if inDomain && matchesAll(other.GetPod()) {
					none = false
					found = found || modelTogether(term.TopologyKey, candidate, info)
				}
			}
		}
		all = all && found
	}
	return all || none && matchesAll(pod)
}

// TestFilterAgainstModel compares random clusters with a model.
func TestFilterAgainstModel(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	seen := map[string]int{}
	for round := range 2000 {
		nodes := randomCluster(random, 1+random.IntN(7), random.IntN(15))
		pod := randomPod(random, "incoming")
		pl, state := newPlugin(t, nil, nodes, namespaces()...), framework.NewCycleState()
		_, status := pl.PreFilter(t.Context(), state, pod, asLister(nodes))
		var words []string
		for _, candidate := range nodes {
			verdict := modelVerdict(pod, candidate, nodes)
			if status.IsSkip() && verdict != "ok" {
				t.Fatalf("round %d: skipped, but node %s is %s", round, candidate.Node().Name, verdict)
			}
			seen[verdict]++
			words = append(words, candidate.Node().Name+"="+verdict)
		}
		if status.IsSkip() {
			continue
		}
		fixture.CheckStatus(t, status, nil)
		if got, want := verdicts(t, pl, state, pod, nodes), strings.Join(words, " "); got != want {
			t.Fatalf("round %d: affinity %v\ngot  %s\nwant %s", round, pod.Spec.Affinity, got, want)
		}
	}
	for _, verdict := range []string{"ok", "affinity", "anti", "existing"} {
		if seen[verdict] < 50 {
			t.Errorf("the clusters gave %d verdicts %q, too few to be a test", seen[verdict], verdict)
		}
	}
}

// TestChangesAgainstPreFilter adds and removes random pods, on random nodes. Afterwards everything must be as if PreFilter
// had seen the changed cluster, and as it was once the changes are taken back.
func TestChangesAgainstPreFilter(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	tested, differed := 0, 0
	for range 2000 {
		nodes := randomCluster(random, 1+random.IntN(6), random.IntN(15))
		// A pod that requires something is not skipped, whatever changes.
		pod := randomPod(random, "incoming")
		from(randomTerm(random))(pod)
		pl := newPlugin(t, nil, nodes, namespaces()...)
		preFilter := func() fwk.CycleState {
			// The nodes of the handle are those of the test, changes included.
			state := framework.NewCycleState()
			_, status := pl.PreFilter(t.Context(), state, pod, asLister(nodes))
			fixture.CheckStatus(t, status, nil)
			return state
		}
		original := preFilter()
		tested++
		before := verdicts(t, pl, original, pod, nodes)
		state := original.Clone()
		var undo []func()
		for i := range 1 + random.IntN(5) {
			info := nodes[random.IntN(len(nodes))]
			add := func(other fwk.PodInfo) {
				info.AddPodInfo(other)
				fixture.CheckStatus(t, pl.AddPod(t.Context(), state, pod, other, info), nil)
			}
			remove := func(other fwk.PodInfo) {
				if err := info.RemovePod(klog.Logger{}, other.GetPod()); err != nil {
					t.Fatal(err)
				}
				fixture.CheckStatus(t, pl.RemovePod(t.Context(), state, pod, other, info), nil)
			}
			if pods := info.GetPods(); len(pods) > 0 && random.IntN(2) == 0 {
				other := pods[random.IntN(len(pods))]
				remove(other)
				undo = append(undo, func() { add(other) })
				continue
			}
			other := podInfo(t, randomPod(random, fmt.Sprintf("new%d", i)))
			add(other)
			undo = append(undo, func() { remove(other) })
		}
		got, want := verdicts(t, pl, state, pod, nodes), verdicts(t, pl, preFilter(), pod, nodes)
		if got != want {
			t.Fatalf("changed counts differ from new ones:\ngot  %s\nwant %s", got, want)
		}
		if got != before {
			differed++
		}
		for i := len(undo) - 1; i >= 0; i-- {
			undo[i]()
		}
		if got := verdicts(t, pl, state, pod, nodes); got != before {
			t.Fatalf("counts changed and changed back differ:\ngot  %s\nwant %s", got, before)
		}
	}
	if differed < 200 {
		t.Errorf("of %d clusters, changes made a difference in %d: too few", tested, differed)
	}
}

// modelScore adds up the weights of all terms that match, for a pod on a node.
func modelScore(pod *v1.Pod, candidate *framework.NodeInfo, nodes []*framework.NodeInfo) int64 {
	var sum int64
	add := func(weight int32, term v1.PodAffinityTerm, of, other *v1.Pod, info *framework.NodeInfo) {
		if modelMatches(term, of, other) && modelTogether(term.TopologyKey, candidate, info) {
			sum += int64(weight)
		}
	}
	preferences := func(of, other *v1.Pod, info *framework.NodeInfo) {
		if of.Spec.Affinity == nil {
			return
		}
		if affinity := of.Spec.Affinity.PodAffinity; affinity != nil {
			for _, preferred := range affinity.PreferredDuringSchedulingIgnoredDuringExecution {
				add(preferred.Weight, preferred.PodAffinityTerm, of, other, info)
			}
		}
		if affinity := of.Spec.Affinity.PodAntiAffinity; affinity != nil {
			for _, preferred := range affinity.PreferredDuringSchedulingIgnoredDuringExecution {
				add(-preferred.Weight, preferred.PodAffinityTerm, of, other, info)
			}
		}
	}
	for _, info := range nodes {
		for _, on := range info.GetPods() {
			other := on.GetPod()
			preferences(pod, other, info)
			preferences(other, pod, info)
			for _, term := range fwk.GetPodAffinityTerms(other.Spec.Affinity) {
				add(1, term, other, pod, info)
			}
		}
	}
	return sum
}

func TestScoreAgainstModel(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	scored := 0
	for range 1000 {
		nodes := randomCluster(random, 1+random.IntN(6), random.IntN(15))
		pod := randomPod(random, "incoming")
		pl, state := newPlugin(t, nil, nodes, namespaces()...), framework.NewCycleState()
		status := pl.PreScore(t.Context(), state, pod, asLister(nodes))
		for _, info := range nodes {
			want := modelScore(pod, info, nodes)
			if status.IsSkip() {
				if want != 0 {
					t.Fatalf("skipped, but node %s is worth %d", info.Node().Name, want)
				}
				continue
			}
			fixture.CheckStatus(t, status, nil)
			got, status := pl.Score(t.Context(), state, pod, info)
			fixture.CheckStatus(t, status, nil)
			if got != want {
				t.Fatalf("node %s: got %d, want %d", info.Node().Name, got, want)
			}
			if got != 0 {
				scored++
			}
		}
	}
	if scored < 200 {
		t.Errorf("%d nodes had a score, too few to be a test", scored)
	}
}
