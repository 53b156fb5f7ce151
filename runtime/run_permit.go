// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// maxPermitTimeout is the longest that a Permit plugin can make a pod wait.
const maxPermitTimeout = 15 * time.Minute

// RunPermitPlugins asks the Permit plugins whether the pod may be bound. If none turns it down and some want it to
// wait, the status is Wait and the result says how long each waits at most, by plugin; the caller then calls
// AddWaitingPod.
func (f *Framework) RunPermitPlugins(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodeName string) (_ map[string]time.Duration, status *fwk.Status) {
	calls := f.startExtensionPoint(ctx, MethodPermit, state, pod)
	defer calls.end(&status)
	var (
		timeouts map[string]time.Duration
		waiting  *fwk.Status
	)
	for i := range f.permit {
		plugin := &f.permit[i]
		status, timeout := plugin.plugin.Permit(calls.enter(ctx, &plugin.identity), state, pod, nodeName)
		calls.leave(status)
		switch {
		case status.IsSuccess():
		case status.IsRejected():
			return nil, named(status, plugin.name)
		case status.IsWait():
			if timeouts == nil {
				timeouts = map[string]time.Duration{}
			}
			timeouts[plugin.name] = min(timeout, maxPermitTimeout)
			waiting = status
		default:
			return nil, failed(fmt.Sprintf("running Permit plugin %q", plugin.name), plugin.name, status)
		}
	}
	if waiting == nil {
		return nil, nil
	}
	waiting = waiting.Clone()
	waiting.AppendReason("one or more plugins asked to wait and no plugin rejected pod")
	return timeouts, waiting
}

// AddWaitingPod makes a pod wait for the plugins in timeouts, each at most as long as it says, counted from now. It
// replaces an earlier entry of the same pod.
func (f *Framework) AddWaitingPod(pod *v1.Pod, timeouts map[string]time.Duration) {
	f.options.waiting.add(newWaitingPod(pod, timeouts, f.options.Execution.Clock))
}

// WillWaitOnPermit reports whether a pod waits for permission.
func (f *Framework) WillWaitOnPermit(pod *v1.Pod) bool {
	return f.options.waiting.find(pod.UID) != nil
}

// WaitOnPermit blocks until it is decided whether a waiting pod may be bound, and forgets that the pod waited. The
// timeouts of the plugins are what ends it, not the context. The status is nil at once for a pod that does not wait.
//
// A rejection is returned as it is, with the plugin that turned the pod down; that of a pod that was preempted is an
// Error.
func (f *Framework) WaitOnPermit(_ context.Context, pod *v1.Pod) *fwk.Status {
	waiting := f.options.waiting.find(pod.UID)
	if waiting == nil {
		return nil
	}
	start := f.options.Execution.Clock.Now()
	<-waiting.decided
	return f.leavePermit(waiting, start)
}

// OnPermitDecided is WaitOnPermit for callers that must not block: it calls decided once with the status, from the
// goroutine in which the decision is made, or at once if it was made before. A timeout falls in whatever calls the functions
// of the clock; decided must not use the clock then, if the clock is locked meanwhile. The result is false, and decided
// not called, if the pod does not wait.
func (f *Framework) OnPermitDecided(pod *v1.Pod, decided func(*fwk.Status)) bool {
	waiting := f.options.waiting.find(pod.UID)
	if waiting == nil {
		return false
	}
	start := f.options.Execution.Clock.Now()
	waiting.onDecision(func() { decided(f.leavePermit(waiting, start)) })
	return true
}

// leavePermit ends the waiting of a pod about which a decision was made.
func (f *Framework) leavePermit(waiting *waitingPod, start time.Time) *fwk.Status {
	f.options.waiting.remove(waiting)
	status, at := waiting.decision()
	if f.options.Metrics != nil {
		f.options.Metrics.PermitWait(codeName(status.Code()), max(0, at.Sub(start)))
	}
	if status.IsSuccess() || status.IsRejected() {
		return status
	}
	return failed("waiting on permit for pod", status.Plugin(), status)
}
