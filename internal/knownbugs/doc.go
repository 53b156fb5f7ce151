// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package knownbugs plays the sequences of events in which kube-scheduler, or a scheduler that is built on it, left a pod
// waiting, kept a nomination, or went on collecting events forever. Every [Bug] is played on a real scheduler with its
// goroutines, on virtual time, against an API server in memory whose answers and watches are as slow as the sequence wants.
//
// A sequence knows nothing of the scheduler but the official interfaces, so the same one is played on Rouse by the tests of
// this package, and on kube-scheduler by those of test/knownbugs. What came out is in docs/known-bugs.md.
package knownbugs
