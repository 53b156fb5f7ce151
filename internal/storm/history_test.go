// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package storm

import (
	"context"
	"math/rand/v2"
	"time"
)

// history is a world and what happens in it.
type history struct {
	settings
	steps []step
}

// outcome is what became of a history. Equal ones are those of the same history.
type outcome struct {
	violation          violation // the zero value if there was none
	hash               uint64
	steps              int
	passed             time.Duration // virtual time
	attempts, bindings int
}

// drawSettings draws the settings of a history: some things happen often in it, some seldom, some never.
func drawSettings(seed uint64) settings {
	random := rand.New(rand.NewPCG(seed, 7))
	rate := func(of ...int) int { return of[random.IntN(len(of))] }
	s := settings{
		seed: seed,
		rates: rates{
			slow: rate(0, 100, 300, 600), failing: rate(0, 50, 200, 400), hanging: rate(0, 50, 200), misbehaving: rate(0, 20, 100),
			waiting: rate(0, 50, 300), preparing: rate(0, 200, 1000), lying: rate(0, 0, 200),
		},
		strict: random.IntN(3) == 0, gracefully: random.IntN(3) > 0,
		names: 3 + random.IntN(12), machines: 1 + random.IntN(5),
	}
	table := stepKinds()
	for _, k := range table {
		s.weights = append(s.weights, k.weight*rate(0, 5, 10, 10, 20))
	}
	for _, needed := range []string{"create a pod", "deliver an event", "schedule", "resume", "time passes", "a terminating pod goes"} {
		k := kindNamed(needed)
		s.weights[k] = max(s.weights[k], 5*table[k].weight)
	}
	return s
}

// generate draws a history of about so many steps, and carries it out at the same time.
func generate(ctx context.Context, seed uint64, length int) (history, outcome) {
	random := rand.New(rand.NewPCG(seed, 8))
	h := history{settings: drawSettings(seed)}
	w := newWorld(ctx, h.settings)
	defer w.close()
	total := 0
	for _, weight := range h.weights {
		total += weight
	}
	untilCalm := 0
	for len(h.steps) < length && w.violation == nil {
		if untilCalm == 0 {
			untilCalm = 20 + random.IntN(200)
		}
		s := step{kind: draw(h.weights, random.IntN(total)), random: random.Uint64()}
		if untilCalm--; untilCalm == 0 {
			s.kind = kindNamed(calmName)
		}
		if w.do(s) {
			h.steps = append(h.steps, s)
		}
	}
	return h, w.outcome(len(h.steps))
}

// draw returns the number of the weight that a ticket falls on.
func draw(weights []int, ticket int) int {
	for k, weight := range weights {
		if ticket -= weight; ticket < 0 {
			return k
		}
	}
	return 0
}

func (w *world) outcome(steps int) outcome {
	o := outcome{
		hash: w.hash, steps: steps, passed: w.clock.Since(startTime()), attempts: w.attempts, bindings: w.bindings,
	}
	if w.violation != nil {
		o.violation = *w.violation
	}
	return o
}

// failed reports whether the history had a violation.
func (o *outcome) failed() bool { return o.violation.what != "" }

// replay carries out a history again, up to the first violation.
func (h *history) replay(ctx context.Context, prepare func(*world)) (*world, outcome) {
	w := newWorld(ctx, h.settings)
	defer w.close()
	if prepare != nil {
		prepare(w)
	}
	done := 0
	for ; done < len(h.steps) && w.violation == nil; done++ {
		w.do(h.steps[done])
	}
	return w, w.outcome(done)
}
