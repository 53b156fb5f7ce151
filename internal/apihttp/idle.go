// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package apihttp

import (
	"runtime"
	"runtime/metrics"
	"time"
)

const (
	// IdleLimit is how long in real time it is reasonable to wait at most where much is waited for: a client may have stopped
	// to read, and a process may have goroutines that are never idle.
	IdleLimit = 20 * time.Millisecond
	// yieldLimit is how long the wait only yields, which may itself keep a thread of the Go runtime busy, and pause how long it
	// sleeps in between after that.
	yieldLimit = time.Millisecond
	pause      = 50 * time.Microsecond
	// idleSamples is how often in a row no other goroutine must be seen to run.
	idleSamples = 3
)

// WaitIdle waits until clients have taken every event, and then until no other goroutine of the process has anything to
// do, as far as the Go runtime can tell: what the events lead to in an informer, its handlers and the goroutines that
// these wake has happened then, unless it waits for a timer. It does nothing if there are no watches, and waits for
// [IdleLimit] at most.
func (h *Hub) WaitIdle() {
	if h.Watched() {
		h.WaitQuiet(IdleLimit)
	}
}

// WaitQuiet is [Hub.WaitIdle] with a limit, and also if there are no watches yet, for clients that may be about to begin.
func (h *Hub) WaitQuiet(limit time.Duration) {
	begin := time.Now()
	goroutines := []metrics.Sample{{Name: "/sched/goroutines/runnable:goroutines"}, {Name: "/sched/goroutines/running:goroutines"}}
	for seen := 0; seen < idleSamples; seen++ {
		waited := time.Since(begin)
		if waited < yieldLimit {
			runtime.Gosched()
		} else {
			time.Sleep(pause)
		}
		metrics.Read(goroutines)
		if !allTaken(h.all()) || goroutines[0].Value.Uint64() > 0 || goroutines[1].Value.Uint64() > 1 {
			seen = -1
		}
		if waited > limit {
			return
		}
	}
}

func allTaken(streams []*stream) bool {
	for _, s := range streams {
		if !s.taken() {
			return false
		}
	}
	return true
}
