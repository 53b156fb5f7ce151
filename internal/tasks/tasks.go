// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tasks runs what a scheduler or its plugins start in the background in the goroutine of whoever asks for it, one piece
// after the other, so that the result is the same every time.
package tasks

import "sync"

// Queue is pieces of work in the order in which they were started. The zero value is empty. It is safe for concurrent use.
type Queue struct {
	mu     sync.Mutex
	queued []func()
}

// Add adds a task.
func (q *Queue) Add(task func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.queued = append(q.queued, task)
}

// RunOne runs the oldest task and reports whether there was one. The task may add others.
func (q *Queue) RunOne() bool {
	q.mu.Lock()
	if len(q.queued) == 0 {
		q.mu.Unlock()
		return false
	}
	task := q.queued[0]
	q.queued[0] = nil
	q.queued = q.queued[1:]
	q.mu.Unlock()
	task()
	return true
}
