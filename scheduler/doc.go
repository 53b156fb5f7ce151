// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scheduler puts the parts together: event handlers that keep the cache and the queue up to date, the
// scheduling cycle that finds a node for a pod, the binding cycle that carries the decision out, and what happens when
// either fails.
//
//	informers -> event handlers -> cache   (what the cluster is)
//	                           \-> queue   (what is waiting, and what just changed)
//	queue -> scheduling cycle -> binding cycle
//	              \-> on failure: back to the queue, status and event written
//
// [New] builds a [Scheduler] on a client and an informer factory; [Scheduler.Run] runs it until its context ends.
//
// # Concurrency
//
// One goroutine runs scheduling cycles, one after the other, and owns the snapshot, the attempt and everything in
// them. Each informer delivers its events in a goroutine of its own; handlers take the locks of cache and queue for a
// moment and never wait for a cycle. Each pod that got a node is bound in a task of its own, which [Options.Go]
// starts; a pod that waits for permission holds no goroutine.
//
// # Trouble
//
// Writes are tried again a few times while the API server is away or overloaded. A binding that still fails is looked up,
// since only its answer may have been lost: then the pod is bound. Until that is known the pod keeps its place. What
// others decide meanwhile wins: a pod that is deleted, or bound by somebody else, is let go of, and one whose node is
// gone is not bound. Everything else that fails goes back to the queue, which waits longer after each failure.
//
// A plugin that panics fails its pod. One that hangs has its context ended after [Options.SchedulingTimeout]; if it does not heed
// that, [Scheduler.Stuck] names it.
//
// # Simulation
//
// A simulation uses the same code without any goroutine: synchronous informers, a virtual clock, binding tasks in a
// list, and [Scheduler.TryScheduleOne].
package scheduler
