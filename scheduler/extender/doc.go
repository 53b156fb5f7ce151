// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package extender calls scheduler extenders over HTTP: services that are asked, in addition to the plugins, which nodes are
// feasible for a pod, which are best, and which pods are to be evicted for it, and that may bind it.
//
// [New] builds an [Extender] for every entry of a configuration. Requests and answers are the types of
// k8s.io/kube-scheduler/extender/v1, sent as JSON with POST to the URL prefix and the verb:
//
//	filter      ExtenderArgs            ExtenderFilterResult
//	prioritize  ExtenderArgs            HostPriorityList
//	preempt     ExtenderPreemptionArgs  ExtenderPreemptionResult
//	bind        ExtenderBindingArgs     ExtenderBindingResult
//
// An extender with a cache of nodes of its own (nodeCacheCapable) is sent the names of nodes and the UIDs of victims;
// any other is sent the objects.
//
// # Errors
//
// An extender that can't be reached in time, that answers with another status than 200, with something that is not of
// the right form, with an error of its own, or with nodes and pods that it was not asked about, is an error. Errors
// name the URL and say what the answer was. What becomes of the pod is up to the caller: [Extender.IsIgnorable] reports
// whether to go on without it.
//
// # Concurrency
//
// An [Extender] never changes and is safe for concurrent use. The official interface has no contexts; a call ends after
// the timeout of the extender at the latest, and with the context given to [Extender.WithContext].
package extender
