// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

// startBinding is the first half of the binding cycle (kube-scheduler: bindingCycle), up to the wait for permission. The
// second half runs when the permission was given or refused, without a goroutine that waits for it.
func (s *Scheduler) startBinding(ctx context.Context, a *attempt) {
	preFlight := a.profile.RunPreBindPreFlights(ctx, a.state, a.pod, a.node)
	if !preFlight.IsSuccess() && !preFlight.IsSkip() {
		stopWaiting(a)
		s.handleBindingFailure(ctx, a, preFlight)
		s.countBindings(-1)
		return
	}
	if !s.options.Features.DisableNominatedNodeName && (preFlight.IsSuccess() || a.profile.WillWaitOnPermit(a.pod)) {
		// Binding will take a while: write where the pod is going to its status (KEP-5278).
		a.nominationWritten = true
		err := s.patchStatus(ctx, a.info.Pod, nil, &fwk.NominatingInfo{NominatingMode: fwk.ModeOverride, NominatedNodeName: a.node})
		if err != nil {
			s.options.Logger.Error(err, "Writing the nominated node of a pod failed", "pod", klog.KObj(a.pod), "node", a.node)
		}
	}
	finish := func(permit *fwk.Status) { s.finishBinding(ctx, a, permit, preFlight.IsSuccess()) }
	waits := a.profile.OnPermitDecided(a.pod, func(permit *fwk.Status) {
		s.options.Execution.Go(func() { finish(permit) })
	})
	if !waits {
		finish(nil)
	}
}

// countBindings counts the pods whose binding cycle has begun and not ended.
func (s *Scheduler) countBindings(change int) {
	s.background.Add(change)
	if s.options.Observers.Metrics != nil {
		s.options.Observers.Metrics.Goroutines("binding", change)
	}
}

// stopWaiting takes a pod that will not be bound out of those that wait for permission, should it be among them.
func stopWaiting(a *attempt) {
	if a.profile.OnPermitDecided(a.pod, func(*fwk.Status) {}) {
		a.profile.RejectWaitingPod(a.pod.UID)
	}
}

// finishBinding is the second half of the binding cycle, after the decision of the Permit plugins; preBind tells
// whether any PreBind plugin has work to do.
func (s *Scheduler) finishBinding(ctx context.Context, a *attempt, permit *fwk.Status, preBind bool) {
	defer s.countBindings(-1)
	if !permit.IsSuccess() {
		if permit.IsRejected() {
			permit = rejectedAt(a, permit)
		}
		s.handleBindingFailure(ctx, a, permit)
		return
	}
	// From here on no plugin rejects the pod, so no event needs to be kept for it.
	s.queue.DoneWithEvents(a.pod.UID)
	if status := s.checkBindable(ctx, a); status != nil {
		s.handleBindingFailure(ctx, a, status)
		return
	}
	if preBind {
		if status := s.preBind(ctx, a); !status.IsSuccess() {
			s.handleBindingFailure(ctx, a, status)
			return
		}
	}
	if status := s.bind(ctx, a); !status.IsSuccess() {
		s.handleBindingFailure(ctx, a, status)
		return
	}
	s.queue.Done(a.pod.UID)
	s.options.Observers.Scheduler.PodBound(s.boundAs(a))
	a.profile.RunPostBindPlugins(ctx, a.state, a.pod, a.node)
	s.activate(a)
}

// boundAs is what there is to say about a binding.
func (s *Scheduler) boundAs(a *attempt) Binding {
	now := s.clock.Now()
	binding := Binding{
		Pod:      a.pod,
		Attempt:  a.info.Attempts,
		Node:     a.node,
		Duration: now.Sub(a.started),
		Flushed:  a.info.WasFlushedFromUnschedulable,
	}
	if first := a.info.InitialAttemptTimestamp; first != nil {
		binding.SinceReady = now.Sub(*first)
	}
	return binding
}

