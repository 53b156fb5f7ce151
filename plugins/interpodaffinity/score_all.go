// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package interpodaffinity

import (
	"context"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// PreScoreAll implements framework.ScoreAllPlugin.
func (pl *Plugin) PreScoreAll(ctx context.Context, state fwk.CycleState, pod *v1.Pod, _ framework.SlotLister) *fwk.Status {
	return pl.PreScore(ctx, state, pod, nil)
}

// ScoreAll implements framework.ScoreAllPlugin.
func (pl *Plugin) ScoreAll(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes framework.SlotLister, slots []int, scores []int64) *fwk.Status {
	list := make(fwk.NodeScoreList, len(slots))
	for i, slot := range slots {
		score, status := pl.Score(ctx, state, pod, nodes.NodeAt(slot))
		if !status.IsSuccess() {
			return status
		}
		list[i].Score = score
	}
	status := pl.NormalizeScore(ctx, state, pod, list)
	for i := range list {
		scores[i] = list[i].Score
	}
	return status
}
