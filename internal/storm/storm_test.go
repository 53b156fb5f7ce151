// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package storm

import (
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const (
	// shortSteps is how many steps there are where no number is asked for.
	shortSteps = 10_000
	// progressInterval is how often a long run says how far it is.
	progressInterval = 5 * time.Second
	// maxReplays is how many histories are tried to make a failing one shorter.
	maxReplays = 4000
)

// number returns the number that an environment variable holds.
func number(t *testing.T, name string, otherwise uint64) (value uint64, set bool) {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise, false
	}
	value, err := strconv.ParseUint(strings.ReplaceAll(text, "_", ""), 10, 64)
	if err != nil {
		t.Fatalf("%s is not a number: %v", name, err)
	}
	return value, true
}

// TestStorm carries out histories until there were enough steps: STEPS of them, of the histories from SEED on. A failure names
// the seed of its history, with which it comes first.
func TestStorm(t *testing.T) {
	seed, _ := number(t, "SEED", 1)
	steps, long := number(t, "STEPS", shortSteps)
	total := &totals{begun: time.Now()}
	if long {
		defer total.report(t)()
	}
	for ; total.steps.Load() < steps; seed++ {
		total.seed.Store(seed)
		synctest.Test(t, func(t *testing.T) {
			h, o := generate(t.Context(), seed, lengthOf(seed))
			total.add(o)
			if o.failed() {
				explain(t, h, o)
			}
		})
		if t.Failed() {
			break
		}
	}
	t.Log(total)
}

// lengthOf is how many steps a history has.
func lengthOf(seed uint64) int {
	random := rand.New(rand.NewPCG(seed, 9))
	return 100 + random.IntN(100)*random.IntN(10)
}

// explain fails a test with a history that is as short as possible.
func explain(t *testing.T, h history, o outcome) {
	t.Helper()
	if _, again := h.replay(t.Context(), nil); again != o {
		t.Errorf("the history of seed %d had another outcome when it was carried out again: %+v, before that %+v", h.seed, again, o)
	}
	replays := 0
	short := shrink(t.Context(), h, o.violation.what, func() bool { replays++; return replays > maxReplays })
	w, found := short.replay(t.Context(), func(w *world) { w.tracing = true })
	t.Errorf("seed %d: %v\nafter %d steps; the same kind of violation in %d events:\n%v\n\n%s\n%s", h.seed, o.violation, o.steps, short.events(),
		found.violation, short.describe(w), w.scenario())
}

// Everything is decided by the seed, so that a failure can be looked into.
func TestSameSeedSameHistory(t *testing.T) {
	for seed := range uint64(4) {
		var outcomes []outcome
		for range 2 {
			synctest.Test(t, func(t *testing.T) {
				h, o := generate(t.Context(), seed, 400)
				_, again := h.replay(t.Context(), nil)
				outcomes = append(outcomes, o, again)
			})
		}
		for _, o := range outcomes[1:] {
			if o != outcomes[0] {
				t.Errorf("seed %d had the outcomes %+v", seed, outcomes)
				break
			}
		}
		if outcomes[0].attempts == 0 || outcomes[0].bindings == 0 {
			t.Errorf("seed %d: nothing happened: %+v", seed, outcomes[0])
		}
	}
}

// totals is what all histories came to.
type totals struct {
	begun                                            time.Time
	seed, steps, histories, seconds, attempts, bound atomic.Uint64
}

func (s *totals) add(o outcome) {
	s.histories.Add(1)
	s.steps.Add(uint64(o.steps))
	s.seconds.Add(uint64(o.passed.Seconds()))
	s.attempts.Add(uint64(o.attempts))
	s.bound.Add(uint64(o.bindings))
}
