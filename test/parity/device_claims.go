// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// This file makes claims, and pods that want them.

// deviceClaim is a claim of any sort: with devices or without, reserved for its pod or for others. The owner is the pod
// that it was made for, or empty.
func (g *generator) deviceClaim(name, owner string, c cluster) *resourceapi.ResourceClaim {
	claim := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: name, UID: types.UID("uid of " + name), ResourceVersion: "1",
	}}
	claim.Spec.Devices = g.deviceRequests()
	if g.odd(15) {
		claim.DeletionTimestamp = ptr.To(metav1.Unix(1, 0))
		claim.Finalizers = []string{resourceapi.Finalizer}
	}
	if owner != "" {
		uid := types.UID(owner)
		if g.odd(8) {
			uid = "another"
		}
		claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: owner, UID: uid, Controller: ptr.To(true)}}
	}
	if g.oneIn(4) {
		g.allocateSome(claim, c)
	}
	return claim
}

// allocateSome gives a claim a device that no other claim has.
func (g *generator) allocateSome(claim *resourceapi.ResourceClaim, c cluster) {
	var slices []*resourceapi.ResourceSlice
	for _, object := range c.objects {
		if slice, ok := object.(*resourceapi.ResourceSlice); ok && len(slice.Spec.Devices) > 0 {
			slices = append(slices, slice)
		}
	}
	if len(slices) == 0 || len(claim.Spec.Devices.Requests) == 0 {
		return
	}
	slice := pick(g, slices...)
	device := pick(g, slice.Spec.Devices...)
	if device.AllowMultipleAllocations == nil && isAllocated(c, slice, device.Name) {
		return // what two claims have, kube-scheduler takes for free when one gives it back
	}
	allocation := &resourceapi.AllocationResult{Devices: resourceapi.DeviceAllocationResult{Results: []resourceapi.DeviceRequestAllocationResult{{
		Request: claim.Spec.Devices.Requests[0].Name, Driver: slice.Spec.Driver, Pool: slice.Spec.Pool.Name, Device: device.Name,
		BindingConditions: device.BindingConditions, BindingFailureConditions: device.BindingFailureConditions,
	}}}}
	result := &allocation.Devices.Results[0]
	if first := claim.Spec.Devices.Requests[0].FirstAvailable; len(first) > 0 {
		result.Request += "/" + pick(g, first...).Name
	}
	if device.AllowMultipleAllocations != nil {
		result.ShareID = ptr.To(types.UID(fmt.Sprintf("share-%s", claim.Name)))
		result.ConsumedCapacity = map[resourceapi.QualifiedName]resource.Quantity{"memory": resource.MustParse("8Gi")}
	}
	if g.oneIn(10) {
		result.AdminAccess = ptr.To(true)
	}
	switch g.IntN(3) {
	case 0:
		allocation.NodeSelector = inZone(pick(g, "east", "west"))
	case 1:
		allocation.NodeSelector = onNode(ptr.Deref(slice.Spec.NodeName, "node-0"))
	}
	claim.Finalizers = []string{resourceapi.Finalizer}
	claim.Status.Allocation = allocation
	if len(device.BindingConditions) > 0 && (g.promptDrivers || !g.oneIn(3)) {
		allocation.AllocationTimestamp = ptr.To(metav1.Unix(int64(g.IntN(2))*946684000, 0)) // long ago, or just now in a synctest bubble
		claim.Status.Devices = []resourceapi.AllocatedDeviceStatus{g.deviceStatus(result)}
		if g.promptDrivers && claim.Status.Devices[0].Conditions[0].Type == "Other" {
			allocation.AllocationTimestamp = ptr.To(metav1.Unix(0, 0)) // for good
		}
	}
	for range g.IntN(3) {
		name := pick(g, "pod-0", "pod-1", "pod-2", "pod-3", "other")
		claim.Status.ReservedFor = append(claim.Status.ReservedFor, resourceapi.ResourceClaimConsumerReference{Resource: "pods", Name: name, UID: types.UID(name)})
	}
}

func onNode(name string) *v1.NodeSelector {
	return &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchFields: []v1.NodeSelectorRequirement{
		{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{name}},
	}}}}
}

// deviceStatus is what a driver says of an allocated device.
func (g *generator) deviceStatus(result *resourceapi.DeviceRequestAllocationResult) resourceapi.AllocatedDeviceStatus {
	return resourceapi.AllocatedDeviceStatus{
		Driver: result.Driver, Pool: result.Pool, Device: result.Device,
		Conditions: []metav1.Condition{{Type: pick(g, "Ready", "Ready", "Failed", "Other"), Status: metav1.ConditionTrue, Reason: "R", Message: "m"}},
	}
}

func isAllocated(c cluster, slice *resourceapi.ResourceSlice, device string) bool {
	for _, object := range c.objects {
		claim, ok := object.(*resourceapi.ResourceClaim)
		if !ok || claim.Status.Allocation == nil {
			continue
		}
		for _, result := range claim.Status.Allocation.Devices.Results {
			if result.Driver == slice.Spec.Driver && result.Pool == slice.Spec.Pool.Name && result.Device == device {
				return true
			}
		}
	}
	return false
}

