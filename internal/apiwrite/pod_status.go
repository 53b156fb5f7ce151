// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package apiwrite

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	clientset "k8s.io/client-go/kubernetes"
)

// PatchPodStatus changes the status of a pod from what it has in the given object to another one, if that is any
// different, and leaves alone what others have written to the rest of it. A pod that has taken the name since is not
// touched. Conflicts and transient errors are retried.
func PatchPodStatus(ctx context.Context, client clientset.Interface, pod *v1.Pod, status *v1.PodStatus) error {
	patch, err := statusPatch(pod, status)
	if err != nil {
		return fmt.Errorf("making a patch for the status of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	if patch == nil {
		return nil
	}
	err = Retry(ctx, IsTransientOrConflict, func() error {
		_, err := client.CoreV1().Pods(pod.Namespace).
			Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
		return err
	})
	if err != nil {
		return fmt.Errorf("patching the status of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return nil
}

// statusPatch returns nil if there is nothing to change. The patch has the UID of the pod, which makes the API server
// refuse it for any other pod.
func statusPatch(pod *v1.Pod, status *v1.PodStatus) ([]byte, error) {
	before, err := json.Marshal(&v1.Pod{Status: pod.Status})
	if err != nil {
		return nil, err
	}
	after, err := json.Marshal(&v1.Pod{Status: *status})
	if err != nil {
		return nil, err
	}
	if bytes.Equal(before, after) {
		return nil, nil
	}
	after, err = json.Marshal(&v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: pod.UID}, Status: *status})
	if err != nil {
		return nil, err
	}
	return strategicpatch.CreateTwoWayMergePatch(before, after, &v1.Pod{})
}

// SetCondition replaces the condition of the same type in a status. The time of the transition only moves when the status
// of the condition does, and a condition that says nothing new stays as it is, generation included.
func SetCondition(status *v1.PodStatus, condition v1.PodCondition, now time.Time) {
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
