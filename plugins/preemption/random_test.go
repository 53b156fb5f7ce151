// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package preemption_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugins/preemption"
)

// randomClusters is how many clusters the tests of properties look at.
const randomClusters = 1200

// randomCluster is a small cluster, as full as it gets, and a pod that wants into it. Resources and host ports are what
// may be in the way; evicting more pods never makes it worse.
type randomCluster struct {
	random    *rand.Rand
	preemptor *v1.Pod
	all       list
	budgets   []*policyv1.PodDisruptionBudget
	nominated map[string][]*v1.Pod
}

func newRandomCluster(seed uint64) *randomCluster {
	w := &randomCluster{random: rand.New(rand.NewPCG(seed, 1)), nominated: map[string][]*v1.Pod{}}
	w.preemptor = w.pod("p", int32(1+w.random.IntN(5)), 1+w.random.IntN(4), 80+w.random.Int32N(2))
	w.all = list{w.preemptor}
	for n := range 1 + w.random.IntN(5) {
		name := fmt.Sprintf("n%d", n)
		cpu := 1 + w.random.IntN(6)
		w.all = append(w.all, node(name, fmt.Sprint(cpu)))
		for port := int32(80); cpu > 0; port++ {
			size := min(cpu, 1+w.random.IntN(2))
			cpu -= size
			w.all = append(w.all, w.pod(fmt.Sprintf("%s-%d", name, port), int32(w.random.IntN(5)), size, port, on(name)))
		}
		if w.random.IntN(4) == 0 {
			w.nominated[name] = []*v1.Pod{pod("nominated-"+name, int32(w.random.IntN(7)), "1")}
		}
	}
	for b := range w.random.IntN(4) {
		budget := budget(fmt.Sprintf("b%d", b), []string{"x", "y"}[w.random.IntN(2)], int32(w.random.IntN(3)))
		w.budgets = append(w.budgets, budget)
		w.all = append(w.all, budget)
	}
	return w
}

// pod returns a pod of random labels and age, which may want a host port.
func (w *randomCluster) pod(name string, priority int32, cpu int, port int32, changes ...func(*v1.Pod)) *v1.Pod {
	p := pod(name, priority, fmt.Sprint(cpu), changes...)
	if app := w.random.IntN(3); app > 0 {
		labelled([]string{"x", "y"}[app-1])(p)
	}
	if w.random.IntN(3) > 0 {
		started(w.random.IntN(3))(p)
	}
	if w.random.IntN(3) == 0 {
		hostPort(port)(p)
	}
	return p
}

// setup returns an evaluator in the cluster; start is what becomes of evictions.
func (w *randomCluster) setup(t *testing.T, parallelism int, start func(task func())) *setup {
	return newSetup(t, setupOptions{ClusterOptions: fixture.ClusterOptions{
		Objects: w.all, Nominated: w.nominated, Parallelism: parallelism, Plugins: []string{"NodePorts", "NodeResourcesFit"}, Go: start,
	}})
}

func drop(func()) {}

func run(task func()) { task() }

// trialOf answers whether the pod fits a node once some pods have left it.
type trialOf struct {
	*setup
	state     fwk.CycleState
	preemptor *v1.Pod
	node      fwk.NodeInfo
}

func (tr *trialOf) fitsWithout(t *testing.T, gone []*v1.Pod) bool {
	t.Helper()
	rest := framework.NewNodeInfo()
	rest.SetNode(tr.node.Node())
	for _, info := range tr.node.GetPods() {
		if !slices.Contains(gone, info.GetPod()) {
			rest.AddPod(info.GetPod())
		}
	}
	return tr.RunFilterPluginsWithNominatedPods(t.Context(), tr.state.Clone(), tr.preemptor, rest).IsSuccess()
}

