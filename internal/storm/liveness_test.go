// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package storm

import (
	"time"

	v1 "k8s.io/api/core/v1"
)

const (
	// timeToRest is how much virtual time may pass, once the faults have stopped, until nothing happens any more.
	timeToRest = 30 * time.Minute
	// attemptsToRest is how many attempts there may be meanwhile.
	attemptsToRest = 2000
)

// calmDown stops the faults, waits until nothing happens any more, and judges what has become of every pod.
func (w *world) calmDown() bool {
	w.quiet, w.calm = true, true
	defer func() { w.quiet, w.calm = false, false }()
	for len(w.instances) > 1 {
		w.toggleLeader()
	}
	if len(w.api.objects[nodes]) == 0 { // without any, pods are tried again and again
		w.createNode()
	}
	in := w.instances[0]
	w.rest()
	in.plugin.comeToSenses()
	w.sleep(in)
	if w.violation == nil {
		w.checkAtRest(in)
	}
	if w.violation == nil {
		in.judge()
	}
	return true
}

// sleep lets time pass until nothing happens any more.
func (w *world) sleep(in *instance) {
	end, most := w.clock.now.Add(timeToRest), w.attempts+attemptsToRest
	for w.violation == nil {
		w.rest()
		if w.finishPod() {
			continue
		}
		next, found := w.clock.next()
		if at, backsOff := in.Queue().NextBackoffFlush(); backsOff && (!found || at.Before(next)) {
			next, found = at, true
		}
		if !found {
			return
		}
		if next.After(end) || w.attempts > most {
			w.violate("never rests", "%v after the last fault, pods are still being tried: %s", timeToRest, w.whatGoesOn())
		}
		w.clock.moveTo(next)
	}
}

// checkAtRest compares the scheduler with the API server when nothing happens any more.
func (w *world) checkAtRest(in *instance) {
	stats, counts := in.Queue().Stats(), in.Cache().Counts()
	if stats.Active+stats.Backoff+stats.InFlight+stats.InFlightEvents+counts.AssumedPods+len(in.open)+len(in.waiting()) > 0 {
		w.violate("not at rest", "the queue has %+v, the cache %+v, %d pods are being tried", stats, counts, len(in.open))
	}
	queued, _ := in.Queue().PendingPods()
	var there []*v1.Pod
	for _, pod := range sorted[*v1.Pod](w.api, pods) {
		if unfinished(pod) {
			there = append(there, pod)
		}
	}
	if comparison := in.Cache().Dump().Compare(sorted[*v1.Node](w.api, nodes), there, queued); !comparison.Same() {
		w.violate("cache is wrong", "%+v", comparison)
	}
}
