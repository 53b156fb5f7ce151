// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package whatif

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// tasks are what plugins started and what is not done yet. It is safe for concurrent use.
type tasks struct {
	mu     sync.Mutex
	queued []func()
}

func (t *tasks) add(task func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.queued = append(t.queued, task)
}

// run runs the tasks, and those that they start.
func (t *tasks) run() {
	for {
		t.mu.Lock()
		if len(t.queued) == 0 {
			t.mu.Unlock()
			return
		}
		task := t.queued[0]
		t.queued = t.queued[1:]
		t.mu.Unlock()
		task()
	}
}

// doNotWait is how plugins wait: not at all, because nothing can happen while they do.
func doNotWait(context.Context, time.Duration, <-chan struct{}) error {
	return fmt.Errorf("nothing changes in a fork while a plugin waits: %w", context.DeadlineExceeded)
}
