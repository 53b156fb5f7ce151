// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package podkeys writes parts of pods as keys, such that parts with equal keys mean the same. Keys are made for every
// pod, so nothing is parsed, and nothing allocated beyond the key.
package podkeys
