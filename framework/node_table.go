// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"sync"

	fwk "k8s.io/kube-scheduler/framework"
)

// NodeTable keeps what follows from each node alone, by node index in one slice, and brings it up to date
// from what changed in a snapshot. Make one with [NewNodeTable]. It is safe for concurrent use; rows must not be changed.
type NodeTable[Row any] struct {
	newRow func(node fwk.NodeInfo) Row

	// mu guards the fields below.
	mu         sync.Mutex
	nodes      IndexedSnapshot
	generation int64
	rows       []Row
}

// NewNodeTable returns an empty table whose rows newRow makes. It is called again for a node whenever it has changed.
func NewNodeTable[Row any](newRow func(node fwk.NodeInfo) Row) *NodeTable[Row] {
	return &NodeTable[Row]{newRow: newRow}
}

// Rows brings the table up to date and returns it, by node index. Rows of node indexes without a node mean nothing. The slice is good
// until the snapshot changes.
func (t *NodeTable[Row]) Rows(nodes IndexedSnapshot) []Row {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.nodes != nodes {
		t.nodes, t.generation = nodes, 0
	}
	if t.generation == nodes.Generation() {
		return t.rows
	}
	if missing := nodes.IndexCount() - len(t.rows); missing > 0 {
		t.rows = append(t.rows, make([]Row, missing)...)
	}
	for index := range nodes.ChangedSince(t.generation) {
		if node := nodes.NodeAt(index); node != nil {
			t.rows[index] = t.newRow(node)
		}
	}
	t.generation = nodes.Generation()
	return t.rows
}
