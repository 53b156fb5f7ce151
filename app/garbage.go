// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"os"
	"runtime/debug"
)

// replayGCPercent is how much garbage may gather, in percent of what is live, before it is collected. Nearly everything that
// a replay makes stays live, so that Go's default of 100 would double the memory of a large cluster.
const replayGCPercent = 30

// collectGarbageEarly makes the process smaller, and a little slower, until the function that it returns is called. GOGC in
// the environment takes precedence.
func collectGarbageEarly() (restore func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(replayGCPercent)
	return func() { debug.SetGCPercent(before) }
}
