// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package defaultpreemption

import (
	"context"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// reasonPreempting is why a pod is held back whose victims are being evicted.
const reasonPreempting = "waiting for the preemption for this pod to be finished"

// PreEnqueue implements fwk.PreEnqueuePlugin.
func (pl *plugin) PreEnqueue(_ context.Context, pod *v1.Pod) *fwk.Status {
	if pl.evaluator.Preempting(pod) {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, reasonPreempting)
	}
	return nil
}
