// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package modelcheck

import (
	"runtime"
	"slices"
	"strings"
	"sync"
)

// settled is what a run without further changes by users came to.
type settled struct {
	path    []uint8
	problem string
}

// settleOpen lets the users stop in states that were not expanded, because there were too many, and looks where that leads. Of the violations it takes the one with the fewest steps.
func (e *exploration) settleOpen() {
	var open []int32
	for i := range e.nodes {
		if e.nodes[i].open {
			open = append(open, int32(i))
		}
	}
	if stride := (len(open) + mostRuns - 1) / mostRuns; stride > 1 {
		kept := open[:0]
		for i := 0; i < len(open); i += stride {
			kept = append(kept, open[i])
		}
		open = kept
	}
	results := make([]settled, 2*len(open))
	var group sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for worker := range workers {
		group.Go(func() {
			for i := worker; i < len(results); i += workers {
				results[i] = e.settle(e.path(open[i/2]), i%2 == 0)
			}
		})
	}
	group.Wait()
	e.found.runs = len(results)
	var shortest *settled
	for i := range results {
		if r := &results[i]; r.problem != "" && (shortest == nil || len(r.path) < len(shortest.path)) {
			shortest = r
		}
	}
	if shortest != nil {
		e.fail(shortest.path, shortest.problem)
	}
}

// mostRuns is from how many states runs begin at most; these are spread over all.
const mostRuns = 4000

// A run that does not end by itself is stopped after mostSteps. A pod is then asleep if it was for the last tailSteps.
const mostSteps, tailSteps = 90, 40

// settle does steps that happen sooner or later until there are none: events are delivered first, or else last. A backoff ends
// when there is nothing else to do. Steps that change nothing don't count.
func (e *exploration) settle(path []uint8, inOrder bool) settled {
	w := e.idle.replay(path)
	path = slices.Clone(path)
	var asleep []string
	for taken := 0; taken < mostSteps; taken++ {
		by, problem := w.settleStep(inOrder)
		if by < 0 {
			asleep = w.asleep()
			break
		}
		path = append(path, uint8(by))
		if problem == "" {
			problem = strings.Join(w.violations(), "; ")
		}
		if problem != "" {
			return settled{path, problem}
		}
		switch left := mostSteps - taken; {
		case left == tailSteps:
			asleep = w.asleep()
		case left < tailSteps && len(asleep) > 0:
			now := w.asleep()
			asleep = slices.DeleteFunc(asleep, func(pod string) bool { return !slices.Contains(now, pod) })
		}
	}
	e.idle.release(w)
	return settled{path, strings.Join(asleep, "; ")}
}

// settleStep does a step that changes something, and returns its number, -1 if there is none.
func (w *world) settleStep(inOrder bool) (by int, problem string) {
	steps := w.steps()
	for i := range steps {
		by := i
		if last := len(steps) - 1; !inOrder && i < last { // the last one is the end of a backoff, if there is one
			by = last - 1 - i
		}
		if steps[by].environment {
			continue
		}
		backoff := steps[by].label() == backoffEnds
		var before digest
		if backoff { // the only step that can change nothing
			before = w.digest()
		}
		problem := w.do(steps[by])
		if !backoff || problem != "" || w.digest() != before {
			return by, problem
		}
	}
	return -1, ""
}
