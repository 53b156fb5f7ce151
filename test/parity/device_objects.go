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

const (
	gpuDriver = "gpu.example.com"
	nicDriver = "nic.example.com"
	served    = v1.ResourceName("example.com/gpu")
)

// deviceCluster returns a cluster with devices, and what makes pods that want some.
func (g *generator) deviceCluster() (cluster, func(name string) *v1.Pod) {
	var c cluster
	for i := range 1 + g.IntN(4) {
		node := &v1.Node{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("node-%d", i), ResourceVersion: "1", Labels: map[string]string{"zone": pick(g, "east", "west")},
		}}
		node.Status.Allocatable = v1.ResourceList{"cpu": resource.MustParse("8"), "pods": resource.MustParse("100")}
		if g.oneIn(4) {
			node.Status.Allocatable[served] = resource.MustParse(pick(g, "0", "2"))
		}
		c.nodes = append(c.nodes, node)
	}
	for _, class := range g.deviceClasses() {
		c.objects = append(c.objects, class)
	}
	for _, slice := range g.slices(len(c.nodes)) {
		c.objects = append(c.objects, slice)
	}
	for i := range g.IntN(3) {
		c.objects = append(c.objects, g.taintRule(i))
	}
	for i := range 6 {
		c.objects = append(c.objects, g.deviceClaim(i, c))
	}
	return c, func(name string) *v1.Pod { return g.podWithClaims(name) }
}

func selector(expression string) []resourceapi.DeviceSelector {
	return []resourceapi.DeviceSelector{{CEL: &resourceapi.CELDeviceSelector{Expression: expression}}}
}

func (g *generator) deviceClasses() []*resourceapi.DeviceClass {
	class := func(name, expression string) *resourceapi.DeviceClass {
		made := &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: "1"}}
		if expression != "" {
			made.Spec.Selectors = selector(expression)
		}
		return made
	}
	classes := []*resourceapi.DeviceClass{
		class("any", ""), class("gpu", `device.driver == "`+gpuDriver+`"`), class("nic", `device.driver == "`+nicDriver+`"`),
	}
	if g.oneIn(2) {
		classes[1].Spec.ExtendedResourceName = ptr.To(string(served))
	}
	if g.oneIn(3) {
		classes = append(classes, class("large", `device.capacity["`+gpuDriver+`"].memory.compareTo(quantity("30Gi")) >= 0`)) // fails without
	}
	if g.oneIn(8) {
		classes = append(classes, class("broken", `device.`))
	}
	return classes
}

// slices are pools of nodes, and pools in the network, some of them not as they should be.
func (g *generator) slices(nodes int) []*resourceapi.ResourceSlice {
	var all []*resourceapi.ResourceSlice
	add := func(name, driver, pool string, place func(*resourceapi.ResourceSliceSpec), devices []resourceapi.Device) *resourceapi.ResourceSlice {
		slice := &resourceapi.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: "1"}}
		slice.Spec = resourceapi.ResourceSliceSpec{
			Driver: driver, Pool: resourceapi.ResourcePool{Name: pool, Generation: 1, ResourceSliceCount: 1}, Devices: devices,
		}
		place(&slice.Spec)
		if g.oneIn(12) {
			slice.Spec.Pool.ResourceSliceCount = 2 // which is missing
		}
		all = append(all, slice)
		return slice
	}
	for i := range nodes {
		name := fmt.Sprintf("node-%d", i)
		on := func(spec *resourceapi.ResourceSliceSpec) { spec.NodeName = &name }
		if !g.oneIn(4) {
			gpus := add("gpu-"+name, gpuDriver, name, on, g.devices("gpu", 1+g.IntN(4)))
			if g.oneIn(4) {
				g.partition(gpus, add)
			}
		}
		if g.oneIn(2) {
			add("nic-"+name, nicDriver, name, on, g.devices("nic", 1+g.IntN(2)))
		}
	}
	if g.oneIn(3) {
		add("net-all", nicDriver, "net-all", func(spec *resourceapi.ResourceSliceSpec) { spec.AllNodes = ptr.To(true) }, g.devices("net", 1+g.IntN(3)))
	}
	if g.oneIn(3) {
		add("net-east", nicDriver, "net-east", func(spec *resourceapi.ResourceSliceSpec) { spec.NodeSelector = inZone("east") }, g.devices("net", 1+g.IntN(3)))
	}
	if g.oneIn(5) {
		add("net-each", gpuDriver, "net-each", func(spec *resourceapi.ResourceSliceSpec) {
			spec.PerDeviceNodeSelection = ptr.To(true)
			for i := range spec.Devices {
				spec.Devices[i].NodeSelector = inZone(pick(g, "east", "west"))
			}
		}, g.devices("each", 2))
	}
	if g.oneIn(8) {
		old := add("gpu-old", gpuDriver, "node-0", func(spec *resourceapi.ResourceSliceSpec) { spec.NodeName = ptr.To("node-0") }, g.devices("gpu", 2))
		old.Spec.Pool.Generation = pick[int64](g, 0, 2) // slices of one generation agree about their number, or the allocator takes any
	}
	return all
}

