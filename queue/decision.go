// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
)

// Strategy says when a waiting pod is tried again because of an event.
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

// decision is when an event has a pod tried again, and the plugin whose hint asked for it; the plugin is empty if no hint
// decided. The zero value leaves the pod where it is.
type decision struct {
	strategy Strategy
	plugin   string
}

// final reports whether no other plugin can improve on the decision.
func (d decision) final(pod *queuedPod) bool {
	return d.strategy == Immediately || d.strategy == AfterBackoff && len(pod.PendingPlugins) == 0
}

// decisionOf is the decision when the hint of a plugin asks for a pod that the plugin rejected.
func decisionOf(pod *queuedPod, plugin string) decision {
	if pod.PendingPlugins.Has(plugin) {
		return decision{Immediately, plugin}
	}
	return decision{AfterBackoff, plugin}
}

// decide runs the hints of the plugins that rejected a pod and registered the event (kube-scheduler: isPodWorthRequeuing).
// It needs mu.
func (q *Queue) decide(pod *queuedPod, event *clusterEvent) decision {
	if !pod.rejected() {
		return decision{strategy: AfterBackoff}
	}
	if event.interested.wildcard {
		if target, targeted := event.target(); targeted && target != pod.Pod.UID {
			return decision{}
		}
		return decision{strategy: AfterBackoff}
	}
	interested := event.interested.ofProfile(pod.profile())
	if interested == nil {
		q.logger.Error(nil, "No profile has the scheduler name of the pod, which is tried again after its backoff",
			"pod", klog.KObj(pod.Pod), "schedulerName", pod.profile())
		return decision{strategy: AfterBackoff}
	}
	var best decision
	for _, waiting := range interested.plugins {
		if !pod.rejectedBy(waiting.plugin) {
			continue
		}
		for _, registered := range waiting.hints {
			if !q.runHint(waiting.plugin, registered.hint, event, pod, nil) {
				continue
			}
			if v := decisionOf(pod, waiting.plugin); v.strategy > best.strategy {
				best = v
			}
			if best.final(pod) {
				return best
			}
		}
	}
	return best
}

// decideAfterAttempt decides for a pod that is given back, by the events that happened while it was in flight, and restores
// whether it was popped early. The pod becomes what it was last updated
// to; gone is set if it was deleted. It needs mu, which keeps the log from growing.
func (q *Queue) decideAfterAttempt(pod *queuedPod) (_ decision, gone bool) {
	q.readyMu.Lock()
	entry := q.inFlight.pods[pod.Pod.UID]
	q.readyMu.Unlock()
	if entry != nil {
		pod.poppedEarly = entry.poppedEarly
		if entry.latest != nil {
			pod.PodInfo = entry.latest
		}
		if entry.gone {
			return decision{}, true
		}
	}
	if !pod.rejected() {
		return decision{strategy: AfterBackoff}, false
	}
	if entry == nil {
		q.logger.Error(nil, "A pod that is not in flight was given back; it is tried again after its backoff", "pod", klog.KObj(pod.Pod))
		return decision{strategy: AfterBackoff}, false
	}
	if entry.before == nil {
		return decision{strategy: AfterBackoff}, false
	}
	var best decision
	for event := entry.before.next; event != nil && !best.final(pod); event = event.next {
		if event.onlyFor != "" && event.onlyFor != pod.Pod.UID {
			continue
		}
		if v := q.decide(pod, &event.clusterEvent); v.strategy > best.strategy {
			best = v
			pod.poppedEarly = pod.poppedEarly && !event.allowsEarlyPop()
		}
	}
	return best, false
}

// target returns the pod that a wildcard event is meant for, if it is not for all.
func (e *clusterEvent) target() (uid types.UID, targeted bool) {
	if e.newObj == nil {
		return "", false
	}
	if pod, ok := e.newObj.(*v1.Pod); ok && pod != nil {
		return pod.UID, true
	}
	return "", true
}
