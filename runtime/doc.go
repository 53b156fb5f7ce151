// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package runtime builds the plugins of a profile and runs them.
//
// A [Registry] says how to build every plugin there is, a profile says which of them run at which extension point, and
// [NewFramework] makes a [Framework] of the two. For the scheduler, the Framework has a Run method for every extension
// point; for plugins, it is their fwk.Handle. [NewProfiles] does the same for all profiles of a configuration.
//
// # The event map
//
// While it builds the plugins, NewFramework asks each that can reject a pod which cluster events could change that
// (fwk.EnqueueExtensions), and adds the answers to one map from event to plugins, [Framework.EventMap].
// [Framework.Registrations] has the queueing hints that belong to them. A plugin that does not say waits for
// everything, and all extenders together are registered under the name [ExtenderName].
//
// # Statuses
//
// Whatever plugins return, Run methods return a status whose code the extension point allows: rejections as they are,
// with the name of the plugin, and everything unexpected as an Error that says which plugin and where. Statuses that
// plugins return are never changed, so that a plugin may use one for many pods and nodes.
//
// A plugin that panics fails the pod, not the process: the status is an Error with a [PanicError], and the stack goes
// to the log. A queueing hint that panics wakes the pod.
//
// # Cached verdicts
//
// [Framework.Search] finds the best of all nodes without asking every plugin about every node: the verdicts and scores of a
// plugin that implements framework.FilterKeyPlugin or framework.ScoreKeyPlugin are cached until the node changes. The verdicts
// of all these plugins are combined, and their scores added up, for pods that they treat alike; a tree over the totals finds
// the best nodes. Plugins without keys are asked last, about few nodes. The page docs/verdict-caches.md describes all of it.
// The other Run methods ask plugins each time.
//
// # Concurrency
//
// All methods of a Framework that is built may be called concurrently; searches run one at a time. Plugins are called in
// the caller's goroutine, except that Score, NormalizeScore and the PreBind plugins of a group run in several.
// Options.Parallelism limits those; with one there is no other goroutine, and Options.Execution.Clock decides about
// time, so a simulation has the same result on every run. It uses [Framework.OnPermitDecided], since WaitOnPermit
// blocks.
//
// Nothing is shared between frameworks unless it is in the options of both.
package runtime
