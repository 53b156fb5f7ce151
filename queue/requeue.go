// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import "k8s.io/klog/v2"

// requeue puts a pod where a verdict sends it, and returns that pool. The pod must not be in the active or backoff heap
// before, and is no longer the caller's afterwards if it can be popped from there. It needs mu.
func (q *Queue) requeue(pod *queuedPod, cause string, verdict verdict) Pool {
	to, newRejector := q.destination(pod, verdict.strategy)
	q.place(pod, to, PodMove{
		Cause: cause, Plugin: verdict.plugin, Strategy: verdict.strategy, NewRejector: newRejector,
	})
	return to
}

// destination returns the pool to which a strategy sends a pod, and the plugin that turned it away on the way if that
// is the first time it did. Gates are asked where pods become poppable: on the way into backoff if they can be popped
// from there, otherwise into the active pool.
func (q *Queue) destination(pod *queuedPod, strategy Strategy) (to Pool, newRejector string) {
	switch strategy {
	case Skip:
		return PoolUnschedulable, ""
	case AfterBackoff:
		if pod.BackoffExpiration.IsZero() {
			pod.BackoffExpiration = q.backoffExpiration(pod.QueuedPodInfo)
		}
		if q.backingOff(pod.QueuedPodInfo, q.clock.Now()) {
			to = PoolBackoff
			break
		}
		to = PoolActive
	case Immediately:
		to = PoolActive
	}
	if q.popFromBackoff && pod.pool == PoolBackoff || !q.popFromBackoff && to == PoolBackoff {
		return to, ""
	}
	if newRejector = q.askGates(pod); pod.Gated() {
		to = PoolGated
	}
	return to, newRejector
}

// place moves a pod from the pool that it is in, or was taken out of, to another. It needs mu.
func (q *Queue) place(pod *queuedPod, to Pool, move PodMove) {
	move.Pod, move.From, move.To = pod.QueuedPodInfo, pod.pool, to
	if move.From.waits() {
		q.unschedulable.remove(pod)
	}
	if !move.From.waits() || !to.waits() {
		q.order++
		pod.order = q.order
	}
	if to.waits() {
		q.unschedulable.add(pod)
	}
	now := q.clock.Now()

	q.readyMu.Lock()
	defer q.readyMu.Unlock()
	switch to {
	case PoolActive:
		if pod.InitialAttemptTimestamp == nil {
			pod.InitialAttemptTimestamp = new(now)
		}
		q.active.push(pod)
		q.becamePoppable = true
	case PoolBackoff:
		q.backoffHeap(pod).push(pod)
		q.becamePoppable = q.becamePoppable || q.popFromBackoff
	}
	q.pods[pod.key()] = pod
	if move.From != to {
		pod.pool, pod.since = to, now
	}
	if move.From != to || move.NewRejector != "" {
		q.observeMove(move)
	}
}

// observeMove needs readyMu.
func (q *Queue) observeMove(move PodMove) {
	if logger := q.logger.V(5); logger.Enabled() {
		logger.Info("Pod moved", "pod", klog.KObj(move.Pod.Pod), "from", move.From, "to", move.To, "cause", move.Cause,
			"plugin", move.Plugin, "strategy", move.Strategy)
	}
	if q.observer != nil {
		q.observer.PodMoved(move)
	}
}

// take takes a pod out of its heap, so that it can be changed without being popped; it stays in the queue and is to be
// placed anew. It needs mu and readyMu, and a pod of the active or backoff pool.
func (q *Queue) take(pod *queuedPod) {
	if pod.pool == PoolActive {
		q.active.remove(pod)
		return
	}
	q.backoffHeap(pod).remove(pod)
}
