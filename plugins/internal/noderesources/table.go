// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package noderesources

import (
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
	Derived // see [NewTable]
	places
)

// Row is what a node has for pods and what is taken of it, without scalar resources.
type Row [places]int64

// Table has a row for every slot of a snapshot.
type Table = framework.SlotTable[Row]

// NewTable returns an empty table. In the place Derived of a row it keeps what derive makes of the row; derive may be nil.
func NewTable(derive func(row *Row) int64) *Table {
	return framework.NewSlotTable(func(node fwk.NodeInfo) Row {
		row := newRow(node)
		if derive != nil {
			row[Derived] = derive(&row)
		}
		return row
	})
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
