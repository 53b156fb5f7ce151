// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"container/heap"
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

var _ clock.WithTickerAndDelayedExecution = &virtualClock{}

// virtualClock is a clock that only moves when it is told to. Timers that are due fire in the order of their times,
// and of their creation where times are equal, when fireDue is called; functions given to AfterFunc then run in the
// calling goroutine. It is safe for concurrent use.
type virtualClock struct {
	mu       sync.Mutex
	now      time.Time
	timers   timerHeap
	sequence int
}

func newVirtualClock(start time.Time) *virtualClock {
	return &virtualClock{now: start}
}

// Now implements clock.PassiveClock.
func (c *virtualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Since implements clock.PassiveClock.
func (c *virtualClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// waitForNothing is how plugins wait in a simulation: not at all. Everything runs in one goroutine, so that what a plugin
// waits for could only happen after it returns.
func waitForNothing(context.Context, time.Duration, <-chan struct{}) error {
	return fmt.Errorf("nothing changes in a simulation while a plugin waits: %w", context.DeadlineExceeded)
}

// moveTo moves the time on without firing anything; a time that has passed already changes nothing.
func (c *virtualClock) moveTo(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.After(c.now) {
		c.now = t
	}
}

// next returns when the earliest timer is due. Tickers don't count: they would keep a simulation going forever.
func (c *virtualClock) next() (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.timers) > 0 && c.timers[0].period == 0 {
		return c.timers[0].due, true
	}
	var earliest *virtualTimer
	for _, timer := range c.timers {
		if timer.period == 0 && (earliest == nil || timer.due.Before(earliest.due)) {
			earliest = timer
		}
	}
	if earliest == nil {
		return time.Time{}, false
	}
	return earliest.due, true
}

// fireDue fires the earliest timer that is due and reports whether there was one.
func (c *virtualClock) fireDue() bool {
	c.mu.Lock()
	if len(c.timers) == 0 || c.timers[0].due.After(c.now) {
		c.mu.Unlock()
		return false
	}
	timer := heap.Pop(&c.timers).(*virtualTimer)
	now := c.now
	if timer.period > 0 {
		c.schedule(timer, timer.period)
	}
	c.mu.Unlock()
	timer.fire(now)
	return true
}

// schedule puts a timer on the heap, due after d. The caller holds the lock.
func (c *virtualClock) schedule(timer *virtualTimer, d time.Duration) {
	timer.due = c.now.Add(max(d, 0))
	timer.sequence = c.sequence
	c.sequence++
	heap.Push(&c.timers, timer)
}

func (c *virtualClock) start(timer *virtualTimer, d time.Duration) *virtualTimer {
	c.mu.Lock()
	defer c.mu.Unlock()
	timer.clock = c
	timer.index = -1
	c.schedule(timer, d)
	return timer
}

// After implements clock.Clock.
func (c *virtualClock) After(d time.Duration) <-chan time.Time { return c.NewTimer(d).C() }

// NewTimer implements clock.Clock.
func (c *virtualClock) NewTimer(d time.Duration) clock.Timer {
	return c.start(&virtualTimer{channel: make(chan time.Time, 1)}, d)
}

// AfterFunc implements clock.WithDelayedExecution.
func (c *virtualClock) AfterFunc(d time.Duration, f func()) clock.Timer {
	return c.start(&virtualTimer{function: f}, d)
}

// Sleep implements clock.Clock: the time moves on at once.
func (c *virtualClock) Sleep(d time.Duration) { c.moveTo(c.Now().Add(d)) }

// Tick implements clock.Clock.
func (c *virtualClock) Tick(d time.Duration) <-chan time.Time { return c.NewTicker(d).C() }

// NewTicker implements clock.WithTicker. Like time.NewTicker it wants a positive period; a shorter one becomes a
// nanosecond.
func (c *virtualClock) NewTicker(d time.Duration) clock.Ticker {
	period := max(d, 1)
	return virtualTicker{c.start(&virtualTimer{channel: make(chan time.Time, 1), period: period}, period)}
}

// virtualTimer is a timer, the call of a function, or a ticker if it has a period.
type virtualTimer struct {
	clock    *virtualClock
	due      time.Time
	sequence int
	index    int // in the heap; -1 while it is not there
	period   time.Duration
	channel  chan time.Time
	function func()
}

func (t *virtualTimer) fire(now time.Time) {
	if t.function != nil {
		t.function()
		return
	}
	select {
	case t.channel <- now:
	default: // the tick before was not received; a ticker drops it
	}
}

// C implements clock.Timer.
func (t *virtualTimer) C() <-chan time.Time { return t.channel }

// Stop implements clock.Timer.
func (t *virtualTimer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	return t.remove()
}

func (t *virtualTimer) remove() bool {
	if t.index < 0 {
		return false
	}
	heap.Remove(&t.clock.timers, t.index)
	return true
}

// Reset implements clock.Timer.
func (t *virtualTimer) Reset(d time.Duration) bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	active := t.remove()
	t.clock.schedule(t, d)
	return active
}

type virtualTicker struct{ timer *virtualTimer }

// C implements clock.Ticker.
func (t virtualTicker) C() <-chan time.Time { return t.timer.C() }

// Stop implements clock.Ticker.
func (t virtualTicker) Stop() { t.timer.Stop() }

// timerHeap implements heap.Interface, earliest first.
type timerHeap []*virtualTimer

func (h timerHeap) Len() int { return len(h) }

func (h timerHeap) Less(i, j int) bool {
	if !h[i].due.Equal(h[j].due) {
		return h[i].due.Before(h[j].due)
	}
	return h[i].sequence < h[j].sequence
}

func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *timerHeap) Push(x any) {
	timer := x.(*virtualTimer)
	timer.index = len(*h)
	*h = append(*h, timer)
}

func (h *timerHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	last.index = -1
	return last
}
