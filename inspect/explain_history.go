// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"slices"
	"time"

	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/queue"
)

// podHistory is what cannot be read from a pod afterwards: the result of the last attempt, and the answers to events.
type podHistory struct {
	failed *failedAttempt // nil if none failed, or it is forgotten
	events []RecentEvent
	// eventsSince is since when events are recorded; zero if that is from the beginning.
	eventsSince time.Time
}

// wokenBy returns the last event that woke the pod; empty if none is recorded.
func (h *podHistory) wokenBy() string {
	for _, event := range slices.Backward(h.events) {
		if event.Answer != AnswerSkip {
			return event.Event
		}
	}
	return ""
}

// addEvent records an event, and drops the oldest of too many.
func (h *podHistory) addEvent(event RecentEvent) {
	h.events = append(h.events, event)
	h.events = slices.Delete(h.events, 0, max(0, len(h.events)-maxRecentEvents))
}

// isWakeupWithoutHint reports whether a move is that of a pod that an event woke without a hint being called.
func isWakeupWithoutHint(move *queue.PodMove) bool {
	waited := move.From == queue.PoolUnschedulable || move.From == queue.PoolGated
	ready := move.To == queue.PoolActive || move.To == queue.PoolBackoff
	return waited && ready && move.Plugin == ""
}

func eventOfMove(move *queue.PodMove) RecentEvent {
	return RecentEvent{Event: move.Cause, Answer: AnswerQueue}
}

func eventOfHint(result *queue.HintResult) RecentEvent {
	event := RecentEvent{Event: result.Event, Plugin: result.Plugin, Answer: AnswerQueue}
	switch {
	case result.Err != nil:
		event.Answer, event.Message = AnswerError, result.Err.Error()
	case result.Hint == fwk.QueueSkip:
		event.Answer = AnswerSkip
	}
	return event
}
