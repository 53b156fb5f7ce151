// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build race

package modelcheck

// statesInTest is how many states of each instance TestSmall explores. Under the race detector each step takes ten times as
// long, and there are no two goroutines in a world.
const statesInTest = 20
