// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package queue is the scheduling queue: it knows which pods are to be tried, in which order, which of them wait and
// for what, and what happened while they were tried.
//
// Its pools are those of kube-scheduler's PriorityQueue: the active pool is the activeQ, the backoff pool the backoffQ, and
// unschedulable and gated pods are together the pool of unschedulable pods. [Queue.Move] is MoveAllToActiveOrBackoffQueue,
// and the log of events for pods in flight is inFlightEvents.
//
// # The life of a pod
//
// A new pod ([Queue.Add]) is active, unless a PreEnqueue plugin gates it. [Queue.Pop] takes the active pod that is first
// by the order of the queue sort plugin, and puts it in flight. When its attempt fails, [Queue.AddUnschedulable] brings
// it back with the names of the plugins that rejected it. Without any, something went wrong and the pod is tried again
// after a backoff. Otherwise it is unschedulable and waits until it is woken by an event that one of those plugins
// registered, and for which the plugin's queueing hint returns Queue. Then it is tried again, after its backoff if that
// is still going on; a plugin that rejected it as Pending can spare it the backoff. A pod for which nothing happens is
// tried again after the unschedulable timeout all the same.
//
// Backoff starts with one second and doubles with every attempt up to ten. It ends in windows of whole seconds, within
// which pods are ordered by priority. When no pod is active, Pop takes the pod whose backoff ends first, before it ends,
// unless an error put it there. It does so as often as something that happens in the cluster wakes the pod. But a pod
// that was popped early without success, and is woken because another attempt failed ([Queue.MoveAfterFailure]), waits
// out its backoff, even if an activation has it tried in between. So pods that wake each other by failing, as those of a
// gang do that does not fit, are tried early at most once per backoff.
//
// # Events
//
// [Queue.Move] is told what happens in the cluster. It does not look at all pods. Those that wait are indexed by
// profile and plugin that rejected them, within that by the plugin that gates them, and within that by class: pods that
// the hints of the plugin cannot tell apart, as [Profile].HintClass says. An event costs one hint for each class that
// was rejected by a plugin that registered it, and the pods that really wake; [Queue.Stats] counts both. One that no
// plugin registered costs a map lookup. A PreQueueingHintFn limits the hint that it is registered with to the pods that it
// names. Only the wildcard events look at all pods, as they must. The outcome is
// that of asking every hint about every pod, and a test holds the two against each other.
//
// Events also count for pods in flight: they are kept in one log, from when the oldest pod in flight was popped, and
// checked when a pod comes back. The log is bounded; a pod that is in flight for so long that it overflows is tried again
// after its backoff, since it is not known what it missed.
//
// docs/requeueing.md states all of this as numbered rules, and what they guarantee.
//
// # Time
//
// The queue starts no goroutine and no timer of its own. It reads the time from the clock in its options, and moves pods
// as time passes only when told to, by [Queue.FlushBackoff] and [Queue.FlushUnschedulable]. [Queue.Run] does that in
// real time; a simulation calls them itself, at the instants that [Queue.NextFlush] returns. Apart from the clock the
// queue is deterministic: the same calls have the same outcome, in the same order.
//
// # Concurrency
//
// All methods are safe for concurrent use. Hints, PreEnqueue plugins and HintClass run under a lock that everything that
// changes the queue needs, except for Pop, TryPop and Done, so that the scheduler never waits for them. They must not
// call the queue, with the exception of the methods of [Nominator]. A panic in one of them is logged, and does what an
// error does.
package queue
