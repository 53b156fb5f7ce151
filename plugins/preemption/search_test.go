// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package preemption_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugins/preemption"
)

// TestNodesThatAreLookedAt is about which statuses of Filter make a node a potential candidate.
func TestNodesThatAreLookedAt(t *testing.T) {
	unresolvable := fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "never")
	unschedulable := fwk.NewStatus(fwk.Unschedulable, "not now")
	tests := []struct {
		name   string
		nodes  map[string]*fwk.Status
		absent *fwk.Status
		want   []string
	}{
		{"all unschedulable", map[string]*fwk.Status{"a": unschedulable, "b": unschedulable, "c": unschedulable}, unresolvable, []string{"a", "b", "c"}},
		{"some unresolvable", map[string]*fwk.Status{"a": unresolvable, "b": unschedulable, "c": unresolvable}, unresolvable, []string{"b"}},
		{"absent nodes are unresolvable", map[string]*fwk.Status{"a": unschedulable}, unresolvable, []string{"a"}},
		{"absent nodes are unschedulable", map[string]*fwk.Status{"a": unresolvable}, unschedulable, []string{"b", "c"}},
		{"pending is not unschedulable", map[string]*fwk.Status{"a": fwk.NewStatus(fwk.Pending), "b": unschedulable}, unresolvable, []string{"b"}},
		{"a node that is gone", map[string]*fwk.Status{"gone": unschedulable, "b": unschedulable}, unresolvable, []string{"b"}},
		{"none", nil, unresolvable, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			preemptor := pod("p", 10, "1")
			s := in(t, list{
				preemptor, node("a", "1"), pod("va", 1, "1", on("a")), node("b", "1"), pod("vb", 1, "1", on("b")),
				node("c", "1"), pod("vc", 1, "1", on("c")),
			})
			state, _ := s.Filter(t, preemptor)
			s.evaluator.Preempt(t.Context(), state, preemptor, framework.NewNodeToStatus(tt.nodes, tt.absent))
			var got []string
			for _, candidate := range s.hooks.candidates {
				got = append(got, candidate.Node)
			}
			slices.Sort(got)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("candidates differ (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNoCandidates is about what the pod is told, and that a nomination is taken back.
func TestNoCandidates(t *testing.T) {
	taint := func(node *v1.Node) { node.Spec.Taints = []v1.Taint{{Key: "k", Effect: v1.TaintEffectNoSchedule}} }
	tests := []struct {
		name    string
		cluster list
		want    string
	}{
		{"only unresolvable nodes", list{node("a", "1", taint), node("b", "1", taint)},
			"0/2 nodes are available: 2 Preemption is not helpful for scheduling."},
		{"no pods of lower priority", list{node("a", "1"), pod("v", 10, "1", on("a"))},
			"0/1 nodes are available: 1 No preemption victims found for incoming pod."},
		{"no room even without the victims", list{
			node("a", "1"), pod("v", 1, "500m", on("a")), pod("w", 10, "500m", on("a")),
		}, "0/1 nodes are available: 1 Insufficient cpu."},
		{"mixed reasons", list{
			node("a", "1", taint), node("b", "1", taint), node("c", "1"), pod("v", 11, "1", on("c")),
			node("d", "1"), pod("w", 1, "500m", on("d")), pod("x", 10, "500m", on("d")),
			node("e", "1"), pod("y", 1, "500m", on("e")), pod("z", 10, "500m", on("e")),
		}, "0/5 nodes are available: 1 No preemption victims found for incoming pod, 2 Insufficient cpu, 2 Preemption is not helpful for scheduling."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			preemptor := pod("p", 10, "1", nominatedFor("a"))
			s := in(t, append(tt.cluster, preemptor))
			result, status := s.preempt(t, preemptor)
			fixture.CheckStatus(t, status, fwk.NewStatus(fwk.Unschedulable, tt.want))
			if nominated(result) != "cleared" || len(s.deleted()) > 0 {
				t.Errorf("nomination %s, deleted %q; want it cleared, and no pod deleted", nominated(result), s.deleted())
			}
		})
	}
}

func TestNoNodes(t *testing.T) {
	preemptor := pod("p", 10, "1")
	s := in(t, list{preemptor})
	result, status := s.preempt(t, preemptor)
	if want := "no nodes available"; !status.IsError() || status.Message() != want || nominated(result) != "kept" {
		t.Errorf("got status %v %q, nomination %s; want Error %q, kept", status.Code(), status.Message(), nominated(result), want)
	}
}

// scriptedHooks choose where the search begins and when it ends, and what it finds on each node.
type scriptedHooks struct {
	preemption.Hooks
	offset, enough int32
	violations     map[string]int
	fails          map[string]error
	visited        []string
}

func (h *scriptedHooks) GetOffsetAndNumCandidates(int32) (int32, int32) { return h.offset, h.enough }

func (h *scriptedHooks) SelectVictimsOnNode(
	_ context.Context, _ fwk.CycleState, _ *v1.Pod, node fwk.NodeInfo, _ []*policyv1.PodDisruptionBudget,
) ([]*v1.Pod, int, *fwk.Status) {
	name := node.Node().Name
	h.visited = append(h.visited, name)
	if err := h.fails[name]; err != nil {
		return nil, 0, fwk.AsStatus(err)
	}
	violations, found := h.violations[name]
	if !found {
		return nil, 0, fwk.NewStatus(fwk.Unschedulable, "no")
	}
	return []*v1.Pod{node.GetPods()[0].GetPod()}, violations, nil
}

// fullNodes returns nodes with the given names, a victim on each.
func fullNodes(names string) list {
	var all list
	for name := range strings.FieldsSeq(names) {
		all = append(all, node(name, "1"), pod("v"+name, 1, "1", on(name)))
	}
	return all
}

// TestExtentOfTheSearch runs in one goroutine, where the search goes from node to node.
func TestExtentOfTheSearch(t *testing.T) {
	boom := errors.New("boom")
	tests := []struct {
		name    string
		hooks   scriptedHooks
		visited string
		found   string
	}{
		{"ends with enough candidates", scriptedHooks{enough: 2, violations: map[string]int{"a": 0, "b": 0, "c": 0, "d": 0}}, "a b", "a b"},
		{"begins at the offset", scriptedHooks{offset: 1, enough: 2, violations: map[string]int{"a": 0, "b": 0, "c": 0, "d": 0}}, "b c", "b c"},
		{"wraps around", scriptedHooks{offset: 3, enough: 2, violations: map[string]int{"a": 0, "b": 0, "c": 0, "d": 0}}, "d a", "d a"},
		{"passes over nodes without victims", scriptedHooks{enough: 2, violations: map[string]int{"b": 0, "d": 0}}, "a b c d", "b d"},
		{"goes on for one within the budgets", scriptedHooks{enough: 2, violations: map[string]int{"a": 1, "b": 2, "c": 1, "d": 0}}, "a b c d", "d a b"},
		{"ends when that is found", scriptedHooks{enough: 2, violations: map[string]int{"a": 1, "b": 1, "c": 0, "d": 0}}, "a b c", "c a b"},
		{"one within the budgets and others beyond are enough", scriptedHooks{enough: 2, violations: map[string]int{"a": 0, "b": 1, "c": 0}}, "a b", "a b"},
		{"all exceed a budget", scriptedHooks{enough: 2, violations: map[string]int{"a": 1, "b": 1, "c": 1}}, "a b c d", "a b"},
		{"failing nodes are passed over", scriptedHooks{enough: 9, violations: map[string]int{"b": 0}, fails: map[string]error{"a": boom, "c": boom}}, "a b c d", "b"},
		{"absurd values are taken as the next sensible ones", scriptedHooks{offset: -5, enough: -5, violations: map[string]int{"a": 0, "b": 0}}, "a", "a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			preemptor := pod("p", 10, "1")
			s := newSetup(t, setupOptions{
				ClusterOptions: fixture.ClusterOptions{Objects: append(fullNodes("a b c d"), preemptor)},
				override: func(defaults preemption.Hooks) preemption.Hooks {
					tt.hooks.Hooks = defaults
					return &tt.hooks
				},
			})
			s.preempt(t, preemptor)
			var found []string
			for _, candidate := range s.hooks.candidates {
				found = append(found, candidate.Node)
			}
			if got := strings.Join(tt.hooks.visited, " "); got != tt.visited {
				t.Errorf("visited %q, want %q", got, tt.visited)
			}
			if got := strings.Join(found, " "); got != tt.found {
				t.Errorf("found %q, want %q", got, tt.found)
			}
		})
	}
}

// Only if no node is left is what went wrong on the others of interest; equal errors are told once.
func TestFailuresOfTheSearch(t *testing.T) {
	preemptor := pod("p", 10, "1")
	hooks := &scriptedHooks{enough: 9, fails: map[string]error{"a": errors.New("boom"), "b": errors.New("boom"), "c": errors.New("bang")}}
	s := newSetup(t, setupOptions{
		ClusterOptions: fixture.ClusterOptions{Objects: append(fullNodes("a b c d"), preemptor)},
		override: func(defaults preemption.Hooks) preemption.Hooks {
			hooks.Hooks = defaults
			return hooks
		},
	})
	result, status := s.preempt(t, preemptor)
	if want := "[boom, bang]"; !status.IsError() || status.Message() != want || nominated(result) != "kept" {
		t.Errorf("got status %v %q, nomination %s; want Error %q, kept", status.Code(), status.Message(), nominated(result), want)
	}
}

// A cycle that is called off does not take nodes for hopeless that it never looked at.
func TestSearchIsCalledOff(t *testing.T) {
	preemptor := pod("p", 10, "1")
	s := in(t, append(fullNodes("a b"), preemptor))
	state, statuses := s.Filter(t, preemptor)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	result, status := s.evaluator.Preempt(ctx, state, preemptor, statuses)
	if !errors.Is(status.AsError(), context.Canceled) || nominated(result) != "kept" {
		t.Errorf("got status %v %q, nomination %s; want the error of the context, kept", status.Code(), status.Message(), nominated(result))
	}
}

func TestNumberOfCandidates(t *testing.T) {
	tests := []struct {
		percentage, absolute int32
		nodes, want          int32
	}{
		{0, 0, 10, 10}, // the defaults are 10 percent and 100
		{0, 0, 500, 100},
		{0, 0, 5000, 500},
		{10, 100, 1009, 100},
		{10, 100, 1010, 101},
		{0, 5, 3, 3},
		{0, 5, 100, 5},
		{50, 0, 9, 4},
		{100, 0, 9, 9},
		{100, 1000, 9, 9},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%d%%, %d of %d", tt.percentage, tt.absolute, tt.nodes), func(t *testing.T) {
			hooks := preemption.NewDefaultHooks(preemption.HooksOptions{
				MinCandidateNodesPercentage: tt.percentage, MinCandidateNodesAbsolute: tt.absolute,
			})
			seen := map[int32]bool{}
			for range 200 {
				offset, got := hooks.GetOffsetAndNumCandidates(tt.nodes)
				if got != tt.want {
					t.Fatalf("got %d candidates, want %d", got, tt.want)
				}
				if offset < 0 || offset >= tt.nodes {
					t.Fatalf("offset %d is none of %d nodes", offset, tt.nodes)
				}
				seen[offset] = true
			}
			if len(seen) < 3 {
				t.Errorf("the search begins at %d nodes only", len(seen))
			}
		})
	}
}

// The seed of the framework decides where searches begin.
func TestSeed(t *testing.T) {
	offsets := func(seed uint64) string {
		s := newSetup(t, setupOptions{ClusterOptions: fixture.ClusterOptions{Seed: seed}})
		var all []string
		for range 10 {
			offset, _ := s.hooks.GetOffsetAndNumCandidates(1000)
			all = append(all, fmt.Sprint(offset))
		}
		return strings.Join(all, " ")
	}
	if first, again := offsets(1), offsets(1); first != again {
		t.Errorf("equal seeds differ: %s and %s", first, again)
	}
	if offsets(1) == offsets(2) {
		t.Error("different seeds don't differ")
	}
}
