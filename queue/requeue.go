// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"slices"
	"time"

	"k8s.io/klog/v2"
)

// requeue puts a pod where a verdict sends it, and returns that pool. The pod must not be in the active or backoff heap
// before, and is no longer the caller's afterwards if it can be popped from there. It needs mu.
func (q *Queue) requeue(pod *queuedPod, cause string, worth verdict) Pool {
	pod.wake = worth
	q.requeueBatch([]*queuedPod{pod}, cause)
	return q.moves[0].To
}

// requeueAll is requeue for many pods, in their order, by what their wake fields say.
func (q *Queue) requeueAll(pods []*queuedPod, cause string) {
	for batch := range slices.Chunk(pods, q.maxBatch) {
		q.requeueBatch(batch, cause)
	}
}

func (q *Queue) requeueBatch(pods []*queuedPod, cause string) {
	now := q.clock.Now()
	moves := q.moves[:0]
	q.fetch(pods)
	gatesAsked := now
	for _, pod := range pods {
		to, newRejector := q.destination(pod, now, &gatesAsked)
		moves = append(moves, PodMove{
			Pod: pod.QueuedPodInfo, From: pod.pool, To: to, Cause: cause,
			Plugin: pod.wake.plugin, Strategy: pod.wake.strategy, NewRejector: newRejector,
		})
		pod.wake = verdict{}
	}
	for i, pod := range pods {
		q.wait(pod, moves[i].To)
	}
	q.moves = moves

	q.readyMu.Lock()
	defer q.readyMu.Unlock()
	for i, pod := range pods {
		q.place(pod, moves[i].To, now)
	}
	q.observeMoves(moves)
}

// fetch reads what gates and the order of pods are about to read of many pods. These rarely are in the caches of the
// processor, and one after another without anything between, it can wait for several of them at a time: this takes a
// third off the time of waking many.
func (q *Queue) fetch(pods []*queuedPod) {
	sum := 0
	for _, pod := range pods {
		spec := &pod.Pod.Spec
		sum += len(pod.Pod.UID) + len(spec.SchedulingGates)
		if spec.Priority != nil {
			sum += int(*spec.Priority)
		}
	}
	q.fetched = sum
}

// destination returns the pool to which the strategy in its wake field sends a pod, and the plugin that turned it away
// on the way if that is the first time it did. Gates are asked where pods become poppable: on the way into backoff if
// they can be popped from there, otherwise into the active pool.
func (q *Queue) destination(pod *queuedPod, now time.Time, gatesAsked *time.Time) (to Pool, newRejector string) {
	switch pod.wake.strategy {
	case Skip:
		return PoolUnschedulable, ""
	case AfterBackoff:
		if pod.BackoffExpiration.IsZero() {
			pod.BackoffExpiration = q.backoffExpiration(pod.QueuedPodInfo)
		}
		if q.backingOff(pod.QueuedPodInfo, now) {
			to = PoolBackoff
			break
		}
		pod.poppedEarly = false
		to = PoolActive
	case Immediately:
		to = PoolActive
	}
	if q.popFromBackoff && pod.pool == PoolBackoff || !q.popFromBackoff && to == PoolBackoff {
		return to, ""
	}
	if newRejector = q.askGates(pod, gatesAsked); pod.Gated() {
		to = PoolGated
	}
	return to, newRejector
}

// wait does what a move to another pool, or to the same, means to the pods that wait for an event. It needs mu.
func (q *Queue) wait(pod *queuedPod, to Pool) {
	waited, waits := pod.pool.waits(), to.waits()
	if waited && waits {
		q.unschedulable.renew(pod)
		return
	}
	if waited {
		q.unschedulable.remove(pod)
	}
	q.order++
	pod.order = q.order
	if waits {
		q.unschedulable.add(pod)
	}
}

// place puts a pod into the heap of the pool that it moves to, if it has one. It needs readyMu.
func (q *Queue) place(pod *queuedPod, to Pool, now time.Time) {
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
	if pod.pool == PoolNone || pod.pool == PoolInFlight {
		q.pods[pod.key()] = pod
	}
	if pod.pool != to {
		pod.pool, pod.since = to, now
	}
}

// observeMoves tells of the moves that made a difference. It needs readyMu.
func (q *Queue) observeMoves(moves []PodMove) {
	logs := q.logger.V(5).Enabled()
	if q.batchObserver != nil && len(moves) > 1 && !logs {
		told := moves[:0]
		for _, move := range moves {
			if move.changed() {
				told = append(told, move)
			}
		}
		if len(told) > 0 {
			q.batchObserver.PodsMoved(told)
		}
		return
	}
	if q.observer == nil && !logs {
		return
	}
	for i := range moves {
		if moves[i].changed() {
			q.observeMove(moves[i])
		}
	}
}

// changed tells whether a move is one: the pod changed its pool, or has a rejector more.
func (m *PodMove) changed() bool { return m.From != m.To || m.NewRejector != "" }

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