func (g *generator) deviceRequests() resourceapi.DeviceClaim {
	var claim resourceapi.DeviceClaim
	for i := range 1 + g.IntN(2) {
		request := resourceapi.DeviceRequest{Name: fmt.Sprintf("r%d", i)}
		if g.oneIn(4) {
			for j := range 1 + g.IntN(3) {
				exactly := g.exactly()
				request.FirstAvailable = append(request.FirstAvailable, resourceapi.DeviceSubRequest{
					Name: fmt.Sprintf("s%d", j), DeviceClassName: exactly.DeviceClassName, Selectors: exactly.Selectors,
					AllocationMode: exactly.AllocationMode, Count: exactly.Count, Tolerations: exactly.Tolerations, Capacity: exactly.Capacity,
				})
			}
		} else if !g.odd(20) {
			request.Exactly = g.exactly()
			request.Exactly.AdminAccess = pick(g, nil, nil, nil, nil, nil, ptr.To(false), ptr.To(true))
		}
		claim.Requests = append(claim.Requests, request)
	}
	if g.oneIn(4) {
		constraint := resourceapi.DeviceConstraint{MatchAttribute: ptr.To(resourceapi.FullyQualifiedName(pick(g, "example.com/numa", gpuDriver+"/model")))}
		if g.oneIn(3) {
			constraint = resourceapi.DeviceConstraint{DistinctAttribute: ptr.To(resourceapi.FullyQualifiedName("example.com/numa"))}
		}
		if g.oneIn(3) {
			constraint.Requests = []string{"r0"}
		}
		claim.Constraints = append(claim.Constraints, constraint)
	}
	return claim
}

func (g *generator) exactly() *resourceapi.ExactDeviceRequest {
	request := &resourceapi.ExactDeviceRequest{
		DeviceClassName: pick(g, "any", "gpu", "gpu", "gpu", "nic", "nic"),
		AllocationMode:  resourceapi.DeviceAllocationModeExactCount, Count: int64(1 + g.IntN(2)),
	}
	if g.odd(4) {
		request.DeviceClassName = pick(g, "large", "broken")
	}
	if g.odd(30) {
		request.DeviceClassName = ""
	}
	if g.oneIn(6) {
		request.AllocationMode, request.Count = resourceapi.DeviceAllocationModeAll, 0
	}
	switch g.IntN(14) {
	case 0:
		request.Selectors = selectors("model a")
	case 1:
		if g.odd(1) {
			request.Selectors = selectors("model a, or fails")
		}
	case 2:
		request.Selectors = selectors("has memory")
	case 3:
		request.Selectors = selectors("new firmware", "gpu")
	case 4:
		request.Selectors = selectors("near")
	case 5:
		request.Selectors = selectors("for many")
	}
	if g.oneIn(4) {
		request.Tolerations = []resourceapi.DeviceToleration{{
			Key: pick(g, "", "hot", "old"), Operator: resourceapi.DeviceTolerationOpExists, Effect: pick(g, "", resourceapi.DeviceTaintEffectNoSchedule),
		}}
		if g.oneIn(3) {
			request.Tolerations[0] = resourceapi.DeviceToleration{Key: "hot", Operator: resourceapi.DeviceTolerationOpEqual, Value: pick(g, "", "yes")}
		}
	}
	if g.oneIn(8) {
		request.Capacity = &resourceapi.CapacityRequirements{Requests: map[resourceapi.QualifiedName]resource.Quantity{"memory": resource.MustParse(pick(g, "3Gi", "8Gi", "20Gi"))}}
	}
	return request
}

// podWithClaims is a pod that wants claims, extended resources, both or nothing.
func (g *generator) podWithClaims(name string) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), ResourceVersion: "1"}}
	pod.Spec.SchedulerName = "default-scheduler"
	pod.Spec.Containers = []v1.Container{{Name: "c0"}, {Name: "c1"}}
	g.addClaims(pod)
	if g.oneIn(3) {
		g.addServedResources(pod)
	}
	return pod
}

// addClaims has a pod want claims that it shares, others that were made for it, and some that are not there.
func (g *generator) addClaims(pod *v1.Pod) {
	for i := range g.IntN(3) { // kube-scheduler allocates a claim twice that is named twice
		claim := v1.PodResourceClaim{Name: fmt.Sprintf("p%d", i)}
		switch {
		case g.odd(12):
			claim.ResourceClaimTemplateName = ptr.To("template") // of which there is no claim yet
		case g.odd(12):
			claim.ResourceClaimName = pick(g, ptr.To("missing"), nil)
		case g.oneIn(3):
			claim.ResourceClaimName = ptr.To(fmt.Sprintf("claim-%d", 2*i+g.IntN(2)))
		default:
			claim.ResourceClaimTemplateName = ptr.To("template")
			status := v1.PodResourceClaimStatus{Name: claim.Name, ResourceClaimName: ptr.To(fmt.Sprintf("%s-%d", pod.Name, i))}
			if g.odd(6) {
				status.ResourceClaimName = nil
			}
			pod.Status.ResourceClaimStatuses = append(pod.Status.ResourceClaimStatuses, status)
		}
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, claim)
	}
}

// addServedResources has the containers of a pod ask for extended resources that devices may serve.
func (g *generator) addServedResources(pod *v1.Pod) {
	ask := func(container *v1.Container) {
		if g.oneIn(2) {
			if container.Resources.Requests == nil {
				container.Resources.Requests = v1.ResourceList{"cpu": resource.MustParse("1")}
			}
			container.Resources.Requests[served] = *resource.NewQuantity(int64(g.IntN(3)), resource.DecimalSI)
			if g.oneIn(2) {
				container.Resources.Requests[impliedResource] = resource.MustParse("1")
			}
			if g.oneIn(4) {
				container.Resources.Requests[servedByAny] = *resource.NewQuantity(int64(1+g.IntN(2)), resource.DecimalSI)
			}
		}
	}
	for i := range g.IntN(3) {
		init := v1.Container{Name: fmt.Sprintf("i%d", i)}
		if g.oneIn(3) {
			init.RestartPolicy = ptr.To(v1.ContainerRestartPolicyAlways)
		}
		ask(&init)
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, init)
	}
	for i := range pod.Spec.Containers {
		ask(&pod.Spec.Containers[i])
	}
}
