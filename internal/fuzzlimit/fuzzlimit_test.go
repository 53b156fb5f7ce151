// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package fuzzlimit_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rouse-scheduler/rouse/internal/fuzzlimit"
)

func TestLimits(t *testing.T) {
	for name, test := range map[string]struct {
		limits fuzzlimit.Limits
		takes  time.Duration
		want   string
	}{
		"in time":            {takes: 19 * time.Second},
		"too long":           {takes: 21 * time.Second, want: "the execution takes longer than 20s"},
		"limit of one's own": {limits: fuzzlimit.Limits{Time: time.Second}, takes: 2 * time.Second, want: "the execution takes longer than 1s"},
		"too much memory":    {limits: fuzzlimit.Limits{Memory: 1}, takes: time.Second, want: "the execution takes more than 1 bytes of memory"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got := ""
				test.limits.Exceeded = func(message string) { got = message }
				stop := test.limits.Start()
				time.Sleep(test.takes)
				stop()
				if got != test.want {
					t.Errorf("Exceeded was called with %q, want %q", got, test.want)
				}
			})
		})
	}
}
