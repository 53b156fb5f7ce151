// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inspect shows what the other packages know, to people and to programs.
//
// # Views
//
// A view is a plain value that is made from what is to be shown:
//
//	[Events]         the event maps of profiles: which events wake pods that which plugins rejected
//	[Configuration]  a scheduler configuration as it takes effect, with the plugins of every extension point
//	[Differences]    where two configurations differ in effect
//	[Plugins]        the registry
//	[Report]         what came of a simulation
//	[Explanation]    where a pod is and, if it waits, why, for what, and how far it is from a node; see [Explainer],
//	                 which is for a simulation, and [LiveExplainer], which is for a scheduler at work
//	[Audit]          whether the events of a simulation woke the pods that they helped; see [RunAudit]
//
// The fields of every view have stable names in JSON. The command line tool writes views as text, with a package that is
// not part of the API. [CountWakeups] sums up the trace of a simulation.
//
// Views of events are derived from the event map of the runtime and the table of events of package framework each time
// they are made.
//
// # Concurrency
//
// Functions of this package have no state. A view may be read by any number of goroutines. An [Explainer] or [Auditor]
// belongs to one simulation, and to the goroutine that runs it. A [LiveExplainer] is safe for concurrent use.
package inspect
