// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package knownbugs plays the sequences of internal/knownbugs on kube-scheduler 1.37.1, and holds docs/known-bugs.md to what it
// does there.
package knownbugs
