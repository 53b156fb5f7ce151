// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	"k8s.io/dynamic-resource-allocation/structured"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/internal/devices"
)

// deviceDetails says of every request of the claims without devices how many devices of the class the node has that match
// it, and how many of these are allocated, or tainted; and which claims have devices that the node cannot use.
func deviceDetails(manager fwk.SharedDRAManager) detailer {
	return func(about *subject, node fwk.NodeInfo, _ []string) []string {
		own, ok := manager.(*devices.Manager)
		if !ok || node == nil {
			return nil
		}
		var details []string
		for i := range about.pod.Spec.ResourceClaims {
			name, _, err := resourceclaim.Name(about.pod, &about.pod.Spec.ResourceClaims[i])
			if err != nil || name == nil {
				continue
			}
			claim, err := own.ResourceClaims().Get(about.pod.Namespace, *name)
			if err != nil {
				continue
			}
			if allocation := claim.Status.Allocation; allocation != nil {
				if !usableOn(allocation, node.Node()) {
					details = append(details, fmt.Sprintf("claim %s has devices that this node cannot use", claim.Name))
				}
				details = append(details, failedDevices(claim)...)
				continue
			}
			for j := range claim.Spec.Devices.Requests {
				details = append(details, requestDetails(own, &claim.Spec.Devices.Requests[j], node.Node())...)
			}
		}
		return append(details, extendedResourceDetails(own, about.pod, node)...)
	}
}

// failedDevices names the devices of a claim that can't be bound, as their drivers say.
func failedDevices(claim *resourceapi.ResourceClaim) (details []string) {
	for _, result := range claim.Status.Allocation.Devices.Results {
		for _, device := range claim.Status.Devices {
			if device.Driver != result.Driver || device.Pool != result.Pool || device.Device != result.Device {
				continue
			}
			for _, failure := range result.BindingFailureConditions {
				if meta.IsStatusConditionTrue(device.Conditions, failure) {
					details = append(details, fmt.Sprintf("claim %s has device %s/%s/%s, which reports %s", claim.Name, device.Driver, device.Pool, device.Device, failure))
				}
			}
		}
	}
	return details
}

// usableOn reports whether the devices of an allocation can be used on a node.
func usableOn(allocation *resourceapi.AllocationResult, node *v1.Node) bool {
	if allocation.NodeSelector == nil {
		return true
	}
	matches, err := nodeaffinity.NewLazyErrorNodeSelector(allocation.NodeSelector).Match(node)
	return err == nil && matches
}

// extendedResourceDetails says the same of the extended resources that the pod asks for, the node does not offer, and a
// class of devices serves.
func extendedResourceDetails(manager *devices.Manager, pod *v1.Pod, node fwk.NodeInfo) (details []string) {
	requests := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
	for _, resource := range slices.Sorted(maps.Keys(requests)) {
		class := manager.DeviceClassResolver().GetDeviceClass(resource)
		if offered := node.Node().Status.Allocatable[resource]; !offered.IsZero() || class == nil {
			continue
		}
		quantity := requests[resource]
		wanted := &resourceapi.DeviceSubRequest{
			DeviceClassName: class.Name, AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: quantity.Value(),
		}
		details = append(details, countDevices(manager, string(resource), wanted, node.Node()))
	}
	return details
}

func requestDetails(manager *devices.Manager, request *resourceapi.DeviceRequest, node *v1.Node) []string {
	if exactly := request.Exactly; exactly != nil {
		wanted := &resourceapi.DeviceSubRequest{
			Name: request.Name, DeviceClassName: exactly.DeviceClassName, Selectors: exactly.Selectors,
			AllocationMode: exactly.AllocationMode, Count: exactly.Count, Tolerations: exactly.Tolerations,
		}
		return []string{countDevices(manager, request.Name, wanted, node)}
	}
	var details []string
	for i := range request.FirstAvailable {
		name := resourceclaim.CreateSubRequestRef(request.Name, request.FirstAvailable[i].Name)
		details = append(details, countDevices(manager, name, &request.FirstAvailable[i], node))
	}
	return details
}

// countDevices looks at what the node sees, not at constraints between devices, counters and capacities.
func countDevices(manager *devices.Manager, name string, request *resourceapi.DeviceSubRequest, node *v1.Node) string {
	var selectors []resourceapi.DeviceSelector
	if class, err := manager.DeviceClasses().Get(request.DeviceClassName); err == nil {
		selectors = append(selectors, class.Spec.Selectors...)
	}
	selectors = append(selectors, request.Selectors...)
	view := manager.View(node)
	var matching, allocated, tainted int
	for _, slice := range view.Slices {
		for i := range slice.Spec.Devices {
			device := &slice.Spec.Devices[i]
			if !reaches(manager, slice, device, node) || !matches(manager.Expressions(), selectors, slice.Spec.Driver, device) {
				continue
			}
			matching++
			switch {
			case view.State.AllocatedDevices.Has(structured.MakeDeviceID(slice.Spec.Driver, slice.Spec.Pool.Name, device.Name)):
				allocated++
			case !tolerated(device.Taints, request.Tolerations):
				tainted++
			}
		}
	}
	asks := fmt.Sprintf("%d of class %s", request.Count, request.DeviceClassName)
	if request.AllocationMode == resourceapi.DeviceAllocationModeAll {
		asks = "all of class " + request.DeviceClassName
	}
	text := fmt.Sprintf("request %s asks %s: the node has %d that match", name, asks, matching)
	for _, part := range []struct {
		n    int
		what string
	}{{allocated, "allocated"}, {tainted, "tainted"}} {
		if part.n > 0 {
			text += fmt.Sprintf(", %d %s", part.n, part.what)
		}
	}
	return strings.TrimSpace(text)
}

// reaches reports whether a device can be used from a node.
func reaches(manager *devices.Manager, slice *resourceapi.ResourceSlice, device *resourceapi.Device, node *v1.Node) bool {
	name, all, selector := slice.Spec.NodeName, slice.Spec.AllNodes, slice.Spec.NodeSelector
	if ptr.Deref(slice.Spec.PerDeviceNodeSelection, false) {
		name, all, selector = device.NodeName, device.AllNodes, device.NodeSelector
	}
	reached, err := structured.NodeMatches(manager.Switches().Allocation(), node, ptr.Deref(name, ""), ptr.Deref(all, false), selector)
	return err == nil && reached
}

// matches reports whether a device matches all selectors; one that fails matches nothing.
func matches(expressions *cel.Cache, selectors []resourceapi.DeviceSelector, driver string, device *resourceapi.Device) bool {
	for _, selector := range selectors {
		if selector.CEL == nil {
			return false
		}
		compiled := expressions.GetOrCompile(selector.CEL.Expression)
		if compiled.Error != nil {
			return false
		}
		matched, _, err := compiled.DeviceMatches(context.Background(), cel.Device{
			Driver: driver, AllowMultipleAllocations: device.AllowMultipleAllocations, Attributes: device.Attributes, Capacity: device.Capacity,
		})
		if err != nil || !matched {
			return false
		}
	}
	return true
}

func tolerated(taints []resourceapi.DeviceTaint, tolerations []resourceapi.DeviceToleration) bool {
	return !slices.ContainsFunc(taints, func(taint resourceapi.DeviceTaint) bool {
		if taint.Effect == resourceapi.DeviceTaintEffectNone {
			return false
		}
		return !slices.ContainsFunc(tolerations, func(toleration resourceapi.DeviceToleration) bool {
			return resourceclaim.ToleratesTaint(toleration, taint)
		})
	})
}
