// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import "time"

var (
	_ Observer      = NoQueueObserver{}
	_ BatchObserver = joinedObservers{}
)

// NoQueueObserver is an [Observer] that heeds nothing. Its name leaves room to embed the like of it for other observers.
type NoQueueObserver struct{}

// PodMoved implements [Observer].
func (NoQueueObserver) PodMoved(PodMove) {}

// HintEvaluated implements [Observer].
func (NoQueueObserver) HintEvaluated(HintResult) {}

// GatesAsked implements [Observer].
func (NoQueueObserver) GatesAsked(string, string, time.Duration) {}

// EventNarrowed implements [Observer].
func (NoQueueObserver) EventNarrowed(string, bool) {}

// InFlightEvents implements [Observer].
func (NoQueueObserver) InFlightEvents(string, int) {}

// JoinObservers returns an observer that tells all of the given ones, in their order. Nil ones are left out; without
// any other the result is nil.
func JoinObservers(observers ...Observer) Observer {
	var joined joinedObservers
	for _, observer := range observers {
		if observer != nil {
			joined = append(joined, observer)
		}
	}
	switch len(joined) {
	case 0:
		return nil
	case 1:
		return joined[0]
	}
	return joined
}

type joinedObservers []Observer

// PodMoved implements [Observer].
func (j joinedObservers) PodMoved(move PodMove) {
	for _, observer := range j {
		observer.PodMoved(move)
	}
}

// PodsMoved implements [BatchObserver].
func (j joinedObservers) PodsMoved(moves []PodMove) {
	for _, observer := range j {
		if batched, ok := observer.(BatchObserver); ok {
			batched.PodsMoved(moves)
			continue
		}
		for _, move := range moves {
			observer.PodMoved(move)
		}
	}
}

// HintEvaluated implements [Observer].
func (j joinedObservers) HintEvaluated(result HintResult) {
	for _, observer := range j {
		observer.HintEvaluated(result)
	}
}

// GatesAsked implements [Observer].
func (j joinedObservers) GatesAsked(profile, rejector string, duration time.Duration) {
	for _, observer := range j {
		observer.GatesAsked(profile, rejector, duration)
	}
}

// EventNarrowed implements [Observer].
func (j joinedObservers) EventNarrowed(plugin string, narrowed bool) {
	for _, observer := range j {
		observer.EventNarrowed(plugin, narrowed)
	}
}

// InFlightEvents implements [Observer].
func (j joinedObservers) InFlightEvents(event string, delta int) {
	for _, observer := range j {
		observer.InFlightEvents(event, delta)
	}
}
