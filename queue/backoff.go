// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"time"

	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// backoffWindow is what ends of backoffs are rounded down to when pods can be popped from backoff, so that the
// priority of a pod counts among those whose backoffs end at about the same time.
const backoffWindow = time.Second

// backoffDuration is how long a pod waits after its last attempt: it doubles with every attempt, up to the longest.
// Errors in a row count on their own, because they protect the API server, while rejections protect other pods.
func (q *Queue) backoffDuration(info *framework.QueuedPodInfo) time.Duration {
	attempts := info.UnschedulableCount
	if info.ConsecutiveErrorsCount > 0 {
		attempts = info.ConsecutiveErrorsCount
	}
	if attempts == 0 || q.maxBackoff <= 0 {
		return 0
	}
	doublings := attempts - 1
	if q.initialBackoff > q.maxBackoff>>doublings {
		return q.maxBackoff
	}
	return q.initialBackoff << doublings
}

// backoffExpiration returns when the backoff of a pod ends; zero if it has none.
func (q *Queue) backoffExpiration(info *framework.QueuedPodInfo) time.Time {
	duration := q.backoffDuration(info)
	if duration == 0 {
		return time.Time{}
	}
	return q.backoffInstant(info.Timestamp.Add(duration))
}

// backoffInstant rounds down to the window, where windows apply.
func (q *Queue) backoffInstant(t time.Time) time.Time {
	if q.popFromBackoff {
		return t.Truncate(backoffWindow)
	}
	return t
}

// backingOff reports whether the backoff of a pod is still going on. It ends after its expiration, not with it.
func (q *Queue) backingOff(info *framework.QueuedPodInfo, now time.Time) bool {
	return !info.BackoffExpiration.IsZero() && !info.BackoffExpiration.Before(q.backoffInstant(now))
}

// backoffEnd returns the first instant at which a pod with a backoff is no longer backing off.
func (q *Queue) backoffEnd(info *framework.QueuedPodInfo) time.Time {
	if q.popFromBackoff {
		return info.BackoffExpiration.Add(backoffWindow)
	}
	return info.BackoffExpiration.Add(time.Nanosecond)
}

// backoffHeap returns the heap in which a pod backs off. From the other one than backoff, pods are never popped early. That
// is where those are that failed without a rejection, since an ailing API server must get its rest; and those that were
// popped early and that only the failures of others have woken since, because such pods would be tried as often as a
// processor can, forever.
func (q *Queue) backoffHeap(pod *queuedPod) *podHeap {
	if pod.rejected() && !pod.poppedEarly {
		return &q.backoff
	}
	return &q.fullBackoff
}

// comparing calls do, which compares pods with activeLess and can be called again if it does not return.
func (q *Queue) comparing(do func()) {
	q.withLess(func(less fwk.LessFunc) {
		before := q.less
		defer func() { q.less = before }() // also where a plugin ends the goroutine
		q.less = less
		do()
	})
}

func (q *Queue) activeLess(a, b *queuedPod) bool {
	if q.less(a.QueuedPodInfo, b.QueuedPodInfo) {
		return true
	}
	return a.order < b.order && !q.less(b.QueuedPodInfo, a.QueuedPodInfo)
}

func (q *Queue) backoffLess(a, b *queuedPod) bool {
	if !a.BackoffExpiration.Equal(b.BackoffExpiration) {
		return a.BackoffExpiration.Before(b.BackoffExpiration)
	}
	if q.popFromBackoff {
		return q.activeLess(a, b)
	}
	return a.order < b.order
}

func fullBackoffLess(a, b *queuedPod) bool {
	if !a.BackoffExpiration.Equal(b.BackoffExpiration) {
		return a.BackoffExpiration.Before(b.BackoffExpiration)
	}
	return a.order < b.order
}
