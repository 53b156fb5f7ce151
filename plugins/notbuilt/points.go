// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package notbuilt

import (
	"context"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// The types below fill the extension points that a stand-in has but does nothing at.

type noPreEnqueue struct{}

// PreEnqueue implements fwk.PreEnqueuePlugin; no pod is held back.
func (noPreEnqueue) PreEnqueue(context.Context, *v1.Pod) *fwk.Status { return nil }

type noScore struct{}

// Score implements fwk.ScorePlugin; all nodes are equal.
func (noScore) Score(context.Context, fwk.CycleState, *v1.Pod, fwk.NodeInfo) (int64, *fwk.Status) {
	return 0, nil
}

// ScoreExtensions implements fwk.ScorePlugin.
func (noScore) ScoreExtensions() fwk.ScoreExtensions { return nil }

type noReserve struct{}

// Reserve implements fwk.ReservePlugin; nothing is reserved.
func (noReserve) Reserve(context.Context, fwk.CycleState, *v1.Pod, string) *fwk.Status { return nil }

// Unreserve implements fwk.ReservePlugin; nothing was reserved.
func (noReserve) Unreserve(context.Context, fwk.CycleState, *v1.Pod, string) {}

type noPreBind struct{}

// PreBindPreFlight implements fwk.PreBindPlugin; PreBind is skipped.
func (noPreBind) PreBindPreFlight(context.Context, fwk.CycleState, *v1.Pod, string) (*fwk.PreBindPreFlightResult, *fwk.Status) {
	return &fwk.PreBindPreFlightResult{AllowParallel: true}, fwk.NewStatus(fwk.Skip)
}

// PreBind implements fwk.PreBindPlugin.
func (noPreBind) PreBind(context.Context, fwk.CycleState, *v1.Pod, string) *fwk.Status { return nil }

// noPostFilter makes no pod schedulable. Its statuses have no reasons, so that what a user reads about a pod is why it
// fits no node, and nothing else.
type noPostFilter struct{}

// PostFilter implements fwk.PostFilterPlugin. It leaves the nomination that the pod may have to the plugins after it.
func (noPostFilter) PostFilter(context.Context, fwk.CycleState, *v1.Pod, fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
	return nil, fwk.NewStatus(fwk.Unschedulable)
}

// PodGroupPostFilter implements fwk.PodGroupPostFilterPlugin.
func (noPostFilter) PodGroupPostFilter(
	context.Context, fwk.PodGroupCycleState, fwk.PodGroupInfo, fwk.PodGroupSchedulingFunc,
) (*fwk.PodGroupPostFilterResult, *fwk.Status) {
	return nil, fwk.NewStatus(fwk.Unschedulable)
}
