// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"errors"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// maxEventNote is the longest note the events API takes, in bytes.
const maxEventNote = 1024

// handleFailure (kube-scheduler: handleSchedulingFailure) puts a pod back into the queue and says why: in an event, and
// in the pod's condition. It runs in the goroutine of the cycle that failed.
func (s *Scheduler) handleFailure(ctx context.Context, a *attempt, f *failure) {
	s.restore(a)
	reason := "SchedulerError"
	if f.status.IsRejected() {
		reason = v1.PodReasonUnschedulable
	}
	s.recordRejectors(a, f)
	s.options.Observers.Scheduler.AttemptFailed(s.observed(a, f))
	pod, requeue, ok := s.currentPod(a, f)
	if !ok {
		s.queue.Done(a.info.Pod.UID)
		return
	}
	podInfo, _ := framework.NewPodInfo(pod) // a new one, as others may still read the old one; bad terms are left out
	if requeue {
		a.info.PodInfo = podInfo
		if err := s.queue.AddUnschedulable(a.info); err != nil {
			s.options.Logger.Error(err, "Putting a pod back into the queue failed", "pod", klog.KObj(pod))
		}
	} else {
		s.queue.Done(a.info.Pod.UID)
	}
	s.queue.AddNominatedPod(s.options.Logger, podInfo, f.nomination)
	err := f.status.AsError()
	if err == nil || ctx.Err() != nil { // an attempt that was cut short by the end of the scheduler says nothing about the pod
		return
	}
	message := err.Error()
	a.profile.EventRecorder().Eventf(pod, nil, v1.EventTypeWarning, "FailedScheduling", "Scheduling", "%s", shorten(message))
	if !requeue { // it is gone, or has a node, so that the condition would be wrong
		return
	}
	if a.nominationWritten { // the informer may not know it yet, and it is to be withdrawn
		pod = pod.DeepCopy()
		pod.Status.NominatedNodeName = a.node
	}
	condition := &v1.PodCondition{
		Type:    v1.PodScheduled,
		Status:  v1.ConditionFalse,
		Reason:  reason,
		Message: message,
	}
	if err := s.patchStatus(ctx, pod, condition, f.nomination); err != nil && !apierrors.IsNotFound(err) {
		s.options.Logger.Error(err, "Writing the condition of a pod failed", "pod", klog.KObj(pod))
	}
}

// recordRejectors replaces the plugins that rejected the pod by those of this attempt, with those that would have done so
// if others had been evicted.
func (s *Scheduler) recordRejectors(a *attempt, f *failure) {
	info := a.info
	info.UnschedulablePlugins, info.PendingPlugins = sets.New[string](), sets.New[string]()
	info.GatingPlugin, info.GatingPluginEvents = "", nil
	took := s.clock.Since(a.started).Round(time.Microsecond)
	if fit := f.fitError(); fit != nil {
		info.UnschedulablePlugins = fit.Diagnosis.UnschedulablePlugins.Union(framework.DryRunRejectors(a.state))
		info.PendingPlugins = fit.Diagnosis.PendingPlugins.Clone()
		s.options.Logger.V(2).Info("Unable to schedule pod; it waits", "pod", klog.KObj(info.Pod), "took", took, "err", fit)
		return
	}
	if superseded := f.superseded(); superseded != nil {
		s.options.Logger.Info("A pod was bound or deleted in the meantime; leaving it alone", "pod", klog.KObj(info.Pod), "took", took, "err", superseded)
		return
	}
	if err := f.status.AsError(); errors.Is(err, framework.ErrNoNodesAvailable) || f.status.IsRejected() {
		s.options.Logger.V(2).Info("Unable to schedule pod; retrying", "pod", klog.KObj(info.Pod), "took", took, "err", err)
	} else {
		s.options.Logger.Error(err, "Error scheduling pod; retrying", "pod", klog.KObj(info.Pod), "took", took)
	}
}

// currentPod returns the pod as the informer has it now, and whether it still wants a node. It returns false when
// another pod has taken its name, about which there is nothing to say.
func (s *Scheduler) currentPod(a *attempt, f *failure) (pod *v1.Pod, requeue, ok bool) {
	old := a.info.Pod
	current, err := s.pods.Pods(old.Namespace).Get(old.Name)
	switch {
	case err == nil && current.UID != old.UID:
		s.options.Logger.V(2).Info("Another pod has the name now; not queueing the old one again", "pod", klog.KObj(old))
		return nil, false, false
	case f.superseded() != nil: // of which the informer may not have heard yet
		return old, false, true
	case err != nil:
		s.options.Logger.V(2).Info("The pod is gone; not queueing it again", "pod", klog.KObj(old), "err", err)
		return old, false, true
	case assigned(current):
		s.options.Logger.Info("Pod has been assigned to node. Abort adding it back to queue.",
			"pod", klog.KObj(old), "node", current.Spec.NodeName)
		return old, false, true
	}
	return current, true, true
}

func (s *Scheduler) observed(a *attempt, f *failure) Failure {
	result := Failure{
		Pod:      a.info.Pod,
		Attempt:  a.info.Attempts,
		Node:     a.node,
		Status:   f.status,
		Duration: s.clock.Since(a.started),
	}
	if fit := f.fitError(); fit != nil {
		result.Diagnosis = &fit.Diagnosis
	}
	return result
}

// shorten cuts a message to what an event's note can hold.
func shorten(message string) string {
	const suffix = " ..."
	if len(message) <= maxEventNote {
		return message
	}
	return strings.ToValidUTF8(message[:maxEventNote-len(suffix)], "") + suffix
}

// overrides returns the node that a nomination asks for, and whether it asks for a change at all.
func overrides(nomination *fwk.NominatingInfo) (string, bool) {
	if nomination.Mode() != fwk.ModeOverride {
		return "", false
	}
	return nomination.NominatedNodeName, true
}
