// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package preemption

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/util/retry"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
)

// podKey is how errors, and the map of pods to activate, name a pod.
func podKey(pod *v1.Pod) string { return pod.Namespace + "/" + pod.Name }

// delete marks a pod as disrupted by preemption, for controllers to see, and deletes it. It returns false if the pod is
// gone.
func (v *evictor) delete(ctx context.Context, preemptor, victim *v1.Pod) (deleted bool, err error) {
	status := victim.Status.DeepCopy()
	setCondition(status, v1.PodCondition{
		Type:               v1.DisruptionTarget,
		Status:             v1.ConditionTrue,
		Reason:             v1.PodReasonPreemptionByScheduler,
		Message:            preemptor.Spec.SchedulerName + ": preempting to accommodate a higher priority pod",
		ObservedGeneration: victim.Generation,
	}, v.clock.Now())
	err = v.patchStatus(ctx, victim, status)
	if err == nil {
		err = v.handle.ClientSet().CoreV1().Pods(victim.Namespace).Delete(ctx, victim.Name, metav1.DeleteOptions{})
	}
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("preempting pod %s for pod %s: %w", podKey(victim), podKey(preemptor), err)
	}
	return true, nil
}

// clearNominations withdraws the node from less important pods that it is nominated for: it will be taken.
func (v *evictor) clearNominations(ctx context.Context, e *eviction) error {
	var errs []error
	for _, nominated := range v.handle.NominatedPodsForNode(e.node) {
		pod := nominated.GetPod()
		if corev1helpers.PodPriority(pod) >= corev1helpers.PodPriority(e.preemptor) {
			continue
		}
		status := pod.Status.DeepCopy()
		status.NominatedNodeName = ""
		if err := v.patchStatus(ctx, pod, status); err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("withdrawing node %s from pod %s: %w", e.node, podKey(pod), err))
		}
	}
	return errors.Join(errs...)
}

// setCondition replaces the condition of the same type. The time of the transition only moves when the status does, and
// a condition that says nothing new stays as it is.
func setCondition(status *v1.PodStatus, condition v1.PodCondition, now time.Time) {
	condition.LastTransitionTime = metav1.NewTime(now)
	for i := range status.Conditions {
		old := &status.Conditions[i]
		if old.Type != condition.Type {
			continue
		}
		if old.Status == condition.Status {
			condition.LastTransitionTime = old.LastTransitionTime
		}
		unchanged := *old
		unchanged.ObservedGeneration = condition.ObservedGeneration
		if !equality.Semantic.DeepEqual(unchanged, condition) {
			*old = condition
		}
		return
	}
	status.Conditions = append(status.Conditions, condition)
}

// patchStatus changes the status of a pod to the given one, if that is any different. Passing troubles of the API server
// are retried.
func (v *evictor) patchStatus(ctx context.Context, pod *v1.Pod, status *v1.PodStatus) error {
	if v.handle.ClientSet() == nil {
		return errors.New("there is no client; set the option ClientSet of the framework")
	}
	before, err := json.Marshal(&v1.Pod{Status: pod.Status})
	if err != nil {
		return err
	}
	after, err := json.Marshal(&v1.Pod{Status: *status})
	if err != nil {
		return err
	}
	patch, err := strategicpatch.CreateTwoWayMergePatch(before, after, &v1.Pod{})
	if err != nil || string(patch) == "{}" {
		return err
	}
	return retry.OnError(retry.DefaultBackoff, passing, func() error {
		_, err := v.handle.ClientSet().CoreV1().Pods(pod.Namespace).
			Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
		return err
	})
}

// passing tells whether an error of the API server is worth another try.
func passing(err error) bool {
	return apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err) || apierrors.IsConflict(err) ||
		utilnet.IsConnectionRefused(err)
}
