// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cache holds the cluster as the scheduler sees it: its nodes, the pods on them, and the pods that the
// scheduler has placed but that the API server has not confirmed yet.
//
// # Cache and snapshots
//
// A [Cache] is fed by informer handlers ([Cache.AddNode], [Cache.AddPod] and so on) and by the scheduler itself
// ([Cache.AssumePod], [Cache.ForgetPod]). A scheduling cycle never reads it directly: it works on a [Snapshot], which
// [Cache.UpdateSnapshot] brings up to date. The cost of an update follows the number of nodes that changed since this
// snapshot was last updated, not the size of the cluster. A cache takes nothing from a snapshot and a snapshot leaves
// nothing in a cache, so that any number of snapshots can follow one cache, each at its own pace. [NewSnapshot] makes a
// snapshot from plain lists, for tests and simulations.
//
// # Pods
//
// A pod is known by its UID and is in one of three states:
//
//	         AssumePod             AddPod (confirms)
//	unknown -----------> assumed --------------------> added --.
//	   | ^                  |                           ^  |   | UpdatePod
//	   | |  ForgetPod       |                           |  '---'
//	   | '--RemoveAssumedPod'                           |
//	   '------------------------ AddPod ----------------'
//
// RemovePod leads from either state back to unknown. An assumed pod counts on its node like any other. It stays
// assumed until one of these calls ends that; only with Options.AssumedPodTTL does it also expire. The API server is
// always right: a pod that was assumed on one node and appears on another is moved there.
//
// # Nodes
//
// Pods and nodes arrive in any order. Pods whose node is unknown yet, or already gone, are kept on an entry without a
// node object, which no snapshot shows. Snapshots list nodes in an order that alternates between zones, so that a
// search that looks at a part of the list sees all zones. The order is computed again when the set of nodes changes.
//
// # Node indexes
//
// Each node has an index: a small integer that stays the same for as long as the node lives, and which a later node may
// get again. Indexes let code above keep what it knows about nodes in flat arrays. [Snapshot.ChangedSince] says which
// node indexes changed since a generation; generations come from one counter per cache and only grow.
//
// # Concurrency
//
// A Cache is safe for concurrent use; one lock guards all of it, held exclusively by everything that changes it, and by
// UpdateSnapshot, which records what a snapshot was given, and shared by all other readers. A Snapshot is not locked:
// it is updated by one goroutine at a time, and may be read by many between two updates. The node infos in it are never
// changed after they are put there, an update replaces them; a goroutine that outlives a scheduling cycle may keep a
// node info, but not a list.
//
// Objects given to a Cache are kept, not copied, and must not be changed afterwards. The package has no state of its
// own, starts no goroutine, and never ends the process: where the bookkeeping meets events that contradict each other
// it follows the newest one and returns a [*CorruptedError].
package cache
