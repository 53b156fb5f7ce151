// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"fmt"
	"maps"
	"slices"
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
// all; also if no other pod has the same keys.
func TestNodesOutOfReachAreNotScored(t *testing.T) {
	twoShapes, allDifferent := func(int) string { return "1Gi" }, func(i int) string { return fmt.Sprintf("%dMi", 1+i) }
	t.Run("two shapes", func(t *testing.T) { testNodesOutOfReach(t, twoShapes) })
	t.Run("two shapes, scaled scores", func(t *testing.T) { testNodesOutOfReach(t, twoShapes, leveled{}) })
	t.Run("pods all different", func(t *testing.T) { testNodesOutOfReach(t, allDifferent) })
}

func testNodesOutOfReach(t *testing.T, memory func(i int) string, extra ...fwk.Plugin) {
	plugin := &roomy{}
	c := newComparison(t, 5, 0, false, append(extra, plugin)...)
	const nodes, limit = 800, 400
	for i := range nodes {
		c.check(c.cache.AddNode(objects.Node(fmt.Sprintf("m%d", i)).Capacity("cpu", fmt.Sprint(1+c.random.IntN(60)), "memory", "64Gi").
			Label("odd", fmt.Sprint(c.random.IntN(5) == 0)).Label("level", fmt.Sprint(c.random.IntN(4))).Build()))
	}
	early := 0
	const decisions = 300
	for i := range decisions {
		pod := objects.Pod(fmt.Sprintf("r%d", i)).Requests("cpu", []string{"100m", "2"}[c.random.IntN(2)], "memory", memory(i)).Build()
		c.check(c.cache.UpdateSnapshot(c.snapshot))
		plugin.scored = 0
		choice := c.search(pod, runtime.SearchOptions{Limit: limit})
		scored := plugin.scored
		state := framework.NewCycleState()
		c.profile.RunPreFilterPlugins(t.Context(), state, pod)
		totals, _, status := c.profile.Totals(t.Context(), state, pod)
		c.check(status.AsError())
		if choice.Feasible < limit {
			early++
			best := slices.Max(slices.Collect(maps.Values(totals)))
			if totals[choice.Node] != best || scored != choice.Feasible {
				t.Errorf("pod %s: the choice is %+v with total %d, after %d were scored; want one with total %d",
					pod.Name, choice, totals[choice.Node], scored, best)
			}
		}
		pod.Spec.NodeName = choice.Node
		c.check(c.cache.AddPod(pod))
	}
	if early < decisions/2 {
		t.Errorf("%d of %d decisions ended early", early, decisions)
	}
}