// preBind runs the PreBind plugins; meanwhile, preemption may take the pod back.
func (s *Scheduler) preBind(ctx context.Context, a *attempt) *fwk.Status {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a.profile.AddPodInPreBind(a.pod.UID, cancel)
	defer a.profile.RemovePodInPreBind(a.pod.UID)
	var status *fwk.Status
	s.bindingLimiter.yield(func() { status = a.profile.RunPreBindPlugins(ctx, a.state, a.pod, a.node) })
	if !status.IsSuccess() {
		return status
	}
	if entry := a.profile.GetPodInPreBind(a.pod.UID); entry != nil && !entry.MarkPrebound() {
		return fwk.AsStatus(context.Cause(ctx))
	}
	return nil
}

// bind asks the extender that binds such pods, and otherwise the Bind plugins.
func (s *Scheduler) bind(ctx context.Context, a *attempt) *fwk.Status {
	status := s.checkBindable(ctx, a)
	if status == nil {
		status = s.callBinders(ctx, a)
	}
	if !status.IsSuccess() {
		s.options.Logger.V(1).Info("Failed to bind pod", "pod", klog.KObj(a.pod), "node", a.node, "status", status)
		return status
	}
	a.profile.EventRecorder().Eventf(a.pod, nil, v1.EventTypeNormal, "Scheduled", "Binding",
		"Successfully assigned %s/%s to %s", a.pod.Namespace, a.pod.Name, a.node)
	return nil
}

// callBinders binds the pod, and returns an error only if it is not bound.
func (s *Scheduler) callBinders(ctx context.Context, a *attempt) *fwk.Status {
	status := s.bindThroughExtender(ctx, a)
	if status.IsSkip() {
		status = a.profile.RunBindPlugins(ctx, a.state, a.pod, a.node)
	}
	if status.IsError() {
		return s.confirmBinding(ctx, a, status)
	}
	return status
}

// bindThroughExtender returns Skip when no extender bound the pod.
func (s *Scheduler) bindThroughExtender(ctx context.Context, a *attempt) *fwk.Status {
	for _, extender := range s.binders(a) {
		err := within(ctx, extender).Bind(&v1.Binding{
			ObjectMeta: metav1.ObjectMeta{Namespace: a.pod.Namespace, Name: a.pod.Name, UID: a.pod.UID},
			Target:     v1.ObjectReference{Kind: "Node", Name: a.node},
		})
		if err == nil {
			return nil
		}
		if !extender.IsIgnorable() {
			return fwk.AsStatus(fmt.Errorf("binding pod %s to node %s through extender %s: %w", podKey(a.pod), a.node, extender.Name(), err))
		}
		s.options.Logger.Info("Skipping an extender that failed to bind", "extender", extender.Name(),
			"pod", klog.KObj(a.pod), "err", err)
	}
	return fwk.NewStatus(fwk.Skip)
}

// handleBindingFailure takes back what the scheduling cycle did. What the pod had taken is announced as free: to pods
// that are being tried even before this one goes back to the queue, but to this one never if plugins rejected it, as
// its own departure is no reason to try it again. A pod that another client has bound frees nothing, but one that it was
// to make room for relies on it going back to the queue, and has to find out.
func (s *Scheduler) handleBindingFailure(ctx context.Context, a *attempt, status *fwk.Status) {
	if status.IsSkip() {
		status = fwk.AsStatus(errors.New("no Bind plugin took the pod; every one returned Skip"))
	}
	f := failed(status)
	if s.release(ctx, a) && !status.IsRejected() {
		s.queue.MoveAfterFailure(assignedPodDeleted(), a.pod, nil, nil)
		s.handleFailure(ctx, a, f)
		return
	}
	s.handleFailure(ctx, a, f)
	s.queue.MoveAfterFailure(assignedPodDeleted(), a.pod, nil, func(waiting *v1.Pod) bool { return waiting.UID != a.pod.UID })
}
