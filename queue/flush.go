// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"context"
	"time"

	"github.com/rouse-scheduler/rouse/framework"
)

const (
	backoffFlushInterval       = time.Second
	unschedulableFlushInterval = 30 * time.Second
)

// Run starts what moves pods as time passes, in real time: [Queue.FlushBackoff] every second and
// [Queue.FlushUnschedulable] every half minute, until the context is cancelled. It returns at once. With a virtual clock,
// call the two instead, at the instants that [Queue.NextFlush] tells.
func (q *Queue) Run(ctx context.Context) {
	go func() {
		for sleep(ctx, q.untilBackoffFlush()) {
			q.FlushBackoff()
		}
	}()
	go func() {
		q.FlushUnschedulable()
		for sleep(ctx, unschedulableFlushInterval) {
			q.FlushUnschedulable()
		}
	}()
}

// untilBackoffFlush aims at the beginning of a window, where windows apply, so that they are flushed whole.
func (q *Queue) untilBackoffFlush() time.Duration {
	if !q.popFromBackoff {
		return backoffFlushInterval
	}
	now := q.clock.Now()
	return now.Truncate(backoffFlushInterval).Add(backoffFlushInterval).Sub(now)
}

// sleep reports whether it was not interrupted.
func sleep(ctx context.Context, duration time.Duration) bool {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}

// FlushBackoff moves the pods whose backoff is over to the active pool (kube-scheduler: flushBackoffQCompleted).
func (q *Queue) FlushBackoff() {
	q.mu.Lock()
	defer q.unlock()
	now := q.clock.Now()
	for batch := q.takeExpired(now); len(batch) > 0; batch = q.takeExpired(now) {
		q.placeBatch(batch, CauseBackoffComplete)
	}
}

// takeExpired takes some pods whose backoff is over out of their heaps, to be requeued, none if there are no more. It
// needs mu.
func (q *Queue) takeExpired(now time.Time) []*queuedPod {
	q.readyMu.Lock()
	defer q.readyMu.Unlock()
	var completed []*queuedPod
	for _, heap := range []*podHeap{&q.backoff, &q.fullBackoff} {
		pod := heap.first()
		for ; pod != nil && len(completed) < q.maxBatch && !q.backingOff(pod.QueuedPodInfo, now); pod = heap.first() {
			heap.remove(pod)
			pod.poppedEarly = false
			pod.decision = decision{strategy: Immediately}
			completed = append(completed, pod)
		}
	}
	return completed
}

// FlushUnschedulable wakes the pods that have waited for an event for too long. For gated pods the PreEnqueue plugins run
// again; those still gated wait as long once more.
func (q *Queue) FlushUnschedulable() {
	q.mu.Lock()
	defer q.unlock()
	now := q.clock.Now()
	var due []*queuedPod
	waiting := &q.unschedulable.byAge
	for pod := waiting.first; pod != nil && now.Sub(pod.waitingSince()) > q.maxInUnschedulable; pod = waiting.first {
		pod.WasFlushedFromUnschedulable, pod.FlushTimestamp = true, now
		waiting.fix(pod)
		pod.decision = decision{strategy: AfterBackoff}
		due = append(due, pod)
	}
	if len(due) == 0 {
		return
	}
	event := q.events.newEvent(framework.EventUnschedulableTimeout(), nil, nil)
	q.wake(due, event.label())
	q.count(EventCost{Pods: len(due), Woken: len(due)})
	q.record(event, "")
}

// NextBackoffFlush returns the first instant at which [Queue.FlushBackoff] has something to do; false if no pod backs off.
func (q *Queue) NextBackoffFlush() (time.Time, bool) {
	q.readyMu.Lock()
	defer q.readyMu.Unlock()
	var next time.Time
	for _, heap := range []*podHeap{&q.backoff, &q.fullBackoff} {
		if pod := heap.first(); pod != nil {
			next = earliest(next, q.backoffEnd(pod.QueuedPodInfo))
		}
	}
	return next, !next.IsZero()
}

// NextUnschedulableFlush returns the first instant at which [Queue.FlushUnschedulable] has something to do; false if no
// pod waits for an event.
func (q *Queue) NextUnschedulableFlush() (time.Time, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	pod := q.unschedulable.byAge.first
	if pod == nil {
		return time.Time{}, false
	}
	return q.waitEnd(pod), true
}

// waitEnd returns the first instant at which a pod has waited for an event for too long.
func (q *Queue) waitEnd(pod *queuedPod) time.Time {
	return pod.waitingSince().Add(q.maxInUnschedulable + time.Nanosecond)
}

// earliest returns the earlier of two instants, of which zero ones do not count.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
