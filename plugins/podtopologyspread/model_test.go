// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package podtopologyspread

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func pick[T any](random *rand.Rand, values ...T) T { return values[random.IntN(len(values))] }

func randomLabels(random *rand.Rand) map[string]string {
	set := labelMap("app", pick(random, "web", "web", "db"))
	if random.IntN(3) == 0 {
		set["version"] = pick(random, "1", "2")
	}
	return set
}

// randomPod has few different values for everything, so that pods are often alike.
func randomPod(random *rand.Rand, name string) *v1.Pod {
	pod := objects.Pod(name).With(withLabels(randomLabels(random))).Build()
	pod.Namespace = pick(random, "default", "default", "default", "other")
	for range random.IntN(3) {
		c := constraintOn(int32(1+random.IntN(2)), pick(random, zone, host, "rack"), pick(random, hard, hard, soft))
		selecting("app", pick(random, "web", "db"))(&c)
		if random.IntN(4) == 0 {
			matchingKeys("version")(&c)
		}
		if random.IntN(3) == 0 {
			taintsPolicy(honor)(&c)
		}
		if random.IntN(3) == 0 {
			affinityPolicy(ignore)(&c)
		}
		if random.IntN(3) == 0 {
			minDomains(int32(1 + random.IntN(4)))(&c)
		}
		pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, c)
	}
	if random.IntN(3) == 0 {
		controlledBy("apps/v1", "ReplicaSet", pick(random, "o", "other"))(pod)
	}
	if random.IntN(3) == 0 {
		tolerates(v1.Toleration{Key: "k", Operator: v1.TolerationOpExists})(pod)
	}
	if random.IntN(4) == 0 {
		nodeSelector("disk", "ssd")(pod)
	}
	return pod
}

func randomNode(random *rand.Rand, i int) *framework.NodeInfo {
	set := map[string]string{}
	name := fmt.Sprintf("n%d", i)
	if random.IntN(9) > 0 {
		set[host] = name
	}
	if random.IntN(9) > 0 {
		set[zone] = pick(random, "z1", "z2", "z3")
	}
	if random.IntN(3) > 0 {
		set["rack"] = pick(random, "r1", "r2")
	}
	if random.IntN(2) > 0 {
		set["disk"] = "ssd"
	}
	info := nodeWith(name, set)
	if random.IntN(5) == 0 {
		changed(info, tainted(v1.Taint{Key: "k", Effect: v1.TaintEffectNoSchedule}))
	}
	return info
}

func randomCluster(random *rand.Rand, nodes, pods int) []*framework.NodeInfo {
	var infos []*framework.NodeInfo
	for i := range nodes {
		infos = append(infos, randomNode(random, i))
	}
	for i := range pods {
		pod := randomPod(random, fmt.Sprintf("p%d", i))
		if random.IntN(10) == 0 {
			pod.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
		}
		infos[random.IntN(nodes)].AddPod(pod)
	}
	return infos
}

// modelVerdict says what Filter should, by looking at every pod of the cluster again. It knows constraints with matchLabels
// and matchLabelKeys only.
func modelVerdict(pod *v1.Pod, candidate *framework.NodeInfo, nodes []*framework.NodeInfo) string {
	for _, c := range pod.Spec.TopologySpreadConstraints {
		if c.WhenUnsatisfiable != hard {
			continue
		}
		domain, ok := candidate.Node().Labels[c.TopologyKey]
		if !ok {
			return "label"
		}
		counts := map[string]int{}
		for _, info := range nodes {
			if !modelIncludes(pod, &c, info.Node()) {
				continue
			}
			counts[info.Node().Labels[c.TopologyKey]] += 0
			for _, other := range info.GetPods() {
				if p := other.GetPod(); p.Namespace == pod.Namespace && p.DeletionTimestamp == nil && modelSelects(pod, &c, p) {
					counts[info.Node().Labels[c.TopologyKey]]++
				}
			}
		}
		fewest := -1
		for _, count := range counts {
			if fewest < 0 || count < fewest {
				fewest = count
			}
		}
		if c.MinDomains != nil && len(counts) < int(*c.MinDomains) || len(counts) == 0 {
			fewest = 0
		}
		count := counts[domain]
		if modelSelects(pod, &c, pod) {
			count++
		}
		if count-fewest > int(c.MaxSkew) {
			return "skew"
		}
	}
	return "ok"
}

