// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package advice finds the smallest changes to a cluster that would let a waiting pod be scheduled, such as "free 1.5 cpu on n3"
// or "tolerate gpu=true:NoSchedule":
//
//	suggestions, err := advice.For(ctx, cluster, pod, advice.Options{})
//
// # How suggestions are found
//
// On the nodes with the fewest blockers, each blocker is given a few changes that may remove it. They are only proposals: a
// combination of them becomes a suggestion if it is applied to a fork of the cluster, and the plugins of the pod's profile then
// find a node for the pod there. What remains is made as small as it can be: a change is dropped if the rest does without, and
// combinations of fewer changes are tried first. So a plugin that needs more than was proposed costs a suggestion, and never
// makes one wrong.
//
// # What is not suggested
//
// Labels with the prefix of Kubernetes, such as zones and host names, are given to nodes that lack them and never changed. A pod
// is never asked to tolerate that its node is not ready. What nodes and pods of out-of-tree plugins need is not known; there the
// end of pods is tried.
package advice
