// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// run fires everything up to the end, in order, and returns what the functions noted.
func (c *virtualClock) runUntil(end time.Time) {
	for {
		for c.fireDue() {
		}
		next, found := c.next()
		if !found || next.After(end) {
			break
		}
		c.moveTo(next)
	}
	c.moveTo(end)
}

func TestClockFiresInOrder(t *testing.T) {
	start := startTime()
	c := newVirtualClock(start)
	var fired []string
	note := func(name string) func() {
		return func() { fired = append(fired, name+" at "+c.Since(start).String()) }
	}
	c.AfterFunc(3*time.Second, note("three"))
	c.AfterFunc(time.Second, note("one"))
	c.AfterFunc(3*time.Second, note("three again"))
	stopped := c.AfterFunc(2*time.Second, note("stopped"))
	moved := c.AfterFunc(2*time.Second, note("moved"))
	c.AfterFunc(-time.Second, note("at once"))
	c.AfterFunc(time.Second, func() { c.AfterFunc(time.Second, note("nested")) })
	if !stopped.Stop() || stopped.Stop() {
		t.Error("Stop tells wrongly whether the timer was running")
	}
	if !moved.Reset(4 * time.Second) {
		t.Error("Reset says that the timer was not running")
	}
	c.runUntil(start.Add(10 * time.Second))
	want := []string{"at once at 0s", "one at 1s", "nested at 2s", "three at 3s", "three again at 3s", "moved at 4s"}
	if diff := cmp.Diff(want, fired); diff != "" {
		t.Errorf("what fired differs (-want +got):\n%s", diff)
	}
	if moved.Reset(time.Second) {
		t.Error("Reset says that a timer that has fired was running")
	}
	if next, found := c.next(); !found || !next.Equal(start.Add(11*time.Second)) {
		t.Errorf("the next timer is due at %v (%v), want 11s", next, found)
	}
}

func TestClockChannels(t *testing.T) {
	start := startTime()
	c := newVirtualClock(start)
	timer, after := c.NewTimer(time.Second), c.After(2*time.Second)
	ticker := c.NewTicker(3 * time.Second)
	tick := c.Tick(0)
	c.runUntil(start.Add(2 * time.Second))
	if at := <-timer.C(); !at.Equal(start.Add(time.Second)) {
		t.Errorf("the timer fired at %v, want 1s", at.Sub(start))
	}
	if at := <-after; !at.Equal(start.Add(2 * time.Second)) {
		t.Errorf("After fired at %v, want 2s", at.Sub(start))
	}
	if _, found := c.next(); found {
		t.Error("tickers count as something that is going to happen")
	}
	if at := <-tick; at.Before(start) {
		t.Errorf("Tick sent %v", at)
	}
	c.moveTo(start.Add(3 * time.Second))
	for range 3 {
		c.fireDue()
	}
	if len(ticker.C()) != 1 {
		t.Error("the ticker has not ticked")
	}
	ticker.Stop()
	c.Sleep(time.Minute)
	if got := c.Since(start); got != 63*time.Second {
		t.Errorf("after a minute of sleep it is %v, want 1m3s", got)
	}
	c.moveTo(start)
	if got := c.Since(start); got != 63*time.Second {
		t.Errorf("the clock went backwards to %v", got)
	}
}
