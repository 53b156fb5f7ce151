// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"maps"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	fwk "k8s.io/kube-scheduler/framework"
)

var _ fwk.Resource = &Resource{}

// Resource is a vector of compute resources as plain integers: CPU in thousandths of a core, memory and ephemeral
// storage in bytes, every other resource in its own unit, all rounded up. The zero value is an empty vector.
type Resource struct {
	MilliCPU         int64
	Memory           int64
	EphemeralStorage int64
	// AllowedPodNumber is the number of pods a node takes; it is set from the resource "pods" and means nothing for
	// the requests of a pod.
	AllowedPodNumber int
	// ScalarResources holds extended resources, huge pages and attachable volumes. It may be nil.
	ScalarResources map[v1.ResourceName]int64
}

// NewResource returns the sum of nothing and the given list, which may be nil.
func NewResource(list v1.ResourceList) *Resource {
	r := &Resource{}
	r.Add(list)
	return r
}

// Add adds every quantity of the list. Names that the scheduler does not account for (see [IsScalarResourceName])
// are ignored.
func (r *Resource) Add(list v1.ResourceList) {
	if r == nil {
		return
	}
	for name, quantity := range list {
		switch name {
		case v1.ResourceCPU:
			r.MilliCPU += quantity.MilliValue()
		case v1.ResourceMemory:
			r.Memory += quantity.Value()
		case v1.ResourceEphemeralStorage:
			r.EphemeralStorage += quantity.Value()
		case v1.ResourcePods:
			r.AllowedPodNumber += int(quantity.Value())
		default:
			if IsScalarResourceName(name) {
				r.AddScalar(name, quantity.Value())
			}
		}
	}
}

// AddScalar adds quantity to a scalar resource.
func (r *Resource) AddScalar(name v1.ResourceName, quantity int64) {
	r.SetScalar(name, r.ScalarResources[name]+quantity)
}

// SetScalar sets a scalar resource.
func (r *Resource) SetScalar(name v1.ResourceName, quantity int64) {
	if r.ScalarResources == nil {
		r.ScalarResources = map[v1.ResourceName]int64{}
	}
	r.ScalarResources[name] = quantity
}

// SetMaxResource raises every resource to its quantity in the list where that is larger; "pods" is left alone.
func (r *Resource) SetMaxResource(list v1.ResourceList) {
	if r == nil {
		return
	}
	for name, quantity := range list {
		switch name {
		case v1.ResourceCPU:
			r.MilliCPU = max(r.MilliCPU, quantity.MilliValue())
		case v1.ResourceMemory:
			r.Memory = max(r.Memory, quantity.Value())
		case v1.ResourceEphemeralStorage:
			r.EphemeralStorage = max(r.EphemeralStorage, quantity.Value())
		default:
			if IsScalarResourceName(name) {
				r.SetScalar(name, max(r.ScalarResources[name], quantity.Value()))
			}
		}
	}
}

// Clone returns a deep copy.
func (r *Resource) Clone() *Resource {
	clone := *r
	clone.ScalarResources = maps.Clone(r.ScalarResources)
	return &clone
}

// ResourceList returns the vector as API quantities, in the formats that users write: decimal for CPU and scalars,
// binary for memory and ephemeral storage.
func (r *Resource) ResourceList() v1.ResourceList {
	list := v1.ResourceList{
		v1.ResourceCPU:              *resource.NewMilliQuantity(r.MilliCPU, resource.DecimalSI),
		v1.ResourceMemory:           *resource.NewQuantity(r.Memory, resource.BinarySI),
		v1.ResourceEphemeralStorage: *resource.NewQuantity(r.EphemeralStorage, resource.BinarySI),
		v1.ResourcePods:             *resource.NewQuantity(int64(r.AllowedPodNumber), resource.DecimalSI),
	}
	for name, quantity := range r.ScalarResources {
		list[name] = *resource.NewQuantity(quantity, resource.DecimalSI)
	}
	return list
}

// addScaled adds sign times the other vector; AllowedPodNumber is left alone. A scalar resource that comes out as zero
// is forgotten, so that a node does not remember the names that its former pods asked for.
func (r *Resource) addScaled(other *Resource, sign int64) {
	r.MilliCPU += sign * other.MilliCPU
	r.Memory += sign * other.Memory
	r.EphemeralStorage += sign * other.EphemeralStorage
	for name, quantity := range other.ScalarResources {
		r.AddScalar(name, sign*quantity)
		if r.ScalarResources[name] == 0 {
			delete(r.ScalarResources, name)
		}
	}
}

// GetMilliCPU implements fwk.Resource.
func (r *Resource) GetMilliCPU() int64 { return r.MilliCPU }

// GetMemory implements fwk.Resource.
func (r *Resource) GetMemory() int64 { return r.Memory }

// GetEphemeralStorage implements fwk.Resource.
func (r *Resource) GetEphemeralStorage() int64 { return r.EphemeralStorage }

// GetAllowedPodNumber implements fwk.Resource.
func (r *Resource) GetAllowedPodNumber() int { return r.AllowedPodNumber }

// GetScalarResources implements fwk.Resource. The map is not a copy.
func (r *Resource) GetScalarResources() map[v1.ResourceName]int64 { return r.ScalarResources }
