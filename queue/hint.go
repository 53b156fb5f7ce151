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

// ask runs the hint of a plugin for a pod, on behalf of its whole class unless that is nil, and tells whether it wants
// them back. A hint that fails does, so that no pod stays asleep because of it.
func (q *Queue) ask(plugin string, hint fwk.QueueingHintFn, what *occurrence, pod *queuedPod, class *hintClass) bool {
	var started time.Time
	if q.observer != nil {
		started = q.clock.Now()
	}
	answer, err := runHint(q.logger, hint, pod.Pod, what)
	if err != nil {
		answer = fwk.Queue
		q.logger.Error(err, "A queueing hint failed; the pods that it was asked for are tried again",
			"plugin", plugin, "event", what.label(), "pod", klog.KObj(pod.Pod))
	}
	if q.observer != nil {
		q.asked.pod, q.asked.class = pod.Pod, class
		q.observer.HintEvaluated(HintResult{
			Profile: pod.profile(), Plugin: plugin, Event: what.label(),
			Hint: answer, Err: err, Duration: q.clock.Since(started), Pods: q.askedPods,
		})
		q.asked = asked{}
	}
	return answer != fwk.QueueSkip
}

// asked is whom a hint was asked about: one pod, or a class unless that is nil.
type asked struct {
	pod   *v1.Pod
	class *hintClass
}

// all is an iter.Seq.
func (a *asked) all(yield func(*v1.Pod) bool) {
	if a.class != nil {
		a.class.pods(yield)
		return
	}
	yield(a.pod)
}

// runHint calls a hint; nil stands for a plugin that always wants its pods back.
func runHint(logger klog.Logger, hint fwk.QueueingHintFn, pod *v1.Pod, what *occurrence) (answer fwk.QueueingHint, err error) {
	if hint == nil {
		return fwk.Queue, nil
	}
	defer recoverAsError(&err)
	return hint(logger, pod, what.oldObj, what.newObj)
}

// narrow returns the pods that the hint beside a PreQueueingHintFn is to be asked for; ok is false if that is every
// pod, as it is when the function fails.
func (q *Queue) narrow(plugin string, hint registeredHint, what *occurrence) (result fwk.PreQueueingHintResult, ok bool) {
	if hint.narrow == nil || what.oldObj == nil && what.newObj == nil {
		return result, false
	}
	var err error
	func() {
		defer recoverAsError(&err)
		result, err = hint.narrow(q.logger, what.oldObj, what.newObj)
	}()
	if err != nil {
		q.logger.Error(err, "Narrowing an event to some pods failed; all of them are looked at", "plugin", plugin, "event", what.label())
	}
	ok = err == nil && !result.AllPods
	if q.observer != nil {
		q.observer.EventNarrowed(plugin, ok)
	}
	return result, ok
}

// classOf returns the class of a pod as far as the hints of a plugin go; ok is false if it is one of its own.
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
		q.logger.Error(err, "Classing a pod for the queueing hints of a plugin failed; it is put in a class of its own", "plugin", plugin, "pod", klog.KObj(pod))
		return "", false
	}
	return class, ok
}

// recoverAsError is deferred around the code of plugins, of which no panic may reach the queue.
func recoverAsError(err *error) {
	if reason := recover(); reason != nil {
		*err = fmt.Errorf("panic: %v\n%s", reason, debug.Stack())
	}
}
