// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !race

package modelcheck

// statesInTest is how many states of each instance TestSmall explores.
const statesInTest = 200
