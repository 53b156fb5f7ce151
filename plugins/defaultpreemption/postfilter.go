// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package defaultpreemption

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// PostFilter implements fwk.PostFilterPlugin. Its statuses say at the beginning of the message that they are about
// preemption. A pod with victims waits for the events of this plugin, too.
func (pl *plugin) PostFilter(
	ctx context.Context, state fwk.CycleState, pod *v1.Pod, statuses fwk.NodeToStatusReader,
) (*fwk.PostFilterResult, *fwk.Status) {
	result, status := pl.evaluator.Preempt(ctx, state, pod, statuses)
	if status.IsSuccess() || result == nil && pod.Status.NominatedNodeName != "" { // victims are ending
		framework.AddDryRunRejectors(state, Name)
	}
	if err := status.AsError(); status.IsError() {
		return result, fwk.AsStatus(fmt.Errorf("preemption: %w", err))
	}
	if message := status.Message(); message != "" {
		return result, fwk.NewStatus(status.Code(), "preemption: "+message)
	}
	return result, status
}

// PodGroupPostFilter implements fwk.PodGroupPostFilterPlugin. It makes no room: pod groups are not scheduled as one.
func (pl *plugin) PodGroupPostFilter(
	context.Context, fwk.PodGroupCycleState, fwk.PodGroupInfo, fwk.PodGroupSchedulingFunc,
) (*fwk.PodGroupPostFilterResult, *fwk.Status) {
	return nil, fwk.NewStatus(fwk.Unschedulable)
}
