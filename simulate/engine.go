// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"time"

	"github.com/rouse-scheduler/rouse/internal/apihttp"
)

// maxTriesAtOnce is how often a pod may be tried without time passing. More means that it would go on forever.
const maxTriesAtOnce = 1000

// deliver hands the changes of the store to the informers, and through them to the scheduler, in the order in which
// they were made. Like a watch, it only does so when whoever made them has returned. Plugins that watch by clients of their
// own know of a change before the scheduler does.
func (c *Cluster) deliver() {
	for {
		c.store.mu.Lock()
		made, found := c.store.next()
		c.store.mu.Unlock()
		if !found {
			return
		}
		c.tracker.changed(made)
		c.hub.Publish(apihttp.Change{Resource: made.collection.resource, Old: made.previous, New: made.current, Version: made.version})
		c.hub.WaitIdle()
		c.deliverTo(made)
	}
}

// runNow lets everything happen that can happen without time passing: first what was begun goes on, then the next pod
// is tried.
func (c *Cluster) runNow() error {
	return c.watch(func() error { return c.goOn(c.work) })
}

func (c *Cluster) work() error {
	for {
		if err := c.ctx.Err(); err != nil {
			return fmt.Errorf("the simulation was stopped at %v: %w", c.Now(), err)
		}
		c.deliver()
		switch {
		case c.runTask():
		case c.clock.fireDue():
		case c.flushDue():
		case c.scheduler.TryScheduleOne(c.ctx):
			if err := c.tracker.checkTries(maxTriesAtOnce); err != nil {
				return err
			}
		default:
			c.progress.update(c, false)
			c.watcher.Settled()
			return nil
		}
		c.hub.WaitIdle()
		c.tracker.flush()
		c.watcher.Worked()
		c.progress.update(c, false)
	}
}

// runTask runs the next part of a binding cycle and reports whether there was one. What it writes about volumes is seen
// at once, because a task that binds volumes waits for what becomes of them.
func (c *Cluster) runTask() bool {
	c.server.written = c.deliver
	defer func() { c.server.written = nil }()
	return c.tasks.RunOne()
}

// flushDue moves the pods on whose time in their pool is over and reports whether there were any.
func (c *Cluster) flushDue() bool {
	q, now := c.scheduler.Queue(), c.clock.Now()
	if next, found := q.NextBackoffFlush(); found && !next.After(now) {
		q.FlushBackoff()
		after, found := q.NextBackoffFlush()
		return !found || after.After(next)
	}
	if next, found := q.NextUnschedulableFlush(); found && !next.After(now) {
		q.FlushUnschedulable()
		after, found := q.NextUnschedulableFlush()
		return !found || after.After(next)
	}
	return false
}

// nextEvent returns when something happens next by itself; waits reports whether it counts when a pod waited for an
// event for too long.
func (c *Cluster) nextEvent(waits bool) (time.Time, bool) {
	var next time.Time
	consider := func(candidate time.Time, found bool) {
		if found && (next.IsZero() || candidate.Before(next)) {
			next = candidate
		}
	}
	consider(c.clock.next())
	consider(c.scheduler.Queue().NextBackoffFlush())
	if waits {
		consider(c.scheduler.Queue().NextUnschedulableFlush())
	}
	return next, !next.IsZero()
}

// Advance lets the given time pass, with everything that happens in it.
func (c *Cluster) Advance(d time.Duration) error { return c.advanceTo(c.clock.Now().Add(d)) }

func (c *Cluster) advanceTo(end time.Time) error {
	for {
		if err := c.runNow(); err != nil {
			return err
		}
		next, found := c.nextEvent(true)
		if !found || next.After(end) {
			break
		}
		c.clock.moveTo(next)
	}
	c.clock.moveTo(end)
	return c.runNow()
}

// Settle lets time pass until nothing more can happen by itself, except that pods are tried again because they waited
// too long for an event. Pods that go on failing in the same way, over and over, don't keep it from returning.
func (c *Cluster) Settle() error { return c.settle(time.Time{}) }

// settle is Settle, but stops before the limit unless that is zero.
func (c *Cluster) settle(limit time.Time) error {
	allowed := c.options.MaxVirtualTime
	if allowed == 0 {
		allowed = defaultMaxVirtualTime
	}
	end := c.clock.Now().Add(allowed)
	for {
		if err := c.runNow(); err != nil {
			return err
		}
		next, found := c.nextEvent(false)
		if !found || c.tracker.stuck() || !limit.IsZero() && next.After(limit) {
			return nil
		}
		if next.After(end) {
			return fmt.Errorf("the simulation did not settle within %v: %s; raise the limit or look for a plugin that keeps waking pods",
				allowed, c.tracker.unsettled())
		}
		c.clock.moveTo(next)
	}
}

// progress reports how far a replay is, now and then.
type progress struct {
	report      func(Progress)
	last        time.Time
	skipped     int
	done, total int
}

const (
	progressInterval = 100 * time.Millisecond
	// progressStride is how many calls pass before the real time is looked at again.
	progressStride = 32
)

func (p *progress) update(c *Cluster, always bool) {
	if p.report == nil {
		return
	}
	if p.skipped++; !always {
		if p.skipped < progressStride {
			return
		}
		p.skipped = 0
		if now := time.Now(); now.Sub(p.last) < progressInterval {
			return
		}
	}
	p.last = time.Now()
	c.tracker.mu.Lock()
	state := Progress{
		Done: p.done, Total: p.total, Now: c.Now(),
		Bound: c.tracker.bound, Pending: c.tracker.pending, Attempts: c.tracker.summary.Attempts,
	}
	c.tracker.mu.Unlock()
	p.report(state)
}
