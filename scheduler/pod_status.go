// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"encoding/json"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/util/retry"
	fwk "k8s.io/kube-scheduler/framework"
)

// podKey is how errors name a pod.
func podKey(pod *v1.Pod) string { return pod.Namespace + "/" + pod.Name }

// patchStatus writes a condition, which may be nil, and a nomination to the status of a pod, if they are not there
// already. Passing troubles of the API server are retried.
func (s *Scheduler) patchStatus(ctx context.Context, pod *v1.Pod, condition *v1.PodCondition, nomination *fwk.NominatingInfo) error {
	status := pod.Status.DeepCopy()
	if condition != nil {
		condition.ObservedGeneration = pod.Generation
		s.setCondition(status, condition)
	}
	if node, ok := overrides(nomination); ok {
		status.NominatedNodeName = node
	}
	if equality.Semantic.DeepEqual(status, &pod.Status) {
		return nil
	}
	patch, err := statusPatch(&pod.Status, status)
	if err != nil {
		return fmt.Errorf("making a patch for the status of pod %s: %w", podKey(pod), err)
	}
	err = retry.OnError(retry.DefaultBackoff, passing, func() error {
		_, err := s.options.Client.CoreV1().Pods(pod.Namespace).
			Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
		return err
	})
	if err != nil {
		return fmt.Errorf("patching the status of pod %s: %w", podKey(pod), err)
	}
	return nil
}

// setCondition replaces the condition of the same type. The time of the transition only moves when the status does,
// and a condition that says nothing new stays as it is.
func (s *Scheduler) setCondition(status *v1.PodStatus, condition *v1.PodCondition) {
	condition.LastTransitionTime = metav1.NewTime(s.options.Clock.Now())
	for i := range status.Conditions {
		old := &status.Conditions[i]
		if old.Type != condition.Type {
			continue
		}
		if old.Status == condition.Status {
			condition.LastTransitionTime = old.LastTransitionTime
		}
		same := *old
		same.ObservedGeneration = condition.ObservedGeneration
		if !equality.Semantic.DeepEqual(same, *condition) {
			*old = *condition
		}
		return
	}
	status.Conditions = append(status.Conditions, *condition)
}

func statusPatch(before, after *v1.PodStatus) ([]byte, error) {
	documents := make([][]byte, 2)
	for i, status := range []*v1.PodStatus{before, after} {
		var err error
		if documents[i], err = json.Marshal(&v1.Pod{Status: *status}); err != nil {
			return nil, err
		}
	}
	return strategicpatch.CreateTwoWayMergePatch(documents[0], documents[1], &v1.Pod{})
}

// passing tells whether an error of the API server is worth another try.
func passing(err error) bool {
	return apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsConflict(err) ||
		utilnet.IsConnectionRefused(err)
}
