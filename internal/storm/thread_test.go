// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package storm

import (
	"fmt"
	"runtime/debug"
)

// thread is a goroutine of the scheduler that only runs when a step resumes it, until it pauses or returns: the scheduling cycle,
// a binding, or a task of a plugin.
type thread struct {
	name    string
	do      func()
	resumed chan struct{}
	started bool
	done    bool
	// killed makes pauses return false at once, so that the goroutine comes to its end.
	killed bool
	// at is where it pauses.
	at string
}

// resume lets a thread go on until its next pause, or its end.
func (w *world) resume(t *thread) {
	if t.done {
		return
	}
	before := w.running
	w.running = t
	if !t.started {
		t.started, t.resumed = true, make(chan struct{})
		go func() {
			defer func() {
				if caught := recover(); caught != nil {
					w.violate("panic", "%v in %s\n%s", caught, t.name, debug.Stack())
				}
				t.done = true
				w.baton <- struct{}{}
			}()
			t.do()
		}()
	} else {
		t.resumed <- struct{}{}
	}
	<-w.baton
	w.running = before
}

// pause stops the running thread until it is resumed. It returns false if the thread is to come to its end. Outside of
// threads it does nothing.
func (w *world) pause(format string, args ...any) bool {
	t := w.running
	if t == nil {
		return true
	}
	if t.killed {
		return false
	}
	t.at = format
	if w.tracing {
		t.at = fmt.Sprintf(format, args...)
	}
	w.baton <- struct{}{}
	<-t.resumed
	return !t.killed
}

// kill has a thread come to its end. One that has not begun never does.
func (w *world) kill(t *thread) {
	if !t.started {
		t.done = true
		return
	}
	t.killed = true
	w.resume(t)
}