func modelSelects(pod *v1.Pod, c *v1.TopologySpreadConstraint, other *v1.Pod) bool {
	for key, value := range c.LabelSelector.MatchLabels {
		if other.Labels[key] != value {
			return false
		}
	}
	for _, key := range c.MatchLabelKeys {
		if value, ok := pod.Labels[key]; ok && other.Labels[key] != value {
			return false
		}
	}
	return true
}

func modelIncludes(pod *v1.Pod, c *v1.TopologySpreadConstraint, node *v1.Node) bool {
	for _, other := range pod.Spec.TopologySpreadConstraints {
		if _, ok := node.Labels[other.TopologyKey]; !ok && other.WhenUnsatisfiable == hard {
			return false
		}
	}
	honorsAffinity := c.NodeAffinityPolicy == nil || *c.NodeAffinityPolicy == honor
	if honorsAffinity && pod.Spec.NodeSelector != nil && node.Labels["disk"] != "ssd" {
		return false
	}
	honorsTaints := c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy == honor
	return !honorsTaints || len(node.Spec.Taints) == 0 || len(pod.Spec.Tolerations) > 0
}

// TestFilterAgainstModel compares random clusters, some of 1000 nodes, with a model.
func TestFilterAgainstModel(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	seen := map[string]int{}
	for round := range 300 {
		nodes := randomCluster(random, 1+random.IntN(8), random.IntN(30))
		if round%150 == 0 {
			nodes = randomCluster(random, 1000, 3000)
		}
		pod := randomPod(random, "incoming")
		pl, state := newPlugin(t, list(), nil), framework.NewCycleState()
		_, status := pl.PreFilter(t.Context(), state, pod, asLister(nodes))
		if status.IsSkip() {
			continue
		}
		fixture.CheckStatus(t, status, nil)
		some := nodes[:min(len(nodes), 40)]
		var words []string
		for _, candidate := range some {
			verdict := modelVerdict(pod, candidate, nodes)
			seen[verdict]++
			words = append(words, candidate.Node().Name+"="+verdict)
		}
		if got, want := verdicts(t, pl, state, pod, some), strings.Join(words, " "); got != want {
			t.Fatalf("round %d: constraints %+v\ngot  %s\nwant %s", round, pod.Spec.TopologySpreadConstraints, got, want)
		}
	}
	for _, verdict := range []string{"ok", "skew", "label"} {
		if seen[verdict] < 20 {
			t.Errorf("the clusters gave %d verdicts %q, too few to be a test", seen[verdict], verdict)
		}
	}
}

// TestChangesAgainstPreFilter adds and removes random pods, on random nodes. Afterwards everything must be as if PreFilter
// had seen the changed cluster, and as it was once the changes are taken back. Terminating pods are left out: that they
// count here and not in PreFilter is known.
func TestChangesAgainstPreFilter(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	tested, differed := 0, 0
	for range 2000 {
		nodes := randomCluster(random, 1+random.IntN(6), random.IntN(20))
		for _, info := range nodes {
			for _, other := range append([]fwk.PodInfo(nil), info.GetPods()...) {
				if other.GetPod().DeletionTimestamp != nil {
					removePod(t, info, other)
				}
			}
		}
		pod := randomPod(random, "incoming")
		pl := newPlugin(t, list(), nil)
		preFilter := func() (fwk.CycleState, bool) {
			state := framework.NewCycleState()
			_, status := pl.PreFilter(t.Context(), state, pod, asLister(nodes))
			return state, status.IsSuccess()
		}
		original, ok := preFilter()
		if !ok {
			continue
		}
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
				removePod(t, info, other)
				fixture.CheckStatus(t, pl.RemovePod(t.Context(), state, pod, other, info), nil)
			}
			if pods := info.GetPods(); len(pods) > 0 && random.IntN(2) == 0 {
				other := pods[random.IntN(len(pods))]
				remove(other)
				undo = append(undo, func() { add(other) })
				continue
			}
			other, err := framework.NewPodInfo(randomPod(random, fmt.Sprintf("new%d", i)))
			if err != nil {
				t.Fatal(err)
			}
			add(other)
			undo = append(undo, func() { remove(other) })
		}
		again, _ := preFilter()
		got, want := verdicts(t, pl, state, pod, nodes), verdicts(t, pl, again, pod, nodes)
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
	if tested < 500 || differed < 100 {
		t.Errorf("tested %d clusters, in %d of which changes made a difference: too few", tested, differed)
	}
}

func removePod(t *testing.T, info *framework.NodeInfo, other fwk.PodInfo) {
	t.Helper()
	if err := info.RemovePod(klog.Logger{}, other.GetPod()); err != nil {
		t.Fatal(err)
	}
}
