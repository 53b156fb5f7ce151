// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientset "k8s.io/client-go/kubernetes"

	"github.com/rouse-scheduler/rouse/simulate"
)

// finishedPod asks the API server for a pod, and returns it if it has succeeded or failed, in which case the scheduler does
// not watch it any more. It returns nil for any other pod, and for none.
func finishedPod(ctx context.Context, client clientset.Interface, namespace, name string) (*v1.Pod, error) {
	pod, err := client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("asking the API server whether the pod has finished: %w", err)
	case pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed:
		return pod, nil
	}
	return nil, nil
}

// explainFinished explains a pod that has succeeded or failed.
func explainFinished(pod *v1.Pod, at string) *Explanation {
	e := NewExplanation(pod.Namespace, pod.Name, at)
	e.SchedulerName, e.Pool, e.Node = pod.Spec.SchedulerName, simulate.PoolDeleted, pod.Spec.NodeName
	e.Phase, e.Message = string(pod.Status.Phase), pod.Status.Message
	return e
}
