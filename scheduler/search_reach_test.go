// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/runtime"
)

// roomy is a plugin without keys that rejects some nodes, and prefers those with few pods.
type roomy struct{ scored int }

var (
	_ fwk.FilterPlugin = &roomy{}
	_ fwk.ScorePlugin  = &roomy{}
)

func (*roomy) Name() string { return "Roomy" }

func (*roomy) Filter(_ context.Context, _ fwk.CycleState, _ *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	if node.Node().Labels["odd"] == "true" {
		return fwk.NewStatus(fwk.Unschedulable, "odd")
	}
	return nil
}

func (r *roomy) Score(_ context.Context, _ fwk.CycleState, _ *v1.Pod, node fwk.NodeInfo) (int64, *fwk.Status) {
	r.scored++
	return max(fwk.MaxScore-15*int64(len(node.GetPods())), fwk.MinScore), nil
}

func (*roomy) ScoreExtensions() fwk.ScoreExtensions { return nil }

// A Score plugin without keys is asked about few nodes where no other one can win, and the choice is as if it had been asked about
// all.
func TestNodesOutOfReachAreNotScored(t *testing.T) {
	plugin := &roomy{}
	c := newComparison(t, 5, 0, false, plugin, leveled{})
	const nodes, limit = 800, 400
	for i := range nodes {
		node := objects.Node(fmt.Sprintf("m%d", i)).Capacity("cpu", fmt.Sprint(4+c.random.IntN(60)), "memory", "64Gi").
			Label("odd", fmt.Sprint(c.random.IntN(5) == 0)).Label("level", fmt.Sprint(c.random.IntN(4)))
		if c.random.IntN(3) == 0 {
			node = node.Taint("t0", "", v1.TaintEffectPreferNoSchedule)
		}
		c.check(c.cache.AddNode(node.Build()))
	}
	early := 0
	const decisions = 300
	for i := range decisions {
		pod := objects.Pod(fmt.Sprintf("r%d", i)).Requests("cpu", []string{"100m", "2"}[c.random.IntN(2)]).Build()
		c.check(c.cache.UpdateSnapshot(c.snapshot))
		state := framework.NewCycleState()
		c.profile.RunPreFilterPlugins(t.Context(), state, pod)
		totals, _, status := c.profile.Totals(t.Context(), state, pod)
		c.check(status.AsError())
		best := int64(0)
		for _, total := range totals {
			best = max(best, total)
		}
		plugin.scored = 0
		choice := c.search(pod, runtime.SearchOptions{Limit: limit})
		if plugin.scored != choice.Feasible && plugin.scored != len(totals) {
			t.Errorf("pod %s: %d nodes were scored, and %d are known to take it", pod.Name, plugin.scored, choice.Feasible)
		}
		if choice.Feasible < limit {
			early++
			if totals[choice.Node] != best {
				t.Errorf("pod %s: the choice among the best %d is node %s with total %d, want %d", pod.Name, choice.Feasible, choice.Node, totals[choice.Node], best)
			}
		}
		pod.Spec.NodeName = choice.Node
		c.check(c.cache.AddPod(pod))
	}
	if early < decisions/2 {
		t.Errorf("%d of %d decisions ended early", early, decisions)
	}
}
