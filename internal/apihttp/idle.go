// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package apihttp

import (
	"runtime"
	"runtime/metrics"
	"time"
)

const (
	// idleLimit is how long in real time WaitIdle waits at most: a client may have stopped to read, and a process may
	// have goroutines that are never idle.
	idleLimit = 20 * time.Millisecond
	// idleSamples is how often in a row no other goroutine must be seen to run.
	idleSamples = 3
)

// WaitIdle waits until clients have taken every event, and then until no other goroutine of the process has anything to
// do, as far as the Go runtime can tell: what the events lead to in an informer, its handlers and the goroutines that
// these wake has happened then, unless it waits for a timer. It does nothing if there are no watches.
func (h *Hub) WaitIdle() {
	streams := h.all()
	if len(streams) == 0 {
		return
	}
	deadline := time.Now().Add(idleLimit)
	goroutines := []metrics.Sample{{Name: "/sched/goroutines/runnable:goroutines"}, {Name: "/sched/goroutines/running:goroutines"}}
	for seen := 0; seen < idleSamples; seen++ {
		runtime.Gosched()
		metrics.Read(goroutines)
		if !allTaken(streams) || goroutines[0].Value.Uint64() > 0 || goroutines[1].Value.Uint64() > 1 {
			seen = -1
		}
		if time.Now().After(deadline) {
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
