// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"iter"

	fwk "k8s.io/kube-scheduler/framework"
)

// IndexedSnapshot is what a snapshot offers, in addition to the official lister, to code that keeps what it knows about nodes from
// one scheduling cycle to the next: every node has a node index, a small integer that stays the same for as long as the node
// lives, so that knowledge lies in flat arrays, and the node indexes that changed can be asked for. Plugins get it by asserting
// the type of fwk.Handle.SnapshotSharedLister.
//
// It may be read by many goroutines, but not while the snapshot is being updated, which happens between cycles.
type IndexedSnapshot interface {
	fwk.SharedLister
	// Generation grows with every update that found a change; zero before the first.
	Generation() int64
	// NodeCount is the number of nodes.
	NodeCount() int
	// IndexCount is larger than every node index in use.
	IndexCount() int
	// NodeAt returns the node with an index, nil if there is none.
	NodeAt(index int) fwk.NodeInfo
	// NodeIndex returns the node index of a node, and whether there is such a node.
	NodeIndex(nodeName string) (int, bool)
	// ListOrder returns the node indexes of the nodes in NodeInfos().List(), index by index, as the list was before any plugin
	// changed it. The order must not be changed. An update may replace the elements of both, but each by a node of the same
	// name: with other nodes, the list and the order are new ones.
	ListOrder() []int
	// ChangedSince yields the node indexes whose node, or whose pods, changed after a generation, once each.
	ChangedSince(generation int64) iter.Seq[int]
}

// SnapshotData is an optional interface of an [IndexedSnapshot]: a place for what plugins know about its nodes and pods, so that
// several plugins, of all profiles, can share it. It is safe for concurrent use.
type SnapshotData interface {
	// Data returns the value under a key, which is what create returned when the key was first used. Keys are compared as
	// those of a map are; an unexported type keeps them apart from those of others. The value lives as long as the
	// snapshot, and is not told of updates.
	Data(key any, create func() any) any
}
