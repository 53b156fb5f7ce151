// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"testing"
	"time"
)

// WaitFor asks again and again until the answer is yes. After the limit it fails the test with what was waited for,
// which the question returns in addition to its answer.
func WaitFor(ctx context.Context, tb testing.TB, limit time.Duration, question func() (yes bool, what string)) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		yes, what := question()
		if yes {
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			tb.Fatalf("after %v still waiting for %s", limit, what)
		}
	}
}

// Progress prints a line now and then while something long goes on.
type Progress struct {
	tb    testing.TB
	start time.Time
	last  time.Time
}

// NewProgress returns a progress that starts now.
func NewProgress(tb testing.TB) *Progress {
	return &Progress{tb: tb, start: time.Now(), last: time.Now()}
}

// Say prints the line, unless another one was printed less than five seconds ago.
func (p *Progress) Say(format string, arguments ...any) {
	if time.Since(p.last) < 5*time.Second {
		return
	}
	p.last = time.Now()
	p.tb.Logf("%4.0f s  "+format, append([]any{time.Since(p.start).Seconds()}, arguments...)...)
}
