// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import "time"

var (
	_ Observer      = NopQueueObserver{}
	_ BatchObserver = joinedObservers{}
)

// NopQueueObserver is an [Observer] that heeds nothing. Its name leaves room to embed the like of it for other observers.
type NopQueueObserver struct{}

// PodMoved implements [Observer].
func (NopQueueObserver) PodMoved(PodMove) {}

// HintEvaluated implements [Observer].
func (NopQueueObserver) HintEvaluated(HintResult) {}

// PreEnqueueRan implements [Observer].
func (NopQueueObserver) PreEnqueueRan(string, string, time.Duration) {}

// EventNarrowed implements [Observer].
func (NopQueueObserver) EventNarrowed(string, bool) {}

// InFlightEvents implements [Observer].
func (NopQueueObserver) InFlightEvents(string, int) {}

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

// PreEnqueueRan implements [Observer].
func (j joinedObservers) PreEnqueueRan(profile, rejector string, duration time.Duration) {
	for _, observer := range j {
		observer.PreEnqueueRan(profile, rejector, duration)
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
