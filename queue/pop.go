// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/rouse-scheduler/rouse/framework"
)

// Pop takes the pod that is to be tried next, and waits until there is one. The pod is in flight from then on, and must
// either be given back with [Queue.AddUnschedulable] or be reported with [Queue.Done]. The error is [ErrClosed], once
// the queue is closed and empty of pods to be tried.
func (q *Queue) Pop() (*framework.QueuedPodInfo, error) {
	q.readyMu.Lock()
	defer q.readyMu.Unlock()
	for {
		if info := q.pop(); info != nil {
			return info, nil
		}
		if q.closed {
			return nil, ErrClosed
		}
		q.ready.Wait()
	}
}

// TryPop is [Queue.Pop] without the wait: it returns nil if there is no pod to be tried.
func (q *Queue) TryPop() *framework.QueuedPodInfo {
	q.readyMu.Lock()
	defer q.readyMu.Unlock()
	return q.pop()
}

// pop needs readyMu.
func (q *Queue) pop() *framework.QueuedPodInfo {
	for {
		pod := q.next()
		if pod == nil {
			return nil
		}
		delete(q.pods, pod.key())
		if q.inFlight.has(pod.Pod.UID) {
			q.logger.Error(nil, "A pod to be tried is in flight already, and dropped", "pod", klog.KObj(pod.Pod))
			q.leave(pod, PoolNone, CauseAlreadyInFlight)
			continue
		}
		pod.Attempts++
		q.cycles++
		q.inFlight.add(pod, q.clock.Now())
		q.leave(pod, PoolInFlight, CausePopped)
		return pod.QueuedPodInfo
	}
}

// next takes the first pod out of its heap: of the active ones, or else of those that back off, if that is allowed and was
// not done before with the pod since its last backoff that ended.
func (q *Queue) next() *queuedPod {
	if pod := q.active.first(); pod != nil {
		q.active.remove(pod)
		return pod
	}
	pod := q.backoff.first()
	if pod == nil || !q.popFromBackoff {
		return nil
	}
	q.backoff.remove(pod)
	pod.poppedEarly = true
	q.leave(pod, PoolActive, CausePopFromBackoff)
	return pod
}

func (q *Queue) leave(pod *queuedPod, to Pool, cause string) {
	q.observeMove(PodMove{Pod: pod.QueuedPodInfo, From: pod.pool, To: to, Cause: cause})
	pod.pool = to
}

// DoneWithEvents reports that a popped pod is past the point up to which events matter (kube-scheduler: Done, before
// PreBind). No more of them are kept for it, and if it comes back it is tried again after its backoff. It stays in flight until
// [Queue.Done] or [Queue.AddUnschedulable], so that an update of it does not put it into the queue meanwhile.
func (q *Queue) DoneWithEvents(uid types.UID) {
	q.readyMu.Lock()
	defer q.readyMu.Unlock()
	q.inFlight.endEvents(q.inFlight.pods[uid])
}

// Done reports that a popped pod will not come back. It does nothing for pods that are not in flight.
func (q *Queue) Done(uid types.UID) {
	q.readyMu.Lock()
	defer q.readyMu.Unlock()
	q.inFlight.done(uid)
}

// Close ends the queue: nothing is in flight any more, and Pop returns what there is left to be tried and then
// [ErrClosed] instead of waiting. It can be called more than once.
func (q *Queue) Close() {
	q.readyMu.Lock()
	defer q.readyMu.Unlock()
	q.inFlight.doneAll()
	q.closed = true
	q.ready.Broadcast()
}
