// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/internal/apiwrite"
)

// podKey is how errors name a pod.
func podKey(pod *v1.Pod) string { return pod.Namespace + "/" + pod.Name }

// patchStatus writes a condition, which may be nil, and a nomination to the status of a pod, if they are not there
// already.
func (s *Scheduler) patchStatus(ctx context.Context, pod *v1.Pod, condition *v1.PodCondition, nomination *fwk.NominatingInfo) error {
	status := pod.Status.DeepCopy()
	if condition != nil {
		condition.ObservedGeneration = pod.Generation
		apiwrite.SetCondition(status, *condition, s.clock.Now())
	}
	if node, ok := overrides(nomination); ok {
		status.NominatedNodeName = node
	}
	return apiwrite.PatchPodStatus(ctx, s.options.Client, pod, status)
}
