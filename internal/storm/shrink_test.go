// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package storm

import (
	"context"
	"slices"
)

// shrink returns a history that violates the same, with as few steps as it finds until the limit is reached.
func shrink(ctx context.Context, h history, what string, limit func() bool) history {
	fails := func(candidate history) (history, bool) {
		_, o := candidate.replay(ctx, nil)
		if o.violation.what != what {
			return h, false
		}
		candidate.steps = candidate.steps[:o.steps]
		return candidate, true
	}
	for changed := true; changed && !limit(); {
		changed = false
		for size := max(len(h.steps)/2, 1); size >= 1; size /= 2 {
			for from := 0; from < len(h.steps) && !limit(); {
				shorter, ok := withoutSteps(h, from, size, fails)
				if ok {
					h, changed = shorter, true
				} else {
					from += size
				}
			}
		}
		for i := range h.rates.all() {
			calmer := h
			if *calmer.rates.all()[i] == 0 {
				continue
			}
			*calmer.rates.all()[i] = 0
			if found, ok := fails(calmer); ok {
				h, changed = found, true
			}
		}
	}
	return h
}

// withoutSteps leaves out some steps, or lets everything settle in their place.
func withoutSteps(h history, from, size int, fails func(history) (history, bool)) (history, bool) {
	to := min(from+size, len(h.steps))
	shorter := h
	shorter.steps = slices.Concat(h.steps[:from], h.steps[to:])
	if found, ok := fails(shorter); ok {
		return found, true
	}
	settled := step{kind: kindNamed(settleName)}
	if to-from < 2 && h.steps[from] == settled || to-from == 1 && from > 0 && h.steps[from-1] == settled {
		return h, false
	}
	if to-from == 1 && !replaceable(h.steps[from]) {
		return h, false
	}
	shorter.steps = slices.Concat(h.steps[:from], []step{settled}, h.steps[to:])
	return fails(shorter)
}

// replaceable reports whether a step is part of what happens when everything settles.
func replaceable(s step) bool {
	switch s.String() {
	case "deliver an event", "schedule", "resume", "flush the backoff":
		return true
	}
	return false
}

// events is how many steps of a history are not just everything settling.
func (h *history) events() int {
	count := 0
	for _, s := range h.steps {
		if s.String() != settleName && s.String() != calmName {
			count++
		}
	}
	return count
}

// all returns the rates.
func (r *rates) all() []*int {
	return []*int{&r.slow, &r.failing, &r.hanging, &r.misbehaving, &r.waiting, &r.preparing, &r.lying}
}
