// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"iter"

	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// IndexedNodesOf returns nodes by node index: the snapshot itself if they are all its nodes and it has indexes, and
// otherwise indexes good for a single use. Lasting reports which.
func IndexedNodesOf(snapshot fwk.SharedLister, nodes []fwk.NodeInfo) (_ framework.IndexedSnapshot, lasting bool) {
	if indexes, ok := snapshot.(framework.IndexedSnapshot); ok {
		if all, err := indexes.NodeInfos().List(); err == nil && same(all, nodes) {
			return indexes, true
		}
	}
	return listing{nodes: nodes}, false
}

// same reports whether two lists are one in memory.
func same(a, b []fwk.NodeInfo) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// listing numbers the nodes of a list, in the order of the list, for as long as nothing changes. Only what tables need is
// there: nodes by index.
type listing struct {
	framework.IndexedSnapshot
	nodes []fwk.NodeInfo
}

// Generation implements framework.IndexedSnapshot.
func (l listing) Generation() int64 { return 1 }

// NodeCount implements framework.IndexedSnapshot.
func (l listing) NodeCount() int { return len(l.nodes) }

// IndexCount implements framework.IndexedSnapshot.
func (l listing) IndexCount() int { return len(l.nodes) }

// NodeAt implements framework.IndexedSnapshot.
func (l listing) NodeAt(index int) fwk.NodeInfo { return l.nodes[index] }

// ChangedSince implements framework.IndexedSnapshot.
func (l listing) ChangedSince(generation int64) iter.Seq[int] {
	return func(yield func(int) bool) {
		for index := range l.nodes {
			if generation >= 1 || !yield(index) {
				return
			}
		}
	}
}
