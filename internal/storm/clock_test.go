// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package storm

import (
	"slices"
	"time"

	"k8s.io/utils/clock"
)

// virtualClock moves when it is told to. Timers fire in the order of their times, and of their creation where those are equal.
type virtualClock struct {
	now    time.Time
	timers []*timer
}

func (c *virtualClock) Now() time.Time                  { return c.now }
func (c *virtualClock) Since(t time.Time) time.Duration { return c.now.Sub(t) }

// After implements clock.Clock.
func (c *virtualClock) After(d time.Duration) <-chan time.Time { return c.NewTimer(d).C() }

// NewTimer implements clock.Clock.
func (c *virtualClock) NewTimer(d time.Duration) clock.Timer {
	return c.start(&timer{channel: make(chan time.Time, 1)}, d)
}

// AfterFunc implements clock.WithDelayedExecution. The function is called by whoever moves the clock.
func (c *virtualClock) AfterFunc(d time.Duration, f func()) clock.Timer {
	return c.start(&timer{function: f}, d)
}

// Sleep implements clock.Clock.
func (c *virtualClock) Sleep(d time.Duration) { c.now = c.now.Add(d) }

// Tick implements clock.Clock.
func (c *virtualClock) Tick(time.Duration) <-chan time.Time { return nil }

func (c *virtualClock) start(t *timer, d time.Duration) *timer {
	t.clock, t.due = c, c.now.Add(max(d, 0))
	after, _ := slices.BinarySearchFunc(c.timers, t, func(other, t *timer) int {
		if other.due.After(t.due) {
			return 1
		}
		return -1
	})
	c.timers = slices.Insert(c.timers, after, t)
	return t
}

// next returns when the first timer is due.
func (c *virtualClock) next() (time.Time, bool) {
	if len(c.timers) == 0 {
		return time.Time{}, false
	}
	return c.timers[0].due, true
}

// moveTo fires the timers that are due until then.
func (c *virtualClock) moveTo(t time.Time) {
	for len(c.timers) > 0 && !c.timers[0].due.After(t) {
		first := c.timers[0]
		c.timers = c.timers[1:]
		c.now = first.due
		if first.function != nil {
			first.function()
			continue
		}
		first.channel <- c.now
	}
	c.now = t
}

type timer struct {
	clock    *virtualClock
	due      time.Time
	channel  chan time.Time
	function func()
}

// C implements clock.Timer.
func (t *timer) C() <-chan time.Time { return t.channel }

// Stop implements clock.Timer.
func (t *timer) Stop() bool {
	i := slices.Index(t.clock.timers, t)
	if i < 0 {
		return false
	}
	t.clock.timers = slices.Delete(t.clock.timers, i, i+1)
	return true
}

// Reset implements clock.Timer.
func (t *timer) Reset(d time.Duration) bool {
	active := t.Stop()
	t.clock.start(t, d)
	return active
}
