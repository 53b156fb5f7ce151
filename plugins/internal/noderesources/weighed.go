// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package noderesources

import (
	v1 "k8s.io/api/core/v1"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// Weighed is one of the resources that a profile wants nodes to be scored by.
type Weighed struct {
	Name   v1.ResourceName
	Weight int64
	// scalar resources don't count for pods that don't ask for them.
	scalar bool
}

// NewWeighed returns the resources of plugin arguments, in their order.
func NewWeighed(specs []configv1.ResourceSpec) []Weighed {
	weighed := make([]Weighed, len(specs))
	for i, spec := range specs {
		name := v1.ResourceName(spec.Name)
		weighed[i] = Weighed{Name: name, Weight: spec.Weight, scalar: framework.IsScalarResourceName(name)}
	}
	return weighed
}

// Requested returns the quantity of each weighed resource in a list, zero for absent ones.
func Requested(weighed []Weighed, list v1.ResourceList) []int64 {
	requested := make([]int64, len(weighed))
	for i := range weighed {
		quantity := list[weighed[i].Name]
		if weighed[i].Name == v1.ResourceCPU {
			requested[i] = quantity.MilliValue()
		} else {
			requested[i] = quantity.Value()
		}
	}
	return requested
}

// Allocatable returns how much of the resource the node has for pods, and zero if the resource does not count for a pod
// that requests that much of it: the node has none, or the pod asks for none of a scalar resource.
func (w *Weighed) Allocatable(nodeInfo fwk.NodeInfo, requested int64) int64 {
	if w.scalar && requested == 0 {
		return 0
	}
	return Amount(framework.View(nodeInfo).Allocatable(), w.Name)
}

// IsComputeResource reports whether the resource is CPU or memory.
func (w *Weighed) IsComputeResource() bool {
	return w.Name == v1.ResourceCPU || w.Name == v1.ResourceMemory
}

// Amount returns one element of a resource vector.
func Amount(vector fwk.Resource, name v1.ResourceName) int64 {
	switch name {
	case v1.ResourceCPU:
		return vector.GetMilliCPU()
	case v1.ResourceMemory:
		return vector.GetMemory()
	case v1.ResourceEphemeralStorage:
		return vector.GetEphemeralStorage()
	default:
		return vector.GetScalarResources()[name]
	}
}
