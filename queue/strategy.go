// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
)

// Strategy says what an event is worth to a waiting pod.
type Strategy int

const (
	// Skip leaves the pod where it is.
	Skip Strategy = iota
	// AfterBackoff has the pod tried again once its backoff is over.
	AfterBackoff
	// Immediately has the pod tried again without waiting for its backoff.
	Immediately
)

// String returns the name of the strategy.
func (s Strategy) String() string {
	switch s {
	case AfterBackoff:
		return "AfterBackoff"
	case Immediately:
		return "Immediately"
	}
	return "Skip"
}

// verdict is what an event is worth to a pod, and to which plugin it owes that; the plugin is empty if no hint decided.
type verdict struct {
	strategy Strategy
	plugin   string
}

// final tells whether no other plugin can improve on the verdict.
func (v verdict) final(pod *queuedPod) bool {
	return v.strategy == Immediately || v.strategy == AfterBackoff && len(pod.PendingPlugins) == 0
}

// worth is the verdict of a plugin that asks for a pod that it rejected.
func worth(pod *queuedPod, plugin string) verdict {
	if pod.PendingPlugins.Has(plugin) {
		return verdict{Immediately, plugin}
	}
	return verdict{AfterBackoff, plugin}
}

// judge works out what an event is worth to one pod, by the hints of the plugins that rejected it. It needs mu.
func (q *Queue) judge(pod *queuedPod, what *occurrence) verdict {
	if !pod.rejected() {
		return verdict{strategy: AfterBackoff}
	}
	if what.interest.wildcard {
		if target, targeted := what.target(); targeted && target != pod.Pod.UID {
			return verdict{}
		}
		return verdict{strategy: AfterBackoff}
	}
	interest := what.interest.ofProfile(pod.profile())
	if interest == nil {
		q.logger.Error(nil, "No profile has the scheduler name of the pod, which is tried again after its backoff",
			"pod", klog.KObj(pod.Pod), "schedulerName", pod.profile())
		return verdict{strategy: AfterBackoff}
	}
	var best verdict
	for _, waiting := range interest.plugins {
		if !pod.rejectedBy(waiting.plugin) {
			continue
		}
		for _, registered := range waiting.hints {
			if !q.ask(waiting.plugin, registered.hint, what, pod, nil) {
				continue
			}
			if v := worth(pod, waiting.plugin); v.strategy > best.strategy {
				best = v
			}
			if best.final(pod) {
				return best
			}
		}
	}
	return best
}

// judgeAttempt works out what happened to a pod in flight is worth, and has it know again whether it was popped early. It
// needs mu, which keeps the log from growing.
func (q *Queue) judgeAttempt(pod *queuedPod) verdict {
	q.readyMu.Lock()
	flying := q.inFlight.pods[pod.Pod.UID]
	q.readyMu.Unlock()
	if flying != nil {
		pod.poppedEarly = flying.poppedEarly
	}
	if !pod.rejected() {
		return verdict{strategy: AfterBackoff}
	}
	if flying == nil {
		q.logger.Error(nil, "A pod was given back that is not in flight; it is tried again after its backoff", "pod", klog.KObj(pod.Pod))
		return verdict{strategy: AfterBackoff}
	}
	if flying.before == nil {
		return verdict{strategy: AfterBackoff}
	}
	var best verdict
	for event := flying.before.next; event != nil && !best.final(pod); event = event.next {
		if event.onlyFor != "" && event.onlyFor != pod.Pod.UID {
			continue
		}
		if v := q.judge(pod, &event.occurrence); v.strategy > best.strategy {
			best = v
		}
	}
	return best
}

// target returns the pod that a wildcard event is meant for, if it is not for all.
func (o *occurrence) target() (uid types.UID, targeted bool) {
	if o.newObj == nil {
		return "", false
	}
	if pod, ok := o.newObj.(*v1.Pod); ok && pod != nil {
		return pod.UID, true
	}
	return "", true
}
