// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"iter"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// maxFailures is for how many pods at least the last failed attempt is kept, if there are as many.
	maxFailures = 8192
	// maxRequested is for how many requested pods events are recorded, and requestedFor for how long after the last request.
	maxRequested = 64
	requestedFor = 10 * time.Minute
)

// podHistories are the histories of the pods of a scheduler. The zero value is empty. It is safe for concurrent use.
type podHistories struct {
	// recordingEvents is true while requested has pods. While it has none, which is nearly always, events cost nothing.
	recordingEvents atomic.Bool

	mu sync.Mutex
	// failed are the last failures, and before those that came earlier, which are forgotten when failed is full.
	failed, before map[types.UID]*failedAttempt
	requested      map[types.UID]*requestedPod
	lastRequested  time.Time
}

// requestedPod is a pod of which an explanation was requested.
type requestedPod struct {
	podHistory
	last time.Time
}

// addFailure keeps a failed attempt.
func (h *podHistories) addFailure(pod types.UID, failed *failedAttempt) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failed == nil || len(h.failed) >= maxFailures {
		h.failed, h.before = make(map[types.UID]*failedAttempt), h.failed
	}
	h.failed[pod] = failed
}

// get returns the history of a pod, and records its events from now on.
func (h *podHistories) get(pod types.UID, now time.Time) podHistory {
	h.mu.Lock()
	defer h.mu.Unlock()
	maps.DeleteFunc(h.requested, func(_ types.UID, known *requestedPod) bool { return now.Sub(known.last) > requestedFor })
	known := h.requested[pod]
	if known == nil {
		known = &requestedPod{podHistory: podHistory{eventsSince: now}}
		h.add(pod, known)
	}
	known.last, h.lastRequested = now, now
	answer := known.podHistory
	answer.events = append([]RecentEvent{}, known.events...)
	if answer.failed = h.failed[pod]; answer.failed == nil {
		answer.failed = h.before[pod]
	}
	return answer
}

// add adds a requested pod in place of the one whose last request is the oldest, if there are too many. It needs mu.
func (h *podHistories) add(pod types.UID, known *requestedPod) {
	if len(h.requested) >= maxRequested {
		delete(h.requested, slices.MinFunc(slices.Collect(maps.Keys(h.requested)), func(a, b types.UID) int {
			return h.requested[a].last.Compare(h.requested[b].last)
		}))
	}
	if h.requested == nil {
		h.requested = map[types.UID]*requestedPod{}
	}
	h.requested[pod] = known
	h.recordingEvents.Store(true)
}

// recording reports whether events are recorded.
func (h *podHistories) recording() bool { return h.recordingEvents.Load() }

// addEvent records an event for those of the pods that were requested.
func (h *podHistories) addEvent(now time.Time, pods iter.Seq[*v1.Pod], event RecentEvent) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if now.Sub(h.lastRequested) > requestedFor {
		h.requested = nil
		h.recordingEvents.Store(false)
		return
	}
	event.At = timeOfDay(now)
	for pod := range pods {
		if known := h.requested[pod.UID]; known != nil {
			known.addEvent(event)
		}
	}
}
