// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"fmt"
	"runtime/debug"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

// runHint runs the hint of a plugin for a pod, on behalf of its whole class unless that is nil, and reports whether they are
// to be tried again. They are if the hint fails, so that no pod is lost because of it.
func (q *Queue) runHint(plugin string, hint fwk.QueueingHintFn, event *clusterEvent, pod *queuedPod, class *hintClass) bool {
	var started time.Time
	if q.observer != nil {
		started = q.clock.Now()
	}
	answer, err := callHint(q.logger, hint, pod.Pod, event)
	if err != nil {
		answer = fwk.Queue
		q.logger.Error(err, "A queueing hint failed; the pods that it was run for are tried again",
			"plugin", plugin, "event", event.label(), "pod", klog.KObj(pod.Pod))
	}
	if q.observer != nil {
		q.hintSubject.pod, q.hintSubject.class = pod.Pod, class
		q.observer.HintEvaluated(HintResult{
			Profile: pod.profile(), Plugin: plugin, Event: event.label(),
			Hint: answer, Err: err, Duration: q.clock.Since(started), Pods: q.hintPods,
		})
		q.hintSubject = hintSubject{}
	}
	return answer != fwk.QueueSkip
}

// hintSubject is what a hint was run for: a class, or one pod if class is nil.
type hintSubject struct {
	pod   *v1.Pod
	class *hintClass
}

// all is an iter.Seq.
func (h *hintSubject) all(yield func(*v1.Pod) bool) {
	if h.class != nil {
		h.class.pods(yield)
		return
	}
	yield(h.pod)
}

// callHint calls a hint; a nil one asks for every pod.
func callHint(logger klog.Logger, hint fwk.QueueingHintFn, pod *v1.Pod, event *clusterEvent) (answer fwk.QueueingHint, err error) {
	if hint == nil {
		return fwk.Queue, nil
	}
	defer recoverAsError(&err)
	return hint(logger, pod, event.oldObj, event.newObj)
}

// runPreQueueingHint returns the pods that a hint is to be run for, by the PreQueueingHintFn registered with it; ok is false
// if that is every pod, as it is when there is no such function or it fails.
func (q *Queue) runPreQueueingHint(plugin string, hint registeredHint, event *clusterEvent) (result fwk.PreQueueingHintResult, ok bool) {
	if hint.preHint == nil || event.oldObj == nil && event.newObj == nil {
		return result, false
	}
	var err error
	func() {
		defer recoverAsError(&err)
		result, err = hint.preHint(q.logger, event.oldObj, event.newObj)
	}()
	if err != nil {
		q.logger.Error(err, "A PreQueueingHintFn failed; the hint is run for all pods", "plugin", plugin, "event", event.label())
	}
	ok = err == nil && !result.AllPods
	if q.observer != nil {
		q.observer.EventNarrowed(plugin, ok)
	}
	return result, ok
}

// classOf returns the class of a pod for the hints of a plugin; ok is false if the pod is in a class of its own.
func (q *Queue) classOf(profile, plugin string, pod *v1.Pod) (class string, ok bool) {
	hintClass := q.profiles[profile].HintClass
	if hintClass == nil {
		return "", false
	}
	var err error
	func() {
		defer recoverAsError(&err)
		class, ok = hintClass(plugin, pod)
	}()
	if err != nil {
		q.logger.Error(err, "HintClass failed for a pod; it is put in a class of its own", "plugin", plugin, "pod", klog.KObj(pod))
		return "", false
	}
	return class, ok
}

// recoverAsError is deferred around calls of plugins, so that a panic in one becomes an error.
func recoverAsError(err *error) {
	if reason := recover(); reason != nil {
		*err = fmt.Errorf("panic: %v\n%s", reason, debug.Stack())
	}
}
