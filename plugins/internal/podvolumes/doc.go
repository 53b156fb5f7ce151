// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package podvolumes holds what the plugins for volumes share: which claims the volumes of a pod stand for, what it
// means when one can't be looked up, which in-tree volumes CSI drivers have taken over, and which volumes distinguish
// one pod from another.
//
// Everything may be called concurrently.
package podvolumes
