// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package plugintest

import "context"

// TB is what the package needs of a test: a *testing.T, *testing.B or *testing.F is one, and so is what other test
// frameworks offer in its place.
type TB interface {
	Helper()
	Context() context.Context
	Cleanup(func())
	Failed() bool
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}
