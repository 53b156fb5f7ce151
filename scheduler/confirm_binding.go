// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/internal/apiwrite"
)

// confirmTimeout is how long a pod whose binding has failed keeps its place because it is not known whether it failed.
const confirmTimeout = 2 * time.Minute

// supersededError says that an attempt is pointless because the pod was bound elsewhere or deleted in the meantime.
type supersededError struct{ text string }

// Error implements error.
func (e *supersededError) Error() string { return e.text }

// superseded returns nil if the failure has another cause.
func (f *failure) superseded() *supersededError {
	var superseded *supersededError
	if errors.As(f.status.AsError(), &superseded) {
		return superseded
	}
	return nil
}

// checkSuperseded returns an error if the current state of the pod, nil if it is gone, makes the attempt pointless.
func (a *attempt) checkSuperseded(current *v1.Pod) *supersededError {
	key := podKey(a.pod)
	switch {
	case current == nil:
		return &supersededError{fmt.Sprintf("pod %s was deleted while it was being bound", key)}
	case current.UID != a.pod.UID:
		return &supersededError{fmt.Sprintf("pod %s was deleted while it was being bound, and another one has its name", key)}
	case assigned(current) && current.Spec.NodeName != a.node:
		return &supersededError{fmt.Sprintf("pod %s was bound to node %s by another client, not to %s", key, current.Spec.NodeName, a.node)}
	case !assigned(current) && current.DeletionTimestamp != nil:
		return &supersededError{fmt.Sprintf("pod %s is being deleted", key)}
	}
	return nil
}

// checkBindable returns why the pod can't be bound any more, by what the informers know; nil if it can.
func (s *Scheduler) checkBindable(ctx context.Context, a *attempt) *fwk.Status {
	if err := context.Cause(ctx); err != nil {
		return fwk.AsStatus(fmt.Errorf("binding pod %s to node %s: %w", podKey(a.pod), a.node, err))
	}
	current, err := s.pods.Pods(a.pod.Namespace).Get(a.pod.Name)
	if err != nil {
		current = nil
	}
	if superseded := a.checkSuperseded(current); superseded != nil {
		return fwk.AsStatus(superseded)
	}
	if _, err := s.nodes.Get(a.node); err != nil {
		return fwk.NewStatus(fwk.Unschedulable, fmt.Sprintf("node %q was deleted before the pod was bound to it", a.node))
	}
	return nil
}

// confirmBinding asks the API server whether a pod is bound after its binding failed, since only the response may have been
// lost. As long as the API server does not answer, the pod keeps its place, which another pod would take otherwise. The
// result is nil if the pod is bound to its node after all.
func (s *Scheduler) confirmBinding(ctx context.Context, a *attempt, failed *fwk.Status) *fwk.Status {
	var current *v1.Pod
	err := apiwrite.RetryUntil(ctx, confirmTimeout, apiwrite.IsTransient, func() (err error) {
		current, err = s.options.Client.CoreV1().Pods(a.pod.Namespace).Get(ctx, a.pod.Name, metav1.GetOptions{})
		return err
	})
	switch {
	case apierrors.IsNotFound(err):
		current = nil
	case err != nil:
		s.options.Logger.Error(err, "Checking whether a pod was bound failed; assuming that it was not",
			"pod", klog.KObj(a.pod), "node", a.node)
		return failed
	}
	if superseded := a.checkSuperseded(current); superseded != nil {
		return fwk.AsStatus(superseded)
	}
	if assigned(current) {
		s.options.Logger.Info("A pod is bound although binding it failed; the response was lost",
			"pod", klog.KObj(a.pod), "node", a.node, "status", failed)
		return nil
	}
	return failed
}
