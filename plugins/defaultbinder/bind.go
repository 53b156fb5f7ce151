// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package defaultbinder

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/internal/apiwrite"
)

// Bind implements fwk.BindPlugin. The call is retried a few times while the API server can't be reached or has trouble
// of its own; any other refusal is final for this attempt. If an answer was lost, that may be a conflict with what this
// call has done itself.
func (pl *plugin) Bind(ctx context.Context, _ fwk.CycleState, pod *v1.Pod, nodeName string) *fwk.Status {
	binding := &v1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		Target:     v1.ObjectReference{Kind: "Node", Name: nodeName},
	}
	if err := pl.send(ctx, binding); err != nil {
		return fwk.AsStatus(fmt.Errorf("binding pod %s/%s to node %s: %w", pod.Namespace, pod.Name, nodeName, err))
	}
	return nil
}

// send goes through the API cacher of the scheduler if it has one, so that what others see stays consistent.
func (pl *plugin) send(ctx context.Context, binding *v1.Binding) error {
	if cacher := pl.handle.APICacher(); cacher != nil {
		finished, err := cacher.BindPod(binding)
		if err != nil {
			return err
		}
		return cacher.WaitOnFinish(ctx, finished)
	}
	pods := pl.handle.ClientSet().CoreV1().Pods(binding.Namespace)
	return apiwrite.Retry(ctx, apiwrite.IsTransient, func() error {
		return pods.Bind(ctx, binding, metav1.CreateOptions{})
	})
}