func inZone(zone string) *v1.NodeSelector {
	return &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{
		{Key: "zone", Operator: v1.NodeSelectorOpIn, Values: []string{zone}},
	}}}}
}

func (g *generator) devices(prefix string, n int) []resourceapi.Device {
	devices := make([]resourceapi.Device, n)
	for i := range devices {
		d := &devices[i]
		d.Name = fmt.Sprintf("%s-%d", prefix, i)
		if !g.oneIn(4) {
			d.Attributes = map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{
				"model": {StringValue: ptr.To(pick(g, "a", "b"))}, "example.com/numa": {IntValue: ptr.To(int64(g.IntN(2)))},
			}
		}
		if !g.oneIn(4) {
			d.Capacity = map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"memory": {Value: resource.MustParse(pick(g, "16Gi", "40Gi"))}}
		}
		if g.oneIn(5) {
			d.Taints = []resourceapi.DeviceTaint{g.deviceTaint()}
		}
		if g.oneIn(6) && d.Capacity != nil {
			d.AllowMultipleAllocations = ptr.To(true)
		}
		if g.oneIn(12) {
			d.BindingConditions, d.BindingFailureConditions = []string{"Ready"}, []string{"Failed"}
		}
	}
	return devices
}

func (g *generator) deviceTaint() resourceapi.DeviceTaint {
	return resourceapi.DeviceTaint{
		Key: pick(g, "hot", "old"), Value: pick(g, "", "yes"), TimeAdded: ptr.To(metav1.Unix(1, 0)),
		Effect: pick(g, resourceapi.DeviceTaintEffectNoSchedule, resourceapi.DeviceTaintEffectNoExecute, resourceapi.DeviceTaintEffectNone),
	}
}

// partition has the devices of a slice share counters, which are in a slice of their own.
func (g *generator) partition(
	slice *resourceapi.ResourceSlice,
	add func(string, string, string, func(*resourceapi.ResourceSliceSpec), []resourceapi.Device) *resourceapi.ResourceSlice,
) {
	counters := func(n int64) map[string]resourceapi.Counter {
		return map[string]resourceapi.Counter{"slots": {Value: *resource.NewQuantity(n, resource.DecimalSI)}}
	}
	for i := range slice.Spec.Devices {
		slice.Spec.Devices[i].ConsumesCounters = []resourceapi.DeviceCounterConsumption{{CounterSet: "card", Counters: counters(int64(1 + g.IntN(3)))}}
	}
	sets := add("counters-"+slice.Name, slice.Spec.Driver, slice.Spec.Pool.Name, func(spec *resourceapi.ResourceSliceSpec) {
		spec.NodeName = slice.Spec.NodeName
		spec.SharedCounters = []resourceapi.CounterSet{{Name: "card", Counters: counters(int64(2 + g.IntN(3)))}}
	}, nil)
	slice.Spec.Pool.ResourceSliceCount, sets.Spec.Pool.ResourceSliceCount = 2, 2
}

