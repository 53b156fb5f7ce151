// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package preemption_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugins/preemption"
)

// wholeNodes are hooks for which all pods on a node are victims, in their order.
type wholeNodes struct {
	preemption.Hooks
	violations map[string]int
	scores     func(victims map[string]*extenderv1.Victims) []func(node string) int64
}

func (h wholeNodes) SelectVictimsOnNode(
	_ context.Context, _ fwk.CycleState, _ *v1.Pod, node fwk.NodeInfo, _ []*policyv1.PodDisruptionBudget,
) ([]*v1.Pod, int, *fwk.Status) {
	var victims []*v1.Pod
	for _, info := range node.GetPods() {
		victims = append(victims, info.GetPod())
	}
	return victims, h.violations[node.Node().Name], nil
}

func (h wholeNodes) GetOffsetAndNumCandidates(nodes int32) (int32, int32) { return 0, nodes }

func (h wholeNodes) OrderedScoreFuncs(_ context.Context, victims map[string]*extenderv1.Victims) []func(node string) int64 {
	if h.scores == nil {
		return nil
	}
	return h.scores(victims)
}

// victim is a pod on a node of the ranking tests: its priority and, if not zero, the minute of its start.
type victim struct {
	priority int32
	minute   int
}

func TestRanking(t *testing.T) {
	type nodes = map[string][]victim
	const low = math.MinInt32
	tests := []struct {
		name       string
		nodes      nodes
		violations map[string]int
		want       string
	}{
		{"one candidate", nodes{"a": {{9, 0}, {9, 0}}}, map[string]int{"a": 2}, "a"},
		{"fewest violations", nodes{"a": {{1, 0}}, "b": {{9, 0}, {8, 0}}, "c": {{1, 0}}}, map[string]int{"a": 2, "b": 1, "c": 3}, "b"},
		{"no violation comes before any", nodes{"a": {{1, 0}}, "b": {{9, 0}, {8, 0}}}, map[string]int{"a": 1}, "b"},
		{"lowest of the highest priorities", nodes{"a": {{5, 0}}, "b": {{4, 0}, {4, 0}, {4, 0}}, "c": {{6, 0}}}, nil, "b"},
		{"lowest sum of priorities", nodes{"a": {{5, 0}, {4, 0}}, "b": {{5, 0}, {3, 0}}, "c": {{5, 0}, {5, 0}}}, nil, "b"},
		{"more pods are a larger sum", nodes{"a": {{5, 0}, {0, 0}}, "b": {{5, 0}}}, nil, "b"},
		{"more pods are a larger sum, with negative priorities too", nodes{"a": {{-5, 0}, {-1000, 0}}, "b": {{-5, 0}}}, nil, "b"},
		{"sums of many high priorities don't overflow",
			nodes{"a": {{2e9, 0}, {2e9, 0}, {2e9, 0}, {2e9, 0}}, "b": {{2e9, 0}, {2e9, 0}, {2e9, 0}}}, nil, "b"},
		// The lowest priority of all adds nothing to the sum.
		{"fewest victims", nodes{"a": {{5, 0}, {low, 0}}, "b": {{5, 0}}, "c": {{5, 0}, {low, 0}}}, nil, "b"},
		{"latest start of the most important victims", nodes{"a": {{5, 1}}, "b": {{5, 3}}, "c": {{5, 2}}}, nil, "b"},
		{"of several most important victims the first to start counts", nodes{"a": {{5, 2}, {5, 9}}, "b": {{5, 4}, {5, 3}}}, nil, "b"},
		{"less important victims don't count for the start", nodes{"a": {{5, 2}, {4, 9}}, "b": {{5, 3}, {4, 1}}}, nil, "b"},
		{"a victim that has not started is the latest", nodes{"a": {{5, 9}}, "b": {{5, 0}}}, nil, "b"},
		{"all alike: the first one searched", nodes{"a": {{5, 1}}, "b": {{5, 1}}, "c": {{5, 1}}}, nil, "a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			preemptor := pod("p", math.MaxInt32, "1")
			all := list{preemptor}
			for _, name := range []string{"a", "b", "c"} {
				if tt.nodes[name] == nil {
					continue
				}
				all = append(all, node(name, "1"))
				for i, v := range tt.nodes[name] {
					p := pod(fmt.Sprintf("%s%d", name, i), v.priority, "1", on(name))
					if v.minute != 0 {
						started(v.minute)(p)
					}
					all = append(all, p)
				}
			}
			s := newSetup(t, setupOptions{
				ClusterOptions: fixture.ClusterOptions{Objects: all},
				override: func(defaults preemption.Hooks) preemption.Hooks {
					return wholeNodes{Hooks: defaults, violations: tt.violations}
				},
			})
			result, _ := s.preempt(t, preemptor)
			if got := nominated(result); got != tt.want {
				t.Errorf("chose %s, want %s", got, tt.want)
			}
		})
	}
}

// TestOrderedScoreFuncs prefers the node where most pods go, which the default scores never would.
func TestOrderedScoreFuncs(t *testing.T) {
	preemptor := pod("p", 10, "1")
	all := list{
		preemptor, node("a", "1"), pod("a1", 1, "1", on("a")), pod("a2", 1, "1", on("a")),
		node("b", "1"), pod("b1", 1, "1", on("b")),
		node("c", "1"), pod("c1", 1, "1", on("c")), pod("c2", 1, "1", on("c")),
	}
	s := newSetup(t, setupOptions{
		ClusterOptions: fixture.ClusterOptions{Objects: all},
		override: func(defaults preemption.Hooks) preemption.Hooks {
			return wholeNodes{Hooks: defaults, scores: func(victims map[string]*extenderv1.Victims) []func(string) int64 {
				return []func(string) int64{
					func(node string) int64 { return int64(len(victims[node].Pods)) },
					func(node string) int64 { return int64(node[0]) },
				}
			}}
		},
	})
	result, status := s.preempt(t, preemptor)
	s.checkPreempted(t, result, status, "c", "c1 c2")
}
