// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package preemption_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugins/preemption"
)

// ownHooks decide as the default ones do, which cannot be known.
type ownHooks struct{ *preemption.DefaultHooks }

// countingFilter accepts everything, and counts how often it is asked.
type countingFilter struct{ calls int }

func (f *countingFilter) Name() string { return "Counting" }

func (f *countingFilter) Filter(context.Context, fwk.CycleState, *v1.Pod, fwk.NodeInfo) *fwk.Status {
	f.calls++
	return nil
}

func (f *countingFilter) AppendFilterKey(key []byte, _ fwk.CycleState, _ *v1.Pod) ([]byte, bool) {
	return key, true
}

// history is a cluster that changes, with two evaluators: one that tries every node each time, and one that remembers.
type history struct {
	random    *rand.Rand
	nodes     fixture.IndexedNodes
	cluster   *fixture.Cluster
	filter    *countingFilter
	nominated map[string][]*v1.Pod
	plain     *preemption.Evaluator
	fast      *preemption.Evaluator
	pods      []*v1.Pod
	made      int
}

func newHistory(t *testing.T, seed uint64, preemptors []*v1.Pod, budgets ...*policyv1.PodDisruptionBudget) *history {
	h := &history{
		random: rand.New(rand.NewPCG(seed, 3)), filter: &countingFilter{}, nominated: map[string][]*v1.Pod{},
	}
	all := list{}
	for _, p := range preemptors {
		all = append(all, p)
	}
	for _, b := range budgets {
		all = append(all, b)
	}
	plugins := registry()
	plugins["Counting"] = factoryOf(h.filter)
	h.cluster = fixture.NewCluster(t, fixture.ClusterOptions{
		Objects: all, Client: fake.NewClientset(), Registry: plugins, Plugins: []string{"NodePorts", "NodeResourcesFit", "Counting"},
		Parallelism: 1, Go: drop, Nominated: h.nominated, Snapshot: &h.nodes, Seed: seed,
	})
	build := func(hooks preemption.Hooks) *preemption.Evaluator {
		e, err := preemption.NewEvaluator(preemption.Options{PluginName: "Test", Handle: h.cluster.Framework, Hooks: hooks})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	options := preemption.HooksOptions{Handle: h.cluster.Framework, MinCandidateNodesPercentage: 50, MinCandidateNodesAbsolute: 2}
	h.plain = build(ownHooks{preemption.NewDefaultHooks(options)})
	h.fast = build(preemption.NewDefaultHooks(options))
	for n := range 8 {
		h.nodes.Set(n, fixture.NodeInfo(node(fmt.Sprint("n", n), "4")))
	}
	return h
}

// change adds a pod, removes one, or nominates a node for one.
func (h *history) change(t *testing.T) {
	switch name := fmt.Sprint("n", h.random.IntN(8)); {
	case h.random.IntN(8) == 0:
		h.nominated[name] = []*v1.Pod{pod("nominated-"+name, int32(h.random.IntN(7)), "1")}
	case h.random.IntN(3) == 0 && len(h.pods) > 0:
		i := h.random.IntN(len(h.pods))
		h.edit(t, h.pods[i].Spec.NodeName, func(node *framework.NodeInfo) error { return node.RemovePod(klog.Logger{}, h.pods[i]) })
		h.pods = append(h.pods[:i:i], h.pods[i+1:]...)
	default:
		h.made++
		added := pod(fmt.Sprint("pod-", h.made), int32(h.random.IntN(5)), "1", on(name), labelled([]string{"x", "y"}[h.random.IntN(2)]))
		if h.random.IntN(2) == 0 {
			started(h.random.IntN(3))(added)
		}
		h.pods = append(h.pods, added)
		h.add(t, added)
	}
}

func (h *history) add(t *testing.T, pod *v1.Pod) {
	h.edit(t, pod.Spec.NodeName, func(node *framework.NodeInfo) error {
		node.AddPod(pod)
		return nil
	})
}

// edit replaces a node by what change makes of a copy of it.
func (h *history) edit(t *testing.T, name string, change func(*framework.NodeInfo) error) {
	t.Helper()
	index, _ := h.nodes.NodeIndex(name)
	edited := h.nodes.Infos()[index].Clone() // every index has a node
	if err := change(edited); err != nil {
		t.Fatal(err)
	}
	h.nodes.Set(index, edited)
}

// preempt asks an evaluator, and describes what it says.
func (h *history) preempt(t *testing.T, e *preemption.Evaluator, preemptor *v1.Pod) string {
	state := framework.NewCycleState()
	if _, status, _ := h.cluster.RunPreFilterPlugins(t.Context(), state, preemptor); !status.IsSuccess() {
		t.Fatal(status)
	}
	all, _ := h.nodes.List()
	which := make([]int32, len(all))
	statuses := []*fwk.Status{fwk.NewStatus(fwk.Unschedulable, "no room")}
	for i, node := range all {
		if !h.cluster.RunFilterPluginsWithNominatedPods(t.Context(), state, preemptor, node).IsSuccess() {
			which[i] = 1
		}
	}
	h.filter.calls = 0
	result, status := e.Preempt(silent(t), state, preemptor, framework.NewNodeStatusList(all, nil, which, statuses))
	return nominated(result) + "; " + status.Code().String() + ": " + strings.Join(status.Reasons(), ", ")
}

func TestRememberedDryRunsDecideAsFreshOnes(t *testing.T) {
	outcomes := map[string]int{}
	for seed := range uint64(60) {
		preemptors := []*v1.Pod{
			pod("p", 3, "2"), pod("q", 3, "2"), pod("higher", 5, "2"), pod("larger", 3, "4"), pod("lowest", 0, "2"), pod("huge", 9, "7"),
		}
		h := newHistory(t, seed, preemptors, budget("b", "x", int32(seed%3)))
		for step := range 60 {
			for range h.random.IntN(3) {
				h.change(t)
			}
			preemptor := preemptors[h.random.IntN(len(preemptors))]
			want := h.preempt(t, h.plain, preemptor)
			if got := h.preempt(t, h.fast, preemptor); got != want {
				t.Fatalf("seed %d, step %d, pod %s:\n got %s\nwant %s", seed, step, preemptor.Name, got, want)
			}
			outcomes[strings.SplitN(want, ":", 2)[0][:2]]++
		}
	}
	if len(outcomes) < 5 {
		t.Errorf("the histories do not cover much: %v", outcomes)
	}
}

// TestDryRunsAreNotRepeated counts how often Filter is called.
func TestDryRunsAreNotRepeated(t *testing.T) {
	preemptors := []*v1.Pod{pod("p", 3, "2"), pod("alike", 3, "2"), pod("hopeless", 0, "2")}
	h := newHistory(t, 1, preemptors)
	add := func(name, node string) { h.add(t, pod(name, 1, "4", on(node))) }
	for n := range 8 {
		add(fmt.Sprint("v", n), fmt.Sprint("n", n))
	}
	calls := func(preemptor *v1.Pod) int {
		h.preempt(t, h.fast, preemptor)
		return h.filter.calls
	}
	if got := calls(preemptors[2]); got != 0 {
		t.Errorf("Filter was called %d times for a pod that may preempt no pod, want none", got)
	}
	for range 20 { // until the random beginning of the search was everywhere
		calls(preemptors[0])
	}
	if got := calls(preemptors[1]); got != 0 {
		t.Errorf("Filter was called %d times for a pod like another before, want none", got)
	}
	add("another", "n3")
	most := 0
	for range 20 {
		most = max(most, calls(preemptors[1]))
	}
	if most == 0 || most > 3 {
		t.Errorf("Filter was called up to %d times after one node changed, want a dry run on that node alone", most)
	}
}
