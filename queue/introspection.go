// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// EventCost is what one event, or several, made the queue do.
type EventCost struct {
	// Classes is of how many classes of pods a hint was asked.
	Classes int
	// Pods is how many pods were looked at: one of each class that stays, all of those that a hint asks for, and those
	// that a wildcard is for.
	Pods int
	// Woken is how many pods woke, those included that a PreEnqueue plugin gated again.
	Woken int
}

func (c *EventCost) add(cost EventCost) {
	c.Classes += cost.Classes
	c.Pods += cost.Pods
	c.Woken += cost.Woken
}

// count needs mu.
func (q *Queue) count(cost EventCost) {
	q.eventCount++
	q.lastEvent = cost
	q.allEvents.add(cost)
}

// Stats is how many pods are where, and what events cost.
type Stats struct {
	// InFlight are the pods in flight that events still count for; [Queue.DoneWithEvents] ends that.
	Active, Backoff, Unschedulable, Gated, InFlight int
	// InFlightEvents is how many events are kept for pods in flight.
	InFlightEvents int
	// SchedulingCycles is how many pods were popped.
	SchedulingCycles int64
	// Events is how many events some plugin waited for. LastEvent is what the last of them cost, AllEvents what all of
	// them did.
	Events               int64
	LastEvent, AllEvents EventCost
}

// Stats returns how many pods are where, and what events cost.
func (q *Queue) Stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.readyMu.Lock()
	defer q.readyMu.Unlock()
	return Stats{
		Active:           q.active.len(),
		Backoff:          q.backoff.len() + q.fullBackoff.len(),
		Unschedulable:    q.unschedulable.len() - q.unschedulable.gated,
		Gated:            q.unschedulable.gated,
		InFlight:         len(q.inFlight.pods) - q.inFlight.doneWithEvents,
		InFlightEvents:   q.inFlight.length,
		SchedulingCycles: q.cycles,
		Events:           q.eventCount,
		LastEvent:        q.lastEvent,
		AllEvents:        q.allEvents,
	}
}

// PendingPods returns the pods in the queue, active ones first, then those that back off, then those that wait for an
// event, each in the order in which they came there; and a summary of how many they are. Pods in flight are not among
// them.
func (q *Queue) PendingPods() ([]*v1.Pod, string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.readyMu.Lock()
	defer q.readyMu.Unlock()
	rank := map[Pool]int{PoolActive: 1, PoolBackoff: 2, PoolUnschedulable: 3, PoolGated: 3}
	queued := slices.SortedFunc(maps.Values(q.pods), func(a, b *queuedPod) int {
		return cmp.Or(cmp.Compare(rank[a.pool], rank[b.pool]), cmp.Compare(a.order, b.order))
	})
	pods := make([]*v1.Pod, len(queued))
	for i, pod := range queued {
		pods[i] = pod.Pod
	}
	return pods, fmt.Sprintf("activeQ:%v; backoffQ:%v; unschedulableEntities:%v",
		q.active.len(), q.backoff.len()+q.fullBackoff.len(), q.unschedulable.len())
}

// PodStatus is where a pod is and why.
type PodStatus struct {
	Pool Pool
	// Since is when the pod came into the pool.
	Since time.Time
	// Attempts is how many times the pod was popped.
	Attempts int
	// The rest is unknown while a pod is in flight.

	// Pod is the version that the queue has.
	Pod *v1.Pod
	// UnschedulablePlugins and PendingPlugins are the plugins that rejected the pod in its last attempt, or gate it, by name.
	UnschedulablePlugins, PendingPlugins []string
	// GatingPlugin is the plugin that keeps the pod out; empty if none does.
	GatingPlugin string
	// BackoffExpiration is when the backoff since the last attempt ends or ended; zero if there was none.
	BackoffExpiration time.Time
	// UnschedulableTimeoutAt is when the pod is tried again even if no event happens; zero unless it waits for one.
	UnschedulableTimeoutAt time.Time
	// WasFlushed is set if the pod waited that long since its last attempt, which means that a hint missed an event,
	// or none happened.
	WasFlushed bool
}

// Lookup returns where a pod is and why; false if it is neither in the queue nor in
// flight, and for a pod in flight after [Queue.DoneWithEvents].
func (q *Queue) Lookup(namespace, name string) (PodStatus, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.readyMu.Lock()
	defer q.readyMu.Unlock()
	key := podKey(namespace, name)
	if pod := q.pods[key]; pod != nil {
		return q.status(pod), true
	}
	for _, pod := range q.inFlight.pods {
		if pod.key == key && !pod.doneWithEvents {
			return PodStatus{Pool: PoolInFlight, Since: pod.since, Attempts: pod.attempts}, true
		}
	}
	return PodStatus{}, false
}

func (q *Queue) status(pod *queuedPod) PodStatus {
	status := PodStatus{
		Pool:                 pod.pool,
		Since:                pod.since,
		Attempts:             pod.Attempts,
		Pod:                  pod.Pod,
		UnschedulablePlugins: sets.List(pod.UnschedulablePlugins),
		PendingPlugins:       sets.List(pod.PendingPlugins),
		GatingPlugin:         pod.GatingPlugin,
		BackoffExpiration:    q.backoffExpiration(pod.QueuedPodInfo),
		WasFlushed:           pod.WasFlushedFromUnschedulable,
	}
	if pod.pool.waits() {
		status.UnschedulableTimeoutAt = q.waitEnd(pod)
	}
	return status
}
