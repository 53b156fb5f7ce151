// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inspect explains the decisions of a scheduler, as values for programs and people.
//
// # Views
//
// A view is a plain value; the names of its fields in JSON are stable:
//
//	[Events]         events and plugins: the events that wake the pods each plugin rejected
//	[Configuration]  a scheduler configuration as it takes effect, with the plugins of every extension point
//	[Differences]    where two configurations differ in effect
//	[Plugins]        the plugins of a registry
//	[Explanation]    the state of a pod and, if it waits, why, for which events, and what blocks it on the closest nodes; see
//	                 [Explainer], for a simulation, and [LiveExplainer], for a running scheduler
//	[Audit]          whether the events of a simulation woke the pods that they made schedulable; see [RunAudit]
//	[Wakeups]        how often each event woke pods in a simulation, and with which result; see [CountWakeups]
//
// The command line tool writes views as text, with a package that is not part of the API.
//
// Views of events are derived from the event map of the framework and the table of events of package framework each time.
//
// # Concurrency
//
// Functions of this package have no state. A view may be read by any number of goroutines. An [Explainer] or [Auditor]
// belongs to one simulation, and to the goroutine that runs it. A [LiveExplainer] is safe for concurrent use.
package inspect