// TestPropertiesOfCandidates checks every candidate of random clusters: no pod goes that is as important as the preemptor,
// or who could stay, and no budget is exceeded that need not be.
func TestPropertiesOfCandidates(t *testing.T) {
	found := 0
	for seed := range uint64(randomClusters) {
		w := newRandomCluster(seed)
		s := w.setup(t, 1, drop)
		state, statuses := s.Filter(t, w.preemptor)
		s.evaluator.Preempt(silent(t), state, w.preemptor, statuses)
		byNode := map[string]*extenderv1.Victims{}
		for _, candidate := range s.hooks.candidates {
			byNode[candidate.Node] = candidate.Victims
		}
		found += len(byNode)
		for _, info := range s.Nodes.Infos {
			if statuses.Get(info.Node().Name).Code() != fwk.Unschedulable {
				continue
			}
			tr := &trialOf{s, state, w.preemptor, info}
			for _, problem := range w.checkCandidate(t, tr, byNode[info.Node().Name]) {
				t.Errorf("seed %d, node %s: %s", seed, info.Node().Name, problem)
			}
		}
		if t.Failed() {
			return
		}
	}
	if found < randomClusters/2 {
		t.Errorf("only %d candidates in %d clusters: the test shows little", found, randomClusters)
	}
}

// checkCandidate returns what is wrong with the victims on a node, nil if it is no candidate.
func (w *randomCluster) checkCandidate(t *testing.T, tr *trialOf, victims *extenderv1.Victims) []string {
	t.Helper()
	var lower []*v1.Pod
	for _, info := range tr.node.GetPods() {
		if *info.GetPod().Spec.Priority < *w.preemptor.Spec.Priority {
			lower = append(lower, info.GetPod())
		}
	}
	if victims == nil {
		if len(lower) > 0 && tr.fitsWithout(t, lower) {
			return []string{"it is no candidate, but the eviction of all less important pods makes room"}
		}
		return nil
	}
	var problems []string
	for i, victim := range victims.Pods {
		if !slices.Contains(lower, victim) {
			problems = append(problems, fmt.Sprintf("victim %s is as important as the preemptor, or elsewhere", victim.Name))
		}
		others := slices.Delete(slices.Clone(victims.Pods), i, i+1)
		if tr.fitsWithout(t, others) {
			problems = append(problems, fmt.Sprintf("victim %s could stay", victim.Name))
		}
	}
	if !tr.fitsWithout(t, victims.Pods) {
		problems = append(problems, "the pod does not fit after the eviction")
	}
	if want := w.violations(lower, victims.Pods); victims.NumPDBViolations != int64(want) {
		problems = append(problems, fmt.Sprintf("%d victims are said to exceed budgets, %d do", victims.NumPDBViolations, want))
	}
	if victims.NumPDBViolations > 0 && tr.fitsWithout(t, w.unprotected(lower)) {
		problems = append(problems, "budgets are exceeded, but the eviction of other pods would do")
	}
	return problems
}

// protected returns the names of pods that exceed a budget when all given are evicted, the most important first.
func (w *randomCluster) protected(pods []*v1.Pod) map[string]bool {
	sorted := slices.Clone(pods)
	slices.SortStableFunc(sorted, func(a, b *v1.Pod) int {
		return cmp.Or(cmp.Compare(*b.Spec.Priority, *a.Spec.Priority), cmp.Compare(minuteOf(a), minuteOf(b)))
	})
	left := map[string]int32{}
	for _, budget := range w.budgets {
		left[budget.Name] = budget.Status.DisruptionsAllowed
	}
	protected := map[string]bool{}
	for _, pod := range sorted {
		for _, budget := range w.budgets {
			if pod.Labels["app"] != budget.Spec.Selector.MatchLabels["app"] {
				continue
			}
			if left[budget.Name]--; left[budget.Name] < 0 {
				protected[pod.Name] = true
				break
			}
		}
	}
	return protected
}

// minuteOf orders pods by their start; those that have not started come last.
func minuteOf(pod *v1.Pod) int64 {
	if pod.Status.StartTime == nil {
		return 1 << 60
	}
	return pod.Status.StartTime.Unix()
}

func (w *randomCluster) violations(lower, victims []*v1.Pod) int {
	protected, count := w.protected(lower), 0
	for _, victim := range victims {
		if protected[victim.Name] {
			count++
		}
	}
	return count
}

func (w *randomCluster) unprotected(lower []*v1.Pod) []*v1.Pod {
	protected := w.protected(lower)
	return slices.DeleteFunc(slices.Clone(lower), func(pod *v1.Pod) bool { return protected[pod.Name] })
}

