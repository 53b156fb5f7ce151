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
	// maxFailures is how many pods' failed attempts are remembered at least, if there are as many.
	maxFailures = 8192
	// maxAsked is for how many pods that somebody asked about events are remembered, and askedFor how long since they
	// did so last.
	maxAsked = 64
	askedFor = 10 * time.Minute
)

// memories are what is remembered of the pods of a scheduler. The zero value remembers nothing yet. It is safe for
// concurrent use.
type memories struct {
	// watching tells that asked has pods. While it has none, which is nearly always, events cost nothing.
	watching atomic.Bool

	mu sync.Mutex
	// failed are the last failures, and before those that came earlier, which are forgotten when failed is full.
	failed, before map[types.UID]*failedAttempt
	asked          map[types.UID]*askedPod
	lastAsked      time.Time
}

// askedPod is a pod that somebody asked about.
type askedPod struct {
	memory
	last time.Time
}

// fail remembers what an attempt came to.
func (m *memories) fail(pod types.UID, failed *failedAttempt) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failed == nil || len(m.failed) >= maxFailures {
		m.failed, m.before = make(map[types.UID]*failedAttempt), m.failed
	}
	m.failed[pod] = failed
}

// ask returns what is remembered of a pod, and has more of it be remembered from now on.
func (m *memories) ask(pod types.UID, now time.Time) memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.asked, func(_ types.UID, known *askedPod) bool { return now.Sub(known.last) > askedFor })
	known := m.asked[pod]
	if known == nil {
		known = &askedPod{memory: memory{heardSince: now}}
		m.watch(pod, known)
	}
	known.last, m.lastAsked = now, now
	answer := known.memory
	answer.heard = append([]Heard{}, known.heard...)
	if answer.failed = m.failed[pod]; answer.failed == nil {
		answer.failed = m.before[pod]
	}
	return answer
}

// watch adds a pod about which somebody asks; if that is one too many, that about which nobody asked for longest goes. It
// needs mu.
func (m *memories) watch(pod types.UID, known *askedPod) {
	if len(m.asked) >= maxAsked {
		delete(m.asked, slices.MinFunc(slices.Collect(maps.Keys(m.asked)), func(a, b types.UID) int {
			return m.asked[a].last.Compare(m.asked[b].last)
		}))
	}
	if m.asked == nil {
		m.asked = map[types.UID]*askedPod{}
	}
	m.asked[pod] = known
	m.watching.Store(true)
}

// asking tells whether anybody asked about a pod lately.
func (m *memories) asking() bool { return m.watching.Load() }

// hear remembers an event for those of the pods about which somebody asked.
func (m *memories) hear(now time.Time, pods iter.Seq[*v1.Pod], heard Heard) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now.Sub(m.lastAsked) > askedFor {
		m.asked = nil
		m.watching.Store(false)
		return
	}
	heard.At = timeOfDay(now)
	for pod := range pods {
		if known := m.asked[pod.UID]; known != nil {
			known.hear(heard)
		}
	}
}
