// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package topology is what plugins keep from one scheduling cycle to the next when their answers depend on the pods of
// many nodes. A domain is the nodes that have the same value for a topology key, which is the name of a label.
//
// [Domains] numbers the domains of a topology key, and has that of every node by node index; an [SharedDomains] shares them.
// Tables made on top of that are brought up to date from the nodes that changed, see [Changes]. [Sparse] holds numbers of
// which most are zero. [IndexedNodesOf] gives nodes indexes where a snapshot has none, so that there is one way to count,
// whether or not what is counted can be kept.
//
// Nothing here has a lock: what changes is changed under the lock of the plugin, in PreFilter or before all nodes are
// scored, and only when the snapshot has changed since. So within a cycle it may be read by many goroutines.
package topology