// harm is what candidates are compared by, the first difference decides, less is better.
func harm(victims *extenderv1.Victims) []int64 {
	first := int64(corev1helpers.PodPriority(victims.Pods[0]))
	var sum, earliest int64 = 0, 1 << 61
	for _, pod := range victims.Pods {
		sum += int64(*pod.Spec.Priority) + 1<<31
		if int64(*pod.Spec.Priority) == first {
			earliest = min(earliest, minuteOf(pod))
		}
	}
	return []int64{victims.NumPDBViolations, first, sum, int64(len(victims.Pods)), -earliest}
}

// TestTheChosenCandidateDoesLeastHarm also checks that exactly its victims are evicted.
func TestTheChosenCandidateDoesLeastHarm(t *testing.T) {
	for seed := range uint64(randomClusters / 4) {
		w := newRandomCluster(seed)
		s := w.setup(t, 1, run)
		result, status := s.preempt(t, w.preemptor)
		if len(s.hooks.candidates) == 0 {
			if nominated(result) != "cleared" || status.Code() != fwk.Unschedulable {
				t.Errorf("seed %d: no candidates, but status %v, nomination %s", seed, status.Code(), nominated(result))
			}
			continue
		}
		var chosen *extenderv1.Victims
		for _, candidate := range s.hooks.candidates {
			if candidate.Node == nominated(result) {
				chosen = candidate.Victims
			}
		}
		if chosen == nil {
			t.Fatalf("seed %d: %s was nominated, which is no candidate", seed, nominated(result))
		}
		for _, candidate := range s.hooks.candidates {
			if slices.Compare(harm(candidate.Victims), harm(chosen)) < 0 {
				t.Errorf("seed %d: node %s was chosen, but %s is better", seed, nominated(result), candidate.Node)
			}
		}
		var want []string
		for _, victim := range chosen.Pods {
			want = append(want, victim.Name)
		}
		slices.Sort(want)
		if got := s.deleted(); !slices.Equal(got, want) {
			t.Errorf("seed %d: evicted %q, want %q", seed, got, want)
		}
	}
}

// TestDeterminism runs the same preemptions again, in order and in parallel: where all nodes are looked at, not even that
// makes a difference.
func TestDeterminism(t *testing.T) {
	outcome := func(seed uint64, parallelism int) string {
		w := newRandomCluster(seed)
		s := w.setup(t, parallelism, drop)
		var lines []string
		for range 3 {
			result, status := s.preempt(t, w.preemptor)
			lines = append(lines, nominated(result), status.Message(), strings.Join(s.hooks.found(), ", "))
		}
		return strings.Join(lines, "\n")
	}
	for seed := range uint64(200) {
		want := outcome(seed, 1)
		for _, parallelism := range []int{1, 4} {
			if got := outcome(seed, parallelism); got != want {
				t.Fatalf("seed %d, parallelism %d: got\n%s\nwant\n%s", seed, parallelism, got, want)
			}
		}
	}
}

// TestDeterminismOfALimitedSearch is about searches that end before they have seen every node.
func TestDeterminismOfALimitedSearch(t *testing.T) {
	outcome := func() string {
		var all list
		for i := range 60 {
			name := fmt.Sprintf("n%02d", i)
			all = append(all, node(name, "1"), pod("v"+name, 1, "1", on(name)))
		}
		preemptor := pod("p", 10, "1")
		s := newSetup(t, setupOptions{
			ClusterOptions: fixture.ClusterOptions{Objects: append(all, preemptor), Seed: 5},
			hooks:          preemption.HooksOptions{MinCandidateNodesAbsolute: 5},
		})
		var lines []string
		for range 10 {
			result, _ := s.preempt(t, preemptor)
			lines = append(lines, nominated(result)+" of "+strings.Join(s.hooks.found(), ", "))
		}
		return strings.Join(lines, "\n")
	}
	first := outcome()
	if second := outcome(); first != second {
		t.Errorf("the first run came to\n%s\nand the second to\n%s", first, second)
	}
	if lines := strings.Split(first, "\n"); len(slices.Compact(slices.Sorted(slices.Values(lines)))) < 5 {
		t.Errorf("the same nodes are chosen again and again:\n%s", first)
	}
}
