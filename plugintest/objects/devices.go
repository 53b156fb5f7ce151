// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ResourceClaimBuilder makes a claim for devices, as [PodBuilder] makes a pod. Make one with [ResourceClaim].
type ResourceClaimBuilder struct {
	claim *resourceapi.ResourceClaim
}

// ResourceClaim begins a claim of the given name in the namespace default, which is not allocated.
func ResourceClaim(name string) ResourceClaimBuilder {
	return ResourceClaimBuilder{&resourceapi.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name},
	}}
}

// Build returns the claim. One without a UID gets namespace/name.
func (b ResourceClaimBuilder) Build() *resourceapi.ResourceClaim {
	return b.With(func(claim *resourceapi.ResourceClaim) {
		if claim.UID == "" {
			claim.UID = types.UID(claim.Namespace + "/" + claim.Name)
		}
	}).claim
}

// With changes the claim in ways that the builder has no method for.
func (b ResourceClaimBuilder) With(changes ...func(claim *resourceapi.ResourceClaim)) ResourceClaimBuilder {
	if b.claim == nil {
		b = ResourceClaim("")
	}
	changed := b.claim.DeepCopy()
	for _, change := range changes {
		change(changed)
	}
	return ResourceClaimBuilder{changed}
}

// Request asks for a number of devices of a class, by the name of the request.
func (b ResourceClaimBuilder) Request(name, class string, count int64) ResourceClaimBuilder {
	return b.With(func(claim *resourceapi.ResourceClaim) {
		claim.Spec.Devices.Requests = append(claim.Spec.Devices.Requests, resourceapi.DeviceRequest{
			Name: name,
			Exactly: &resourceapi.ExactDeviceRequest{
				DeviceClassName: class, AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: count,
			},
		})
	})
}

// DeviceClass returns a class of the devices that all selectors match, which are CEL expressions.
func DeviceClass(name string, selectors ...string) *resourceapi.DeviceClass {
	class := &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
	for _, expression := range selectors {
		class.Spec.Selectors = append(class.Spec.Selectors,
			resourceapi.DeviceSelector{CEL: &resourceapi.CELDeviceSelector{Expression: expression}})
	}
	return class
}

// ResourceSlice returns a slice with devices of a driver on a node, alone in a pool that has the name of the node. The
// slice has that name, too.
func ResourceSlice(driver, node string, devices ...string) *resourceapi.ResourceSlice {
	slice := &resourceapi.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: node, UID: types.UID(node)}}
	slice.Spec = resourceapi.ResourceSliceSpec{
		Driver: driver, NodeName: &node,
		Pool: resourceapi.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1},
	}
	for _, device := range devices {
		slice.Spec.Devices = append(slice.Spec.Devices, resourceapi.Device{Name: device})
	}
	return slice
}
