// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestInterruptedCommandsEnd(t *testing.T) {
	own := errors.New("its own error")
	for name, test := range map[string]struct {
		takes, interrupted time.Duration
		endless            bool
		want               error
		after              time.Duration
	}{
		"one that ends":                   {takes: time.Second, interrupted: time.Hour, want: own, after: time.Second},
		"one that ends a moment later":    {takes: 2100 * time.Millisecond, interrupted: 2 * time.Second, want: own, after: 2100 * time.Millisecond},
		"one that hangs":                  {takes: time.Hour, interrupted: 2 * time.Second, after: 3 * time.Second},
		"a scheduler that takes its time": {takes: time.Minute, interrupted: 2 * time.Second, endless: true, want: own, after: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				p := &patience{}
				ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), patienceKey{}, p), test.interrupted)
				defer cancel()
				err := p.run(ctx, func() error {
					if test.endless {
						haveAll(ctx)
					}
					time.Sleep(test.takes)
					return own
				})
				if test.want != nil && err != test.want || test.want == nil && (err == nil || CodeOf(err) != ExitUsage) {
					t.Errorf("error = %v, want %v", err, test.want)
				}
				if took := time.Since(start); took != test.after {
					t.Errorf("it took %v, want %v", took, test.after)
				}
				time.Sleep(time.Hour) // for the one that hangs
			})
		})
	}
}
