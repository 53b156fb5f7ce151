// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import "sync"

// maxBindings is how many pods are being bound at a time, those that wait for PreBind plugins aside. It is more than any
// API server takes in parallel; pods beyond it would only cost the stack of a goroutine each while they wait for it.
const maxBindings = 512

// slots runs tasks in goroutines, but not more than limit at a time. The others wait in a list, in order, so that whoever
// starts a task never waits. The nil slots has nothing to lend.
type slots struct {
	limit int

	mu      sync.Mutex
	running int      // guarded by mu
	waiting []func() // guarded by mu
}

func (s *slots) start(task func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running >= s.limit {
		s.waiting = append(s.waiting, task)
		return
	}
	s.running++
	go s.run(task)
}

// run runs a task, and then others that wait, in the same slot.
func (s *slots) run(task func()) {
	for task != nil {
		task()
		task = s.next()
	}
}

// next returns the task that the slot goes to, or gives it up and returns nil.
func (s *slots) next() func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 || s.running > s.limit {
		s.running--
		return nil
	}
	task := s.waiting[0]
	s.waiting[0] = nil
	s.waiting = s.waiting[1:]
	return task
}

// lend must be called from a task. It leaves the slot to others until wait, which may take long, is over. After that
// there may be more tasks than slots for a while.
func (s *slots) lend(wait func()) {
	if s == nil {
		wait()
		return
	}
	if task := s.next(); task != nil {
		go s.run(task)
	}
	wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running++
}
