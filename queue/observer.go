// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"iter"
	"time"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// Observer is told what happens in a queue, for traces and metrics. Embed [NopQueueObserver] to be told only some of it.
//
// Its methods run with locks of the queue held: they must be quick, must not call the queue, and must not keep or
// change what they are given beyond the pods themselves, which are immutable. Calls of PodMoved and InFlightEvents are
// made one at a time, and in the order in which things happened; so are those of HintEvaluated, PreEnqueueRan and
// EventNarrowed among themselves, but a pod can be popped meanwhile.
type Observer interface {
	// PodMoved is called for every change of pool, and when a PreEnqueue plugin became one more rejector of a pod that did
	// not move. It is what metrics of the pods in pools (pending_pods) are derived from, and of those that come in
	// (queue_incoming_pods_total), for which [PoolUnschedulable] and [PoolGated] are one. The end of a flight without a
	// return is not a move.
	PodMoved(PodMove)
	// HintEvaluated is called for every answer of a queueing hint.
	HintEvaluated(HintResult)
	// PreEnqueueRan is called when the PreEnqueue plugins of a pod were asked until one rejected it, if there are any. The
	// rejector is that one; it is empty if all of them let the pod in.
	PreEnqueueRan(profile, rejector string, duration time.Duration)
	// EventNarrowed is called when a PreQueueingHintFn was asked which pods an event is about; narrowed is false if it
	// said all, or failed.
	EventNarrowed(plugin string, narrowed bool)
	// InFlightEvents is called with the label of an event and +1 when the event is kept for pods in flight, and with -1
	// when no pod needs it any more; and likewise with [CausePopped] for every pod that is popped, and is no longer in
	// flight.
	InFlightEvents(event string, delta int)
}

// BatchObserver is an [Observer] that can be told of many moves at once, which costs less. Pods that are woken together
// come to PodsMoved some at a time, in their order, and not to PodMoved. The slice is only valid during the call.
type BatchObserver interface {
	Observer
	PodsMoved([]PodMove)
}

// Labels of causes in [PodMove] that are not events of the cluster.
const (
	// CauseAdded is a pod that is new to the queue.
	CauseAdded = "UnscheduledPodAdd"
	// CauseDeleted is a pod that left the queue because it was deleted, got a node, or gave way to another of its name.
	CauseDeleted = "UnscheduledPodDelete"
	// CauseAttemptFailed is a pod that was given back.
	CauseAttemptFailed = "ScheduleAttemptFailure"
	// CauseBackoffComplete is a pod that waited long enough since its last attempt.
	CauseBackoffComplete = "BackoffComplete"
	// CausePopFromBackoff is a pod that is popped before its backoff ended because no other pod was to be tried, for the
	// first time since a backoff of it ended. It moves to the active pool with this cause, and in flight at once.
	CausePopFromBackoff = "PopFromBackoffQ"
	// CausePopped is a pod that was popped.
	CausePopped = "PodPopped"
	// CauseAlreadyInFlight is a pod that was dropped on its way out, because it is in flight already.
	CauseAlreadyInFlight = "AlreadyInFlight"
)

// PodMove is a change of pool.
type PodMove struct {
	// Pod is the queue's own record, as it is after the move.
	Pod *framework.QueuedPodInfo
	// From and To are equal if only the rejectors changed. From is [PoolNone] for new pods, To for those that leave.
	From, To Pool
	// Cause is the label of the event that moved the pod, or one of the causes above.
	Cause string
	// Plugin is the plugin whose hint decided, if one did, and Strategy when the pod is tried again.
	Plugin   string
	Strategy Strategy
	// Reason is what the PreEnqueue plugin said that gates the pod; empty for other pools, and if it said nothing.
	Reason string
	// NewRejector is the plugin that gates the pod if it had not rejected it before. A gauge of pods by rejector goes
	// up for it, goes up for every rejector of a pod that comes from [PoolNone] or [PoolInFlight] instead, and goes
	// down for every rejector of one that goes there.
	NewRejector string
}

// HintResult is one answer of a queueing hint.
type HintResult struct {
	// Profile and Plugin say whose hint it is.
	Profile, Plugin string
	// Event is the label of the event.
	Event string
	// Hint is the answer. It is fwk.Queue if Err is not nil, which is also how a hint that panics is counted.
	Hint fwk.QueueingHint
	Err  error
	// Duration is how long the hint took by the clock of the queue.
	Duration time.Duration
	// Pods are those that the answer holds for; only valid during the call.
	Pods iter.Seq[*v1.Pod]
}
