// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package podtopologyspread

import (
	"context"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// PreScoreAll implements framework.ScoreAllPlugin.
func (pl *Plugin) PreScoreAll(_ context.Context, _ fwk.CycleState, pod *v1.Pod, _ framework.SlotLister) *fwk.Status {
	constraints, err := pl.constraints(pod, v1.ScheduleAnyway)
	if err != nil {
		return fwk.AsStatus(err)
	}
	if len(constraints) == 0 {
		return fwk.NewStatus(fwk.Skip)
	}
	return nil
}

// ScoreAll implements framework.ScoreAllPlugin.
func (pl *Plugin) ScoreAll(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes framework.SlotLister, slots []int, scores []int64) *fwk.Status {
	candidates := make([]fwk.NodeInfo, len(slots))
	for i, slot := range slots {
		candidates[i] = nodes.NodeAt(slot)
	}
	if status := pl.PreScore(ctx, state, pod, candidates); !status.IsSuccess() {
		return status
	}
	list := make(fwk.NodeScoreList, len(slots))
	for i, candidate := range candidates {
		score, status := pl.Score(ctx, state, pod, candidate)
		if !status.IsSuccess() {
			return status
		}
		list[i] = fwk.NodeScore{Name: candidate.Node().Name, Score: score}
	}
	status := pl.NormalizeScore(ctx, state, pod, list)
	for i := range list {
		scores[i] = list[i].Score
	}
	return status
}
