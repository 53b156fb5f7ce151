// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	goruntime "runtime"
	"time"

	"github.com/rouse-scheduler/rouse/runtime"
)

// HangingError says that a plugin does not return. Go cannot stop it, so the cluster can no longer be used.
type HangingError struct {
	// Call is the call that does not return.
	Call runtime.Call
	// Limit is how long, in real time, it was waited for.
	Limit time.Duration
	// At is the virtual time.
	At Time
}

// Error implements error.
func (e *HangingError) Error() string {
	return fmt.Sprintf("the simulation was given up at %v: %v does not return, and was waited for for %v of real time; "+
		"look for a lock, a channel or a loop in the plugin", e.At, e.Call, e.Limit)
}

// watch calls work in another goroutine and returns what it returns, or a [*HangingError] when a call of a plugin takes too
// long; work is then left to itself. Within work, watch only calls.
func (c *Cluster) watch(work func() error) error {
	if c.hanging != nil {
		return c.hanging
	}
	if c.inWatch {
		return work()
	}
	c.inWatch = true
	var err error
	returned, done := false, make(chan struct{})
	go func() {
		defer close(done)
		err = work()
		returned = true
	}()
	if hanging := c.await(done); hanging != nil {
		c.hanging = hanging
		c.cancel(hanging) // which plugins may heed
		return hanging
	}
	c.inWatch = false
	if !returned {
		goruntime.Goexit() // as a callback of whoever runs the simulation did
	}
	return err
}

// goOn calls work, and again whenever a plugin ended the goroutine, until it returns.
func (c *Cluster) goOn(work func() error) error {
	for {
		var err error
		returned, endings, done := false, c.calls.Endings(), make(chan struct{})
		go func() {
			defer close(done)
			err = work()
			returned = true
		}()
		<-done
		switch {
		case returned:
			return err
		case endings == c.calls.Endings():
			goruntime.Goexit() // it was no plugin, but a callback
		}
	}
}

// await returns nil when done is closed, and an error when a call of a plugin takes too long before that.
func (c *Cluster) await(done <-chan struct{}) *HangingError {
	limit := c.options.CallLimit
	switch {
	case limit == 0:
		limit = defaultCallLimit
	case limit < 0:
		<-done
		return nil
	}
	const looks = 4 // in the time of the limit
	ticker := time.NewTicker(max(limit/looks, 1))
	defer ticker.Stop()
	seen := map[runtime.Call]int{}
	for {
		select {
		case <-done:
			return nil
		case <-ticker.C:
		}
		still := map[runtime.Call]int{}
		for _, call := range c.calls.InFlight() {
			if still[call] = seen[call] + 1; still[call] > looks {
				return &HangingError{Call: call, Limit: limit, At: c.Now()}
			}
		}
		seen = still
	}
}
