// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package modelcheck

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// step is something that can happen next.
type step struct {
	label func() string
	// environment is set for what users and failures do, which may also never happen. Everything else happens sooner or
	// later, as long as it can.
	environment bool
	do          func()
	// scenario is the step in a scenario for rouse simulate; empty if it has no place there.
	scenario string
}

// steps returns everything that can happen next, always in the same order after the same history.
func (w *world) steps() []step {
	var found []step
	for i, change := range w.instance.changes {
		if w.left[i] > 0 && change.possible(w) {
			found = append(found, step{label: change.label, environment: true, scenario: change.scenario, do: func() {
				w.left[i]--
				change.do(w)
			}})
		}
	}
	for _, k := range []*kind{w.podKind, w.nodeKind} {
		if len(k.pending) > 0 {
			e := k.pending[0]
			found = append(found, step{label: func() string { return fmt.Sprintf("deliver of %s: %s", k.name, e) }, do: k.deliver})
		}
	}
	found = append(found, w.taskSteps()...)
	found = append(found, w.timeSteps()...)
	return found
}

// String says what happened to which object.
func (e event) String() string {
	switch {
	case e.old == nil:
		return e.name + " added"
	case e.new != nil:
		return e.name + " updated"
	case e.missed:
		return e.name + " found deleted"
	}
	return e.name + " deleted"
}

// taskSteps returns the steps of what is in flight.
func (w *world) taskSteps() []step {
	var found []step
	inCycle := false
	for _, t := range w.tasks {
		inCycle = inCycle || t.inCycle()
		found = append(found, step{label: t.label(works), do: func() { w.resume(t) }})
		for _, o := range t.outcomes() {
			left := &w.fails
			if o == lost {
				left = &w.loses
			}
			if *left > 0 {
				found = append(found, step{label: t.label(o), environment: true, do: func() {
					*left--
					t.outcome = o
					w.resume(t)
				}})
			}
		}
	}
	if !inCycle && w.queue.poppable() {
		found = append(found, step{label: always("a scheduling cycle begins"), do: func() { w.resume(w.cycle()) }})
	}
	return found
}

// outcomes returns how the API call can go wrong that the task is about to make.
func (t *task) outcomes() []outcome {
	switch t.at {
	case "bind":
		return []outcome{fails, lost}
	case "evict":
		return []outcome{fails}
	}
	return nil
}

func (t *task) label(o outcome) func() string {
	name, at := t.name, t.at
	return func() string {
		if o == works {
			return fmt.Sprintf("%s goes on at %q", name, at)
		}
		return fmt.Sprintf("%s goes on at %q: %s", name, at, o)
	}
}

func always(label string) func() string { return func() string { return label } }

func (c change) label() string { return c.name }

// inCycle reports whether the task is a scheduling cycle, of which there is one at a time.
func (t *task) inCycle() bool { return t.name[:min(5, len(t.name))] == "cycle" }

const backoffEnds = "a backoff ends"

// timeSteps returns what happens by itself when time passes.
func (w *world) timeSteps() []step {
	var found []step
	for _, name := range slices.Sorted(maps.Keys(w.pods)) {
		if pod := w.pods[name]; pod.DeletionTimestamp != nil {
			found = append(found, step{label: always("pod " + name + " has ended"), do: func() { w.setPod(name, nil) }})
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(w.attempts)) {
		if a := w.attempts[uid]; a.permit && !a.answered {
			found = append(found, step{label: always("pod " + string(uid) + " gets permission"), do: func() { w.allow(uid) }})
		}
	}
	if next, backingOff := w.scheduler.Queue().NextBackoffFlush(); backingOff {
		found = append(found, step{label: always(backoffEnds), do: func() {
			if next.After(w.clock.Now()) {
				w.clock.SetTime(next)
			}
			w.scheduler.Queue().FlushBackoff()
		}})
	}
	return found
}

func (w *world) allow(uid types.UID) {
	w.attempts[uid].answered = true
	if waiting := w.waitingPod(uid); waiting != nil {
		waiting.Allow("Checker")
	}
}
