// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

const (
	gpuDriver = "gpu.example.com"
	servedGPU = v1.ResourceName("example.com/gpu")
)

// device returns a claim, slice, class or rule, which is new, or replaces the one of its name.
func (c *comparison) device() apiruntime.Object {
	r := c.random
	switch r.IntN(8) {
	case 0:
		class := objects.DeviceClass(fmt.Sprintf("gpu-%d", r.IntN(2)))
		if r.IntN(2) == 0 {
			class.Spec.ExtendedResourceName = ptr.To(string(servedGPU))
		}
		return class
	case 1:
		rule := &resourceapi.DeviceTaintRule{ObjectMeta: metav1.ObjectMeta{Name: "rule"}}
		rule.Spec.Taint = resourceapi.DeviceTaint{Key: "hot", Effect: resourceapi.DeviceTaintEffectNoSchedule, TimeAdded: ptr.To(metav1.Unix(1, 0))}
		rule.Spec.DeviceSelector = &resourceapi.DeviceTaintSelector{Pool: ptr.To(fmt.Sprintf("gpu-n%d", r.IntN(14)))}
		return rule
	case 2, 3, 4:
		return c.deviceSlice()
	}
	return c.deviceClaim()
}

// deviceSlice returns devices of a node, or of all nodes of a zone.
func (c *comparison) deviceSlice() *resourceapi.ResourceSlice {
	r := c.random
	name := fmt.Sprintf("n%d", r.IntN(14))
	slice := &resourceapi.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "gpu-" + name}}
	slice.Spec = resourceapi.ResourceSliceSpec{
		Driver: gpuDriver, NodeName: &name, Pool: resourceapi.ResourcePool{Name: "gpu-" + name, Generation: 1, ResourceSliceCount: 1},
	}
	if r.IntN(6) == 0 {
		slice.Name, slice.Spec.Pool.Name, slice.Spec.NodeName = "gpu-zone", "gpu-zone", nil
		slice.Spec.NodeSelector = &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{
			{Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpIn, Values: []string{c.someZone()[v1.LabelTopologyZone]}},
		}}}}
	}
	for i := range 1 + r.IntN(4) {
		device := resourceapi.Device{Name: fmt.Sprintf("gpu-%d", i)}
		if r.IntN(4) == 0 {
			device.AllowMultipleAllocations = ptr.To(true)
			device.Capacity = map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"memory": {Value: resource.MustParse("10Gi")}}
		}
		slice.Spec.Devices = append(slice.Spec.Devices, device)
	}
	return slice
}

// deviceClaim returns a claim that several pods name, with devices or without.
func (c *comparison) deviceClaim() *resourceapi.ResourceClaim {
	r := c.random
	namespace, i := c.someNamespace(), r.IntN(8)
	claim := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("gpus-%d", i)}}
	request := resourceapi.DeviceRequest{Name: "r"}
	exactly := resourceapi.ExactDeviceRequest{
		DeviceClassName: fmt.Sprintf("gpu-%d", r.IntN(2)), AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: int64(1 + r.IntN(2)),
	}
	if r.IntN(5) == 0 {
		exactly.AllocationMode, exactly.Count = resourceapi.DeviceAllocationModeAll, 0
	}
	if r.IntN(2) == 0 {
		request.Exactly = &exactly
	} else {
		for j, count := range []int64{3, 1} {
			request.FirstAvailable = append(request.FirstAvailable, resourceapi.DeviceSubRequest{
				Name: fmt.Sprintf("s%d", j), DeviceClassName: "gpu-0", AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: count,
			})
		}
	}
	claim.Spec.Devices.Requests = []resourceapi.DeviceRequest{request}
	if r.IntN(4) == 0 {
		claim.Status.Allocation = &resourceapi.AllocationResult{NodeSelector: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
			MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpIn, Values: []string{c.someZone()[v1.LabelTopologyZone]}}},
		}}}}
		claim.Status.Allocation.Devices.Results = []resourceapi.DeviceRequestAllocationResult{
			{Request: "r", Driver: gpuDriver, Pool: fmt.Sprintf("gpu-n%d", r.IntN(14)), Device: fmt.Sprintf("gpu-%d", r.IntN(4))},
		}
		for range r.IntN(3) {
			claim.Status.ReservedFor = append(claim.Status.ReservedFor, resourceapi.ResourceClaimConsumerReference{Resource: "pods", Name: "x", UID: "x"})
		}
	}
	return claim
}

// changeDevice adds, replaces or removes one of them.
func (c *comparison) changeDevice() {
	c.put(c.device(), c.random.IntN(5) == 0)
}

// wantDevices has a pod want claims, or an extended resource that devices serve.
func (c *comparison) wantDevices(pod *v1.Pod) {
	if c.random.IntN(3) == 0 {
		pod.Spec.Containers[0].Resources.Requests[servedGPU] = resource.MustParse("1")
		return
	}
	for i := range 1 + c.random.IntN(2) {
		name := fmt.Sprintf("gpus-%d", 4*i+c.random.IntN(4))
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, v1.PodResourceClaim{Name: fmt.Sprint(i), ResourceClaimName: &name})
	}
}

// writeClaims writes what PreBind would: the claims of a pod that is bound have the devices that were set aside for them.
func (c *comparison) writeClaims(pod *v1.Pod) {
	tracker := c.devices.ResourceClaims()
	for i := range pod.Spec.ResourceClaims {
		claim, err := tracker.Get(pod.Namespace, *pod.Spec.ResourceClaims[i].ResourceClaimName)
		if err != nil {
			continue
		}
		allocation := tracker.GetPendingAllocation(claim.UID)
		if allocation == nil {
			continue
		}
		written := claim.DeepCopy()
		written.Status.Allocation = allocation
		written.Status.ReservedFor = []resourceapi.ResourceClaimConsumerReference{{Resource: "pods", Name: pod.Name, UID: pod.UID}}
		c.put(written, false)
		tracker.MaybeRemoveClaimPendingAllocation(claim.UID, true)
	}
}
