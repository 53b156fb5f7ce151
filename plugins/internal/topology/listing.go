// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"iter"

	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// IndexedNodesOf returns nodes with slots: those of the snapshot if they are all its nodes and it has slots, and otherwise
// slots good for a single use. Lasting tells which.
func IndexedNodesOf(snapshot fwk.SharedLister, nodes []fwk.NodeInfo) (_ framework.IndexedSnapshot, lasting bool) {
	if slots, ok := snapshot.(framework.IndexedSnapshot); ok {
		if all, err := slots.NodeInfos().List(); err == nil && same(all, nodes) {
			return slots, true
		}
	}
	return listing{nodes: nodes}, false
}

// same tells whether two lists are one in memory.
func same(a, b []fwk.NodeInfo) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// listing gives the nodes of a list slots, in the order of the list, for as long as nothing changes. Only what tables
// need is there: nodes by slot.
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
func (l listing) NodeAt(slot int) fwk.NodeInfo { return l.nodes[slot] }

// ChangedSince implements framework.IndexedSnapshot.
func (l listing) ChangedSince(generation int64) iter.Seq[int] {
	return func(yield func(int) bool) {
		for slot := range l.nodes {
			if generation >= 1 || !yield(slot) {
				return
			}
		}
	}
}
