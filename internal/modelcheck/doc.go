// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package modelcheck holds the tests that explore what a scheduler can get into. It has no code but tests.
//
// A world is a small cluster: an API server model, informers whose events are delivered one by one, and a real scheduler
// with its queue, cache, event handlers and in-tree plugins. Everything that runs concurrently in a cluster is a step that
// can come at any time: a change by a user, the delivery of an event, the parts of a scheduling cycle and of a binding
// cycle between two API calls, an eviction, the end of a backoff. The checker tries all orders of steps, breadth first. Two
// states that are equal, in the queue, the cache, the nominator, the API server and in everything that is in flight, are
// explored once. In each state it checks what docs/requeueing.md lists as safety; in those that are never left again, that
// no pod waits which would fit, or could preempt. The flush of the unschedulable timeout never runs.
//
// TestSmall runs with the other tests. `make prove` runs the large instances, and shows that the checker finds each of the
// errors of mutants_test.go when it is put into the sources.
package modelcheck
