// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package noderesources

import (
	v1 "k8s.io/api/core/v1"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// WeightedResource is one of the resources that a profile wants nodes to be scored by.
type WeightedResource struct {
	Name   v1.ResourceName
	Weight int64
	// scalar resources don't count for pods that don't ask for them.
	scalar bool
}

// NewWeightedResources returns the resources of plugin arguments, in their order.
func NewWeightedResources(specs []configv1.ResourceSpec) []WeightedResource {
	resources := make([]WeightedResource, len(specs))
	for i, spec := range specs {
		name := v1.ResourceName(spec.Name)
		resources[i] = WeightedResource{Name: name, Weight: spec.Weight, scalar: framework.IsScalarResourceName(name)}
	}
	return resources
}

// Requested returns the quantity of each resource in a list, zero for absent ones.
func Requested(resources []WeightedResource, list v1.ResourceList) []int64 {
	requested := make([]int64, len(resources))
	for i := range resources {
		quantity := list[resources[i].Name]
		if resources[i].Name == v1.ResourceCPU {
			requested[i] = quantity.MilliValue()
		} else {
			requested[i] = quantity.Value()
		}
	}
	return requested
}

// Allocatable returns how much of the resource the node has for pods, and zero if the resource does not count for a pod
// that requests that much of it: the node has none, or the pod asks for none of a scalar resource.
func (w *WeightedResource) Allocatable(nodeInfo fwk.NodeInfo, requested int64) int64 {
	if w.scalar && requested == 0 {
		return 0
	}
	return framework.AmountOf(framework.View(nodeInfo).Allocatable(), w.Name)
}

// IsComputeResource reports whether the resource is CPU or memory.
func (w *WeightedResource) IsComputeResource() bool {
	return w.Name == v1.ResourceCPU || w.Name == v1.ResourceMemory
}
