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
	var m memories
	start := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	const failures = 5*maxFailures + maxFailures/2
	for i := range failures {
		m.fail(uid(i), &failedAttempt{at: start})
	}
	if remembered := len(m.failed) + len(m.before); remembered > 2*maxFailures {
		t.Errorf("%d failures are remembered, want at most %d", remembered, 2*maxFailures)
	}
	for i := failures - maxFailures; i < failures; i++ {
		if m.failed[uid(i)] == nil && m.before[uid(i)] == nil {
			t.Fatalf("failure %d of %d is forgotten, want the last %d remembered", i, failures, maxFailures)
		}
	}
	for i := range maxAsked + 1 {
		m.ask(uid(i), start.Add(time.Duration(i)))
	}
	pods := func(yield func(*v1.Pod) bool) {
		for i := range maxAsked + 1 {
			if !yield(&v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid(i)}}) {
				return
			}
		}
	}
	later := start.Add(time.Minute)
	m.hear(later, pods, Heard{Event: "NodeAdd"})
	if heard := m.ask(uid(maxAsked), later).heard; len(heard) != 1 {
		t.Errorf("the pod asked about last heard %v, want one event", heard)
	}
	if len(m.asked) != maxAsked {
		t.Errorf("%d pods are watched, want %d", len(m.asked), maxAsked)
	}
	if heard := m.ask(uid(0), later).heard; len(heard) > 0 {
		t.Errorf("the pod asked about first heard %v, want it to be forgotten", heard)
	}
	if m.hear(later.Add(askedFor+1), slices.Values([]*v1.Pod{}), Heard{}); m.asking() {
		t.Errorf("pods are watched although nobody asked for %v", askedFor)
	}
}

func TestWokenBy(t *testing.T) {
	m := memory{heard: []Heard{{Event: "NodeAdd", Answer: AnswerQueue}, {Event: "NodeUpdateNodeLabel", Answer: AnswerError}, {Event: "PodDelete", Answer: AnswerSkip}}}
	if got := m.wokenBy(); got != "NodeUpdateNodeLabel" {
		t.Errorf("woken by %q, want the last event that was not skipped", got)
	}
	if got := (&memory{}).wokenBy(); got != "" {
		t.Errorf("woken by %q, want nothing", got)
	}
}
