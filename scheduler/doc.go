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
// # How a decision is made
//
// An informer calls an event handler (event_handlers.go, pod_events.go, node_events.go), which updates the cache and
// calls queue.Queue.Move. That wakes the pods that the event may help (queue/wake.go). [Scheduler.ScheduleOne] pops a
// pod and runs the scheduling cycle (schedule_one.go): it updates the snapshot and looks for a node (find_node.go). By
// default the search is runtime.Framework.Search, which filters and scores through cached verdicts and returns the best
// node. If the pod's nominated node fits, if PreFilter limits the nodes, with extenders, or with
// [Features.DisableVerdictCaches], every plugin is run for every candidate instead, and select_node.go takes the best.
// The cache then assumes the pod on that node, Reserve and Permit plugins run, and the pod is bound in the background
// (binding.go).
//
// [New] builds a [Scheduler] on a client and an informer factory; [Scheduler.Run] runs it until its context ends.
//
// # Concurrency
//
// One goroutine runs scheduling cycles, one after the other, and owns the snapshot, the attempt and everything in
// them. Each informer delivers its events in a goroutine of its own; handlers take the locks of cache and queue for a
// moment and never wait for a cycle. Each pod that got a node is bound in a task of its own, which [runtime.Execution].Go
// starts; a pod that waits for permission holds no goroutine.
//
// # Trouble
//
// Writes are tried again a few times while the API server is away or overloaded. A binding that still fails is looked up,
// since only the response may have been lost: then the pod is bound. Until that is known the pod keeps its place. What
// others decide meanwhile wins: a pod that is deleted, or bound by another scheduler, is dropped, and one whose node is
// gone is not bound. Everything else that fails goes back to the queue, which waits longer after each failure.
//
// A plugin that panics fails its pod. One that hangs has its context cancelled after [Timeouts].Scheduling; if it ignores
// that, [Scheduler.Stuck] names it.
//
// # Simulation
//
// A simulation uses the same code without any goroutine: synchronous informers, a virtual clock, binding tasks in a
// list, and [Scheduler.TryScheduleOne].
package scheduler
