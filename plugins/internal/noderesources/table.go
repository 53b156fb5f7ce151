// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package noderesources

import (
	"sync"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// Place is where an amount stands in a [Row].
type Place int

// The places of a row.
const (
	AllocatableCPU Place = iota // thousandths of a core, as all of CPU
	AllocatableMemory
	AllocatableStorage // ephemeral, in bytes
	AllocatablePods
	RequestedCPU
	RequestedMemory
	RequestedStorage
	RequestedPods
	NonZeroCPU // with what counts for containers that don't ask
	NonZeroMemory
	Derived // see [Table]
	places
)

// Row is what a node has for pods and what is taken of it, without scalar resources.
type Row [places]int64

// Table has a row for every slot of a snapshot, one beside the other in memory, so that going through all nodes is fast.
// The zero value is an empty table. It is safe for concurrent use; rows must not be changed.
type Table struct {
	// Derive works out what else is kept of a row, in its place Derived; nil for nothing.
	Derive func(row *Row) int64

	mu         sync.Mutex
	nodes      framework.SlotLister
	generation int64
	rows       []Row
}

// Rows brings the table up to date and returns it, by slot. Rows of slots without a node mean nothing. The slice is good
// until the snapshot changes.
func (t *Table) Rows(nodes framework.SlotLister) []Row {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.nodes != nodes {
		t.nodes, t.generation = nodes, 0
	}
	if t.generation == nodes.Generation() {
		return t.rows
	}
	if missing := nodes.SlotCount() - len(t.rows); missing > 0 {
		t.rows = append(t.rows, make([]Row, missing)...)
	}
	for slot := range nodes.ChangedSince(t.generation) {
		if node := nodes.NodeAt(slot); node != nil {
			row := newRow(node)
			if t.Derive != nil {
				row[Derived] = t.Derive(&row)
			}
			t.rows[slot] = row
		}
	}
	t.generation = nodes.Generation()
	return t.rows
}

func newRow(node fwk.NodeInfo) Row {
	allocatable, requested, nonZero := node.GetAllocatable(), node.GetRequested(), node.GetNonZeroRequested()
	return Row{
		AllocatableCPU:     allocatable.GetMilliCPU(),
		AllocatableMemory:  allocatable.GetMemory(),
		AllocatableStorage: allocatable.GetEphemeralStorage(),
		AllocatablePods:    int64(allocatable.GetAllowedPodNumber()),
		RequestedCPU:       requested.GetMilliCPU(),
		RequestedMemory:    requested.GetMemory(),
		RequestedStorage:   requested.GetEphemeralStorage(),
		RequestedPods:      int64(len(node.GetPods())),
		NonZeroCPU:         nonZero.GetMilliCPU(),
		NonZeroMemory:      nonZero.GetMemory(),
	}
}

// AllocatablePlace is where a row has how much of a resource a node has; false for scalar resources.
func AllocatablePlace(name v1.ResourceName) (Place, bool) {
	switch name {
	case v1.ResourceCPU:
		return AllocatableCPU, true
	case v1.ResourceMemory:
		return AllocatableMemory, true
	case v1.ResourceEphemeralStorage:
		return AllocatableStorage, true
	default:
		return 0, false
	}
}

// RequestedPlace is where a row has what is taken of the resource whose allocatable amount stands at a place.
func RequestedPlace(allocatable Place) Place { return allocatable - AllocatableCPU + RequestedCPU }
