// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import "sync"

// maxBindings is how many pods are being bound at a time, those that wait for PreBind plugins aside. It is more than any
// API server takes in parallel; pods beyond it would only cost the stack of a goroutine each while they wait for it.
const maxBindings = 512

// bindingLimiter runs tasks in goroutines, not more than limit at a time. The others wait in a list, in order, so that start
// never blocks.
type bindingLimiter struct {
	limit int

	mu      sync.Mutex
	running int      // guarded by mu
	waiting []func() // guarded by mu
}

func (l *bindingLimiter) start(task func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running >= l.limit {
		l.waiting = append(l.waiting, task)
		return
	}
	l.running++
	go l.run(task)
}

// run runs a task, and then others that wait, in the same goroutine.
func (l *bindingLimiter) run(task func()) {
	for task != nil {
		task()
		task = l.next()
	}
}

// next returns the task to run in place of one that ended, or counts one task less and returns nil.
func (l *bindingLimiter) next() func() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) == 0 || l.running > l.limit {
		l.running--
		return nil
	}
	task := l.waiting[0]
	l.waiting[0] = nil
	l.waiting = l.waiting[1:]
	return task
}

// yield must be called from a task. It lets another task run until wait, which may take long, is over. After that there may
// be more tasks than the limit for a while. A nil bindingLimiter just waits.
func (l *bindingLimiter) yield(wait func()) {
	if l == nil {
		wait()
		return
	}
	if task := l.next(); task != nil {
		go l.run(task)
	}
	wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running++
}
