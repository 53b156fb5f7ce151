// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"slices"
	"time"

	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/queue"
)

// memory is what cannot be seen of a pod afterwards: what the last attempt came to, and what plugins said to events.
type memory struct {
	failed *failedAttempt // nil if none did, or it is not known any more
	heard  []Heard
	// heardSince is since when events are remembered; zero if that is from the beginning.
	heardSince time.Time
}

// wokenBy returns the last event that woke the pod; empty if none is remembered.
func (m *memory) wokenBy() string {
	for _, heard := range slices.Backward(m.heard) {
		if heard.Answer != AnswerSkip {
			return heard.Event
		}
	}
	return ""
}

// hear remembers an event in place of the oldest.
func (m *memory) hear(heard Heard) {
	m.heard = append(m.heard, heard)
	m.heard = slices.Delete(m.heard, 0, max(0, len(m.heard)-maxHeard))
}

// wakesAll tells whether a move is that of a pod that an event woke without a plugin being asked.
func wakesAll(move *queue.PodMove) bool {
	waited := move.From == queue.PoolUnschedulable || move.From == queue.PoolGated
	ready := move.To == queue.PoolActive || move.To == queue.PoolBackoff
	return waited && ready && move.Plugin == ""
}

func heardOfMove(move *queue.PodMove) Heard { return Heard{Event: move.Cause, Answer: AnswerQueue} }

func heardOfHint(result *queue.HintResult) Heard {
	heard := Heard{Event: result.Event, Plugin: result.Plugin, Answer: AnswerQueue}
	switch {
	case result.Err != nil:
		heard.Answer, heard.Message = AnswerError, result.Err.Error()
	case result.Hint == fwk.QueueSkip:
		heard.Answer = AnswerSkip
	}
	return heard
}
