// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package preemption makes room for pods that fit nowhere, by evicting pods of lower priority. The plugin
// DefaultPreemption is little more than an [Evaluator]; a plugin that wants other pods to give way, or other nodes to be
// preferred, is an Evaluator with [Hooks] of its own.
//
// # What an Evaluator does
//
// [Evaluator.Preempt] is called in PostFilter, for a pod that no node accepts:
//
//  1. Is the pod allowed to preempt at all, and is it not waiting for its victims to end already?
//  2. For every node that rejected the pod for a reason that the eviction of pods may remove, a dry run finds the pods
//     that would have to go. All pods that may be evicted are taken from a copy of the node; then, the most important
//     first, each comes back that leaves the pod enough room. Those that don't are the victims, and the node is
//     a candidate. The search begins at a random node and ends when it has enough candidates.
//  3. Extenders may choose other victims, or turn nodes down.
//  4. The best candidate is where the eviction does least harm: fewest pods whose disruption budget is exceeded, then
//     lowest priority of the most important victim, and so on.
//  5. The node is nominated for the pod, nominations of less important pods for it are withdrawn, and the victims are
//     evicted.
//
// # Evictions run in the background
//
// Evicting is one or two API calls a victim, and the scheduling cycle does not wait for them. Until they are done the
// pod must not be tried again, or it would preempt elsewhere too. So a plugin has to hold it back in PreEnqueue while
// [Evaluator.Preempting] says so, and to register the event that victims cause, AssignedPod/Delete, in order to be asked
// again; the hint may return Skip, since it is for other plugins to say whether the pod fits then. An event that would have
// brought the pod back meanwhile is made up for by activating it. A plugin that does not want that sets Options.Synchronous.
//
// # Writing hooks
//
// Embed [DefaultHooks] and override what is to be different:
//
//	type hooks struct {
//		*preemption.DefaultHooks
//		quota *quota
//	}
//
//	func (h *hooks) PodEligibleToPreemptOthers(ctx context.Context, pod *v1.Pod, nominated *fwk.Status) (bool, string) {
//		if !h.quota.allows(pod) {
//			return false, "the quota of its namespace is used up"
//		}
//		return h.DefaultHooks.PodEligibleToPreemptOthers(ctx, pod, nominated)
//	}
//
// Which pods may be evicted, and which of two is the more important one, needs no method: see [HooksOptions]. A
// SelectVictimsOnNode of one's own finds its tools here too: [SplitByBudgets] and [MoreImportantPod].
//
// # Concurrency
//
// An Evaluator is safe for concurrent use. Hooks are called from the goroutine of Preempt, except SelectVictimsOnNode,
// which is called for several nodes at a time. Where the handle's parallelism is one, everything runs in order in the
// caller's goroutine, and two runs of the same simulation choose the same victims: the random node comes from the seed of
// the handle, and ties go to the node that was searched first.
package preemption
