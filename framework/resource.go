// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"maps"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

var _ fwk.Resource = &Resource{}

// Resource is an amount of each resource, as a node offers or pods request them. CPU is in thousandths of a core, memory
// and ephemeral storage are in bytes, and other resources are in their own unit; fractions are rounded up. The zero value
// is nothing of any resource. It is not safe for concurrent changes.
type Resource struct {
	MilliCPU, Memory, EphemeralStorage int64
	// AllowedPodNumber is how many pods a node takes, which is its amount of the resource "pods". Pods request none.
	AllowedPodNumber int
	// ScalarResources has the resources for which [IsScalarResourceName] is true. It may be nil.
	ScalarResources map[v1.ResourceName]int64
}

// NewResource returns the amounts in a list, which may be nil; see [Resource.Add].
func NewResource(list v1.ResourceList) *Resource {
	r := new(Resource)
	r.Add(list)
	return r
}

// Add adds the amounts in a list. Resources that have no field and are not scalar ones are left out. Adding to nil does
// nothing.
func (r *Resource) Add(list v1.ResourceList) {
	if r == nil {
		return
	}
	r.combine(list, func(amount, listed int64) int64 { return amount + listed })
	r.AllowedPodNumber += int(list.Pods().Value())
}

// SetMaxResource implements fwk.Resource: of each resource in the list that Add would add, the larger amount counts from
// now on. The number of pods stays as it is.
func (r *Resource) SetMaxResource(list v1.ResourceList) {
	if r == nil {
		return
	}
	r.combine(list, func(amount, listed int64) int64 { return max(amount, listed) })
}

// combine replaces the amount of each resource in a list, except for the number of pods, by what comes of it and the listed
// amount.
func (r *Resource) combine(list v1.ResourceList, result func(amount, listed int64) int64) {
	for name, listed := range list {
		if name == v1.ResourceCPU {
			r.MilliCPU = result(r.MilliCPU, listed.MilliValue())
		} else if bytes := r.bytesOf(name); bytes != nil {
			*bytes = result(*bytes, listed.Value())
		} else if IsScalarResourceName(name) {
			r.setScalar(name, result(r.ScalarResources[name], listed.Value()))
		}
	}
}

// bytesOf returns the field of a resource that is counted in bytes; nil if it has none.
func (r *Resource) bytesOf(name v1.ResourceName) *int64 {
	if name == v1.ResourceMemory {
		return &r.Memory
	}
	if name == v1.ResourceEphemeralStorage {
		return &r.EphemeralStorage
	}
	return nil
}

func (r *Resource) setScalar(name v1.ResourceName, amount int64) {
	if r.ScalarResources == nil {
		r.ScalarResources = make(map[v1.ResourceName]int64, 1)
	}
	r.ScalarResources[name] = amount
}

// Clone returns a copy that shares nothing with the original.
func (r *Resource) Clone() *Resource {
	copied := *r
	copied.ScalarResources = maps.Clone(copied.ScalarResources)
	return &copied
}

// addRequests adds what pods request, or takes it away if sign is -1; pods don't request pods. A scalar resource of which
// nothing is left is forgotten, so that a node does not remember the names that its former pods asked for.
func (r *Resource) addRequests(requests *Resource, sign int64) {
	r.MilliCPU += sign * requests.MilliCPU
	r.Memory += sign * requests.Memory
	r.EphemeralStorage += sign * requests.EphemeralStorage
	for name, requested := range requests.ScalarResources {
		if left := r.ScalarResources[name] + sign*requested; left != 0 {
			r.setScalar(name, left)
		} else {
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

// AmountOf returns how much of a resource a vector has: thousandths of a core, bytes or units. It does not count pods.
func AmountOf(vector fwk.Resource, name v1.ResourceName) int64 {
	switch name {
	case v1.ResourceCPU:
		return vector.GetMilliCPU()
	case v1.ResourceMemory:
		return vector.GetMemory()
	case v1.ResourceEphemeralStorage:
		return vector.GetEphemeralStorage()
	}
	return vector.GetScalarResources()[name]
}
