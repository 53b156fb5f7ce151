// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package preemption

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"

	"github.com/rouse-scheduler/rouse/internal/apiwrite"
)

// podKey is how errors, and the map of pods to activate, name a pod.
func podKey(pod *v1.Pod) string { return pod.Namespace + "/" + pod.Name }

// delete marks a pod as disrupted by preemption, for controllers to see, and deletes it. It returns false if the pod is
// gone.
func (v *evictor) delete(ctx context.Context, preemptor, victim *v1.Pod) (deleted bool, err error) {
	status := victim.Status.DeepCopy()
	apiwrite.SetCondition(status, v1.PodCondition{
		Type:               v1.DisruptionTarget,
		Status:             v1.ConditionTrue,
		Reason:             v1.PodReasonPreemptionByScheduler,
		Message:            preemptor.Spec.SchedulerName + ": preempting to accommodate a higher priority pod",
		ObservedGeneration: victim.Generation,
	}, v.clock.Now())
	err = v.patchStatus(ctx, victim, status)
	if err == nil {
		err = v.deletePod(ctx, victim)
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

// patchStatus changes the status of a pod to the given one, if that is any different.
func (v *evictor) patchStatus(ctx context.Context, pod *v1.Pod, status *v1.PodStatus) error {
	client := v.handle.ClientSet()
	if client == nil {
		return errors.New("there is no client; set the option ClientSet of the framework")
	}
	return apiwrite.PatchPodStatus(ctx, client, pod, status)
}

// deletePod deletes a pod, but none that has taken its name since: then it is not found.
func (v *evictor) deletePod(ctx context.Context, pod *v1.Pod) error {
	var options metav1.DeleteOptions
	if pod.UID != "" {
		options.Preconditions = metav1.NewUIDPreconditions(string(pod.UID))
	}
	err := apiwrite.Retry(ctx, apiwrite.IsTransient, func() error {
		return v.handle.ClientSet().CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, options)
	})
	if apierrors.IsConflict(err) { // only the precondition conflicts
		return apierrors.NewNotFound(v1.Resource("pods"), pod.Name)
	}
	return err
}
