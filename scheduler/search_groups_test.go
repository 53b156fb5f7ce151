// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// zoned is a plugin that tells nodes apart by their zones, and those that have some pods by how many.
type zoned struct {
	scored *atomic.Int64 // nodes; may be nil
}

var (
	_ framework.FilterGroupsPlugin = zoned{}
	_ framework.ScoreGroupsPlugin  = zoned{}
)

const zonedFewPods = 2

func (zoned) Name() string { return "Zoned" }

func (zoned) Filter(_ context.Context, _ fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	if pods := len(node.GetPods()); pods > zonedFewPods && pods%3 == 0 {
		return fwk.NewStatus(fwk.Unschedulable, "some pods")
	}
	if zone, ok := node.Node().Labels[v1.LabelTopologyZone]; ok && zone == fmt.Sprintf("z%d", len(pod.Name)%4) {
		return fwk.NewStatus(fwk.Unschedulable, "this zone")
	}
	return nil
}

func (z zoned) FilterBatch(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes framework.IndexedSnapshot, indexes []int, statuses []*fwk.Status) *fwk.Status {
	for i, index := range indexes {
		statuses[i] = z.Filter(ctx, state, pod, nodes.NodeAt(index))
	}
	return nil
}

func (z zoned) AddFilterGroups(groups *framework.NodeGroups, _ fwk.CycleState, _ *v1.Pod, nodes framework.IndexedSnapshot) bool {
	groups.Labels = append(groups.Labels, v1.LabelTopologyZone, v1.LabelTopologyZone)
	for _, index := range slices.Backward(nodes.ListOrder()) {
		if len(nodes.NodeAt(index).GetPods()) > zonedFewPods {
			groups.Exceptions = append(groups.Exceptions, index, index)
		}
	}
	return true
}

func (zoned) Score(_ context.Context, _ fwk.CycleState, _ *v1.Pod, node fwk.NodeInfo) (int64, *fwk.Status) {
	score := int64(10)
	if pods := len(node.GetPods()); pods > zonedFewPods {
		score = int64(pods)
	}
	if zone := node.Node().Labels[v1.LabelTopologyZone]; zone != "" {
		score += int64(zone[len(zone)-1]-'0') * 5
	}
	return score, nil
}

func (z zoned) ScoreExtensions() fwk.ScoreExtensions { return z }

// NormalizeScore makes the worst node that takes the pod count nothing, and others less where more nodes take it.
func (z zoned) NormalizeScore(_ context.Context, _ fwk.CycleState, _ *v1.Pod, scores fwk.NodeScoreList) *fwk.Status {
	raw := make([]int64, len(scores))
	for i := range scores {
		raw[i] = scores[i].Score
	}
	z.scale(raw, len(raw))
	for i := range scores {
		scores[i].Score = raw[i]
	}
	return nil
}

func (zoned) scale(scores []int64, feasible int) {
	least := slices.Min(scores)
	for i := range scores {
		scores[i] = min(scores[i]-least, fwk.MaxScore) / int64(1+feasible%4)
	}
}

func (zoned) PreScoreAll(context.Context, fwk.CycleState, *v1.Pod, framework.IndexedSnapshot) *fwk.Status {
	return nil
}

func (z zoned) ScoreAll(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes framework.IndexedSnapshot, indexes []int, scores []int64) *fwk.Status {
	return z.ScoreGroups(ctx, state, pod, nodes, indexes, slices.Repeat([]int{1}, len(indexes)), scores)
}

func (z zoned) AddScoreGroups(groups *framework.NodeGroups, state fwk.CycleState, pod *v1.Pod, nodes framework.IndexedSnapshot) bool {
	return z.AddFilterGroups(groups, state, pod, nodes)
}

func (z zoned) ScoreGroups(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes framework.IndexedSnapshot, indexes, counts []int, scores []int64) *fwk.Status {
	if z.scored != nil {
		z.scored.Add(int64(len(indexes)))
	}
	feasible := 0
	for i, index := range indexes {
		feasible += counts[i]
		scores[i], _ = z.Score(ctx, state, pod, nodes.NodeAt(index))
	}
	z.scale(scores, feasible)
	return nil
}

// A plugin that groups nodes is asked to score one node of each group, however many there are, and the exceptions.
func TestOneNodeOfEachGroupIsScored(t *testing.T) {
	plugin := zoned{scored: &atomic.Int64{}}
	f := newFixture(t, plugin)
	const nodes, zones, crowded = 2000, 4, 10
	for i := range nodes {
		f.nodeAdded(objects.Node(fmt.Sprintf("n%d", i)).Capacity("cpu", "100").With(func(node *v1.Node) {
			node.Labels[v1.LabelTopologyZone] = fmt.Sprintf("z%d", i%zones)
		}).Build())
	}
	for i := range crowded * (zonedFewPods + 1) {
		pod := objects.Pod(fmt.Sprintf("here-%d", i)).Requests("cpu", "1").Build()
		pod.Spec.NodeName = fmt.Sprintf("n%d", i%crowded)
		f.podAdded(pod)
	}
	for i := range 6 {
		plugin.scored.Store(0)
		f.add(objects.Pod(fmt.Sprintf("p%d", i)).Requests("cpu", "5").Build())
		f.attempt()
		if scored := plugin.scored.Load(); i > 2 && (scored == 0 || scored > zones+crowded) {
			t.Errorf("pod p%d: the plugin scored %d of %d nodes, want one of each zone and %d that are crowded", i, scored, nodes, crowded)
		}
	}
}
