// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package storm tests the scheduler in a world where everything goes wrong, again and again, in an order that a seed decides.
// It consists of tests; make storm runs them for long.
//
// # The world
//
// The scheduler is the real one, as package scheduler builds it. Around it are a model of the API server, informers, and a
// clock that only moves when it is told to. Nothing happens by itself: a history is a list of steps, and each does one thing.
// It changes an object, hands one event to one informer, pops a pod, lets a binding go on to its next request, moves the
// clock, ends the scheduler and starts another. The scheduling cycle, every binding and every eviction is a goroutine that
// stops at each request to the API server and in each method of a plugin, and stays there until a step lets it go on. Only one
// of them runs at a time. So everything can happen between any two of these places, and the same steps always have the same
// result.
//
// Steps get all their randomness from a number of their own, so that the others stay what they are when one is left out. That is
// how a failure is reduced to few steps.
//
// # What goes wrong
//
// Events of different kinds overtake each other, are late, or are dropped and found out about by a list, in which an object may
// have come again under its name. Requests fail before or after they were carried out, conflict, are refused, or take long.
// Schedulers end with requests on their way, begin with an old list, and two are active at once. Nodes come, go, shrink and
// flap. A plugin panics, fails, rejects pods, lets them wait for permission, takes its time, holds pods back before they
// are queued, and has hints that fail, wake in vain, or don't wake.
//
// # What must hold
//
// After every step: no node has more than what fits on it, by what the scheduler could know and, in histories where no other client
// changes that, by the API server; no pod is bound, or tried, twice at a time; every pod that waits for a node is in exactly
// one place; nothing is kept for pods in flight when there are none; assumed pods and nominations belong to pods that are being
// bound, or wait. These are in safety_test.go.
//
// Now and then the faults stop. Then, without the flush of pods that have waited for long, the queue must come to rest within
// bounded time, and no pod may be left that fits somewhere, or could preempt, as the plugins say when they are asked about a fresh
// snapshot of the cluster, without caches and queue. These are in liveness_test.go.
package storm