func (g *generator) taintRule(i int) *resourceapi.DeviceTaintRule {
	rule := &resourceapi.DeviceTaintRule{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("rule-%d", i), ResourceVersion: "1"}}
	rule.Spec.Taint = g.deviceTaint()
	rule.Spec.DeviceSelector = &resourceapi.DeviceTaintSelector{Driver: ptr.To(pick(g, gpuDriver, nicDriver))}
	if g.oneIn(2) {
		rule.Spec.DeviceSelector.Pool = ptr.To(fmt.Sprintf("node-%d", g.IntN(3)))
	}
	if g.oneIn(2) {
		rule.Spec.DeviceSelector.Device = ptr.To(fmt.Sprintf("gpu-%d", g.IntN(3)))
	}
	return rule
}

// deviceClaim is a claim of any sort: with devices or without, of nobody, of the pod that wants it, or of others.
func (g *generator) deviceClaim(i int, c cluster) *resourceapi.ResourceClaim {
	claim := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: fmt.Sprintf("claim-%d", i), UID: types.UID(fmt.Sprintf("claim-uid-%d", i)), ResourceVersion: "1",
	}}
	claim.Spec.Devices = g.deviceRequests()
	if g.oneIn(15) {
		claim.DeletionTimestamp = ptr.To(metav1.Unix(1, 0))
		claim.Finalizers = []string{resourceapi.Finalizer}
	}
	if i >= 4 { // of a template
		claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "pod-0", UID: types.UID(pick(g, "pod-0", "pod-0", "other")), Controller: ptr.To(true)}}
	}
	if g.oneIn(3) {
		g.allocateSome(claim, c)
	}
	return claim
}

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
		result.ShareID = ptr.To(types.UID(fmt.Sprintf("share-%d", g.IntN(9))))
		result.ConsumedCapacity = map[resourceapi.QualifiedName]resource.Quantity{"memory": resource.MustParse("8Gi")}
	}
	if g.oneIn(10) {
		result.AdminAccess = ptr.To(true)
	}
	switch g.IntN(3) {
	case 0:
		allocation.NodeSelector = inZone(pick(g, "east", "west"))
	case 1:
		allocation.NodeSelector = &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchFields: []v1.NodeSelectorRequirement{
			{Key: "metadata.name", Operator: v1.NodeSelectorOpIn, Values: []string{ptr.Deref(slice.Spec.NodeName, "node-0")}},
		}}}}
	}
	claim.Finalizers = []string{resourceapi.Finalizer}
	claim.Status.Allocation = allocation
	if len(device.BindingConditions) > 0 && !g.oneIn(3) {
		allocation.AllocationTimestamp = ptr.To(metav1.Unix(int64(g.IntN(2))*946684000, 0)) // long ago, or just now in a synctest bubble
		claim.Status.Devices = []resourceapi.AllocatedDeviceStatus{{
			Driver: result.Driver, Pool: result.Pool, Device: result.Device,
			Conditions: []metav1.Condition{{Type: pick(g, "Ready", "Failed", "Other"), Status: metav1.ConditionTrue, Reason: "R", Message: "m"}},
		}}
	}
	for range g.IntN(3) {
		name := pick(g, "pod-0", "pod-1", "other")
		claim.Status.ReservedFor = append(claim.Status.ReservedFor, resourceapi.ResourceClaimConsumerReference{Resource: "pods", Name: name, UID: types.UID(name)})
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
		} else if !g.oneIn(20) {
			request.Exactly = g.exactly()
			request.Exactly.AdminAccess = pick(g, nil, nil, nil, nil, nil, ptr.To(false), ptr.To(true))
		}
		claim.Requests = append(claim.Requests, request)
	}
	if g.oneIn(4) {
		constraint := resourceapi.DeviceConstraint{MatchAttribute: ptr.To(resourceapi.FullyQualifiedName("example.com/numa"))}
		if g.oneIn(3) {
			constraint = resourceapi.DeviceConstraint{DistinctAttribute: ptr.To(resourceapi.FullyQualifiedName("example.com/numa"))}
		}
		claim.Constraints = append(claim.Constraints, constraint)
	}
	return claim
}

