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

// settleLimit is how long a pod whose binding has failed keeps its place because nobody knows whether it has.
const settleLimit = 2 * time.Minute

// overtakenError says that somebody else has decided about a pod in the meantime: it is bound elsewhere, or deleted.
// There is nothing left to do for it.
type overtakenError struct{ text string }

// Error implements error.
func (e *overtakenError) Error() string { return e.text }

// overtaken returns nil if the failure has another cause.
func (f *failure) overtaken() *overtakenError {
	var overtaken *overtakenError
	if errors.As(f.status.AsError(), &overtaken) {
		return overtaken
	}
	return nil
}

// compare tells from the current state of a pod, nil if it is gone, whether the attempt has been overtaken.
func (a *attempt) compare(current *v1.Pod) *overtakenError {
	key := podKey(a.pod)
	switch {
	case current == nil:
		return &overtakenError{fmt.Sprintf("pod %s was deleted while it was being bound", key)}
	case current.UID != a.pod.UID:
		return &overtakenError{fmt.Sprintf("pod %s was deleted while it was being bound, and another one has its name", key)}
	case assigned(current) && current.Spec.NodeName != a.node:
		return &overtakenError{fmt.Sprintf("pod %s was bound to node %s by somebody else, not to %s", key, current.Spec.NodeName, a.node)}
	case !assigned(current) && current.DeletionTimestamp != nil:
		return &overtakenError{fmt.Sprintf("pod %s is being deleted", key)}
	}
	return nil
}

// obstacle tells, as far as the informers know, why the pod can't be bound any more; nil if it can.
func (s *Scheduler) obstacle(ctx context.Context, a *attempt) *fwk.Status {
	if err := context.Cause(ctx); err != nil {
		return fwk.AsStatus(fmt.Errorf("binding pod %s to node %s: %w", podKey(a.pod), a.node, err))
	}
	current, err := s.pods.Pods(a.pod.Namespace).Get(a.pod.Name)
	if err != nil {
		current = nil
	}
	if overtaken := a.compare(current); overtaken != nil {
		return fwk.AsStatus(overtaken)
	}
	if _, err := s.nodes.Get(a.node); err != nil {
		return fwk.NewStatus(fwk.Unschedulable, fmt.Sprintf("node %q was deleted before the pod was bound to it", a.node))
	}
	return nil
}

// settle finds out what a binding that failed has come to: perhaps it was only the answer that was lost. It asks the API
// server, and as long as that does not answer, the pod keeps its place, since its node would be taken by others
// otherwise. The result is nil if the pod is bound to its node after all.
func (s *Scheduler) settle(ctx context.Context, a *attempt, failed *fwk.Status) *fwk.Status {
	var current *v1.Pod
	err := apiwrite.Insist(ctx, settleLimit, apiwrite.Passing, func() (err error) {
		current, err = s.options.Client.CoreV1().Pods(a.pod.Namespace).Get(ctx, a.pod.Name, metav1.GetOptions{})
		return err
	})
	switch {
	case apierrors.IsNotFound(err):
		current = nil
	case err != nil:
		s.options.Logger.Error(err, "Finding out whether a pod was bound failed; it is taken that it was not",
			"pod", klog.KObj(a.pod), "node", a.node)
		return failed
	}
	if overtaken := a.compare(current); overtaken != nil {
		return fwk.AsStatus(overtaken)
	}
	if assigned(current) {
		s.options.Logger.Info("A pod is bound although binding it failed; the answer was lost",
			"pod", klog.KObj(a.pod), "node", a.node, "status", failed)
		return nil
	}
	return failed
}
