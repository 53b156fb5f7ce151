// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/rouse-scheduler/rouse/queue"
	"github.com/rouse-scheduler/rouse/scheduler"
)

var (
	_ scheduler.Observer = schedulerObserverPair{}
	_ queue.Observer     = queueObserverPair{}
)

// schedulerObservers returns an observer that tells both, the second only if it is not nil.
func schedulerObservers(first, second scheduler.Observer) scheduler.Observer {
	if second == nil {
		return first
	}
	return schedulerObserverPair{first, second}
}

type schedulerObserverPair struct{ first, second scheduler.Observer }

// AttemptStarted implements scheduler.Observer.
func (p schedulerObserverPair) AttemptStarted(pod *corev1.Pod, attempt int) {
	p.first.AttemptStarted(pod, attempt)
	p.second.AttemptStarted(pod, attempt)
}

// AttemptFailed implements scheduler.Observer.
func (p schedulerObserverPair) AttemptFailed(failure scheduler.Failure) {
	p.first.AttemptFailed(failure)
	p.second.AttemptFailed(failure)
}

// PodBound implements scheduler.Observer.
func (p schedulerObserverPair) PodBound(pod *corev1.Pod, nodeName string) {
	p.first.PodBound(pod, nodeName)
	p.second.PodBound(pod, nodeName)
}

// queueObservers returns an observer that tells both, the second only if it is not nil.
func queueObservers(first, second queue.Observer) queue.Observer {
	if second == nil {
		return first
	}
	return queueObserverPair{first, second}
}

type queueObserverPair struct{ first, second queue.Observer }

// PodMoved implements queue.Observer.
func (p queueObserverPair) PodMoved(move queue.PodMove) {
	p.first.PodMoved(move)
	p.second.PodMoved(move)
}

// HintEvaluated implements queue.Observer.
func (p queueObserverPair) HintEvaluated(result queue.HintResult) {
	p.first.HintEvaluated(result)
	p.second.HintEvaluated(result)
}

// InFlightEvents implements queue.Observer.
func (p queueObserverPair) InFlightEvents(event string, delta int) {
	p.first.InFlightEvents(event, delta)
	p.second.InFlightEvents(event, delta)
}