func (g *generator) exactly() *resourceapi.ExactDeviceRequest {
	request := &resourceapi.ExactDeviceRequest{
		DeviceClassName: pick(g, "any", "gpu", "gpu", "gpu", "nic", "nic", "large", "broken"),
		AllocationMode:  resourceapi.DeviceAllocationModeExactCount, Count: int64(1 + g.IntN(2)),
	}
	if g.oneIn(30) {
		request.DeviceClassName = ""
	}
	if g.oneIn(6) {
		request.AllocationMode, request.Count = resourceapi.DeviceAllocationModeAll, 0
	}
	switch g.IntN(8) {
	case 0:
		request.Selectors = selector(`device.attributes["` + gpuDriver + `"].?model.orValue("") == "a"`)
	case 1:
		request.Selectors = selector(`device.attributes["` + gpuDriver + `"].model == "a"`) // fails without
	case 2:
		request.Selectors = selector(`has(device.capacity["` + gpuDriver + `"].memory)`)
	}
	if g.oneIn(4) {
		request.Tolerations = []resourceapi.DeviceToleration{{
			Key: pick(g, "", "hot", "old"), Operator: resourceapi.DeviceTolerationOpExists, Effect: pick(g, "", resourceapi.DeviceTaintEffectNoSchedule),
		}}
	}
	if g.oneIn(8) {
		request.Capacity = &resourceapi.CapacityRequirements{Requests: map[resourceapi.QualifiedName]resource.Quantity{"memory": resource.MustParse(pick(g, "8Gi", "20Gi"))}}
	}
	return request
}

// podWithClaims is a pod that wants claims, extended resources, both or nothing.
func (g *generator) podWithClaims(name string) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), ResourceVersion: "1"}}
	pod.Spec.Containers = []v1.Container{{Name: "c0"}, {Name: "c1"}}
	for i := range g.IntN(3) { // kube-scheduler allocates a claim twice that is named twice
		claim := v1.PodResourceClaim{Name: fmt.Sprintf("p%d", i)}
		switch g.IntN(12) {
		case 0:
			claim.ResourceClaimTemplateName = ptr.To("template")
		case 1, 2, 3:
			claim.ResourceClaimTemplateName = ptr.To("template")
			status := v1.PodResourceClaimStatus{Name: claim.Name, ResourceClaimName: ptr.To(fmt.Sprintf("claim-%d", 4+i))}
			if g.oneIn(6) {
				status.ResourceClaimName = nil
			}
			pod.Status.ResourceClaimStatuses = append(pod.Status.ResourceClaimStatuses, status)
		case 4:
			claim.ResourceClaimName = pick(g, ptr.To("missing"), nil)
		default:
			claim.ResourceClaimName = ptr.To(fmt.Sprintf("claim-%d", 2*i+g.IntN(2)))
		}
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, claim)
	}
	if g.oneIn(3) {
		ask := func(container *v1.Container) {
			if g.oneIn(2) {
				container.Resources.Requests = v1.ResourceList{"cpu": resource.MustParse("1"), served: *resource.NewQuantity(int64(g.IntN(3)), resource.DecimalSI)}
				if g.oneIn(2) {
					container.Resources.Requests["deviceclass.resource.kubernetes.io/nic"] = resource.MustParse("1")
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
		ask(&pod.Spec.Containers[0])
		ask(&pod.Spec.Containers[1])
	}
	return pod
}
