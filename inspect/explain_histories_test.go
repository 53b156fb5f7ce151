// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func uid(i int) types.UID { return types.UID(fmt.Sprint(i)) }

// TestMemoriesAreBounded has more pods fail, and more be asked about, than are remembered.
func TestMemoriesAreBounded(t *testing.T) {
	var m podHistories
	start := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	const failures = 5*maxFailures + maxFailures/2
	for i := range failures {
		m.addFailure(uid(i), &failedAttempt{at: start})
	}
	if remembered := len(m.failed) + len(m.before); remembered > 2*maxFailures {
		t.Errorf("%d failures are remembered, want at most %d", remembered, 2*maxFailures)
	}
	for i := failures - maxFailures; i < failures; i++ {
		if m.failed[uid(i)] == nil && m.before[uid(i)] == nil {
			t.Fatalf("failure %d of %d is forgotten, want the last %d remembered", i, failures, maxFailures)
		}
	}
	for i := range maxRequested + 1 {
		m.get(uid(i), start.Add(time.Duration(i)))
	}
	pods := func(yield func(*v1.Pod) bool) {
		for i := range maxRequested + 1 {
			if !yield(&v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid(i)}}) {
				return
			}
		}
	}
	later := start.Add(time.Minute)
	m.addEvent(later, pods, RecentEvent{Event: "NodeAdd"})
	if event := m.get(uid(maxRequested), later).events; len(event) != 1 {
		t.Errorf("recent events of the last requested pod are %v, want one event", event)
	}
	if len(m.requested) != maxRequested {
		t.Errorf("%d pods are watched, want %d", len(m.requested), maxRequested)
	}
	if event := m.get(uid(0), later).events; len(event) > 0 {
		t.Errorf("recent events of the first requested pod are %v, want it to be forgotten", event)
	}
	if m.addEvent(later.Add(requestedFor+1), slices.Values([]*v1.Pod{}), RecentEvent{}); m.recording() {
		t.Errorf("pods are recorded without a request for %v", requestedFor)
	}
}

func TestWokenBy(t *testing.T) {
	m := podHistory{events: []RecentEvent{{Event: "NodeAdd", Answer: AnswerQueue}, {Event: "NodeUpdateNodeLabel", Answer: AnswerError}, {Event: "PodDelete", Answer: AnswerSkip}}}
	if got := m.wokenBy(); got != "NodeUpdateNodeLabel" {
		t.Errorf("woken by %q, want the last event that was not skipped", got)
	}
	if got := (&podHistory{}).wokenBy(); got != "" {
		t.Errorf("woken by %q, want nothing", got)
	}
}
