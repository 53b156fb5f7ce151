// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// This file makes clusters with devices.

const (
	gpuDriver = "gpu.example.com"
	nicDriver = "nic.example.com"
	// served is an extended resource that a device class may serve; impliedResource is served by the class nic, always.
	served          = v1.ResourceName("example.com/gpu")
	impliedResource = v1.ResourceName("deviceclass.resource.kubernetes.io/nic")
	// servedByAny is served by a class without selectors. kube-scheduler's NodeResourcesBalancedAllocation panics for others.
	servedByAny = v1.ResourceName("deviceclass.resource.kubernetes.io/any")
)

// odd is true with a chance of one in n, and seldom in clusters where most pods are to get their devices.
func (g *generator) odd(n int) bool {
	if g.plenty {
		n *= 8
	}
	return g.oneIn(n)
}

// deviceCluster returns a cluster with devices on as many nodes, where the claims are made for as many pods.
func (g *generator) deviceCluster(nodes, pods int) cluster {
	var c cluster
	g.plenty = !g.oneIn(3)
	for i := range nodes {
		c.nodes = append(c.nodes, g.deviceNode(i))
	}
	for _, class := range g.deviceClasses() {
		c.objects = append(c.objects, class)
	}
	for _, slice := range g.slices(len(c.nodes)) {
		c.objects = append(c.objects, slice)
	}
	for i := range g.IntN(3) {
		if !g.plenty || g.oneIn(4) {
			c.objects = append(c.objects, g.taintRule(i))
		}
	}
	for i := range 4 {
		c.objects = append(c.objects, g.deviceClaim(fmt.Sprintf("claim-%d", i), "", c))
	}
	for i := range pods {
		for k := range 2 { // of templates
			owner := fmt.Sprintf("pod-%d", i)
			c.objects = append(c.objects, g.deviceClaim(fmt.Sprintf("%s-%d", owner, k), owner, c))
		}
	}
	return c
}

func (g *generator) deviceNode(i int) *v1.Node {
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("node-%d", i), ResourceVersion: "1", Labels: map[string]string{"zone": pick(g, "east", "west")},
	}}
	node.Status.Allocatable = v1.ResourceList{"cpu": resource.MustParse("8"), "pods": resource.MustParse("100")}
	if g.oneIn(4) {
		node.Status.Allocatable[served] = resource.MustParse(pick(g, "0", "2"))
	}
	return node
}

func (g *generator) deviceClasses() []*resourceapi.DeviceClass {
	class := func(name string, names ...string) *resourceapi.DeviceClass {
		made := &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: "1", CreationTimestamp: metav1.Unix(1, 0)}}
		made.Spec.Selectors = selectors(names...)
		return made
	}
	classes := []*resourceapi.DeviceClass{class("any"), class("gpu", "gpu"), class("nic", "nic")}
	if g.oneIn(2) {
		classes[1].Spec.ExtendedResourceName = ptr.To(string(served))
	}
	if g.oneIn(4) { // the newest serves, and of those the first by name
		other := class("other", "gpu", "model a")
		other.Spec.ExtendedResourceName, other.CreationTimestamp = ptr.To(string(served)), metav1.Unix(int64(g.IntN(3)), 0)
		classes = append(classes, other)
	}
	if g.oneIn(3) {
		classes = append(classes, class("large", "large, or fails"))
	}
	if g.odd(8) {
		classes = append(classes, class("broken", "broken"))
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
		if g.odd(12) {
			slice.Spec.Pool.ResourceSliceCount = 2 // which is missing
		}
		all = append(all, slice)
		return slice
	}
	for i := range nodes {
		name := fmt.Sprintf("node-%d", i)
		on := func(spec *resourceapi.ResourceSliceSpec) { spec.NodeName = &name }
		if !g.odd(4) {
			gpus := add("gpu-"+name, gpuDriver, name, on, g.devices("gpu", 2+g.IntN(7)))
			if g.oneIn(4) {
				g.partition(gpus, add)
			}
		}
		if !g.odd(2) {
			add("nic-"+name, nicDriver, name, on, g.devices("nic", 1+g.IntN(5)))
		}
	}
	if g.oneIn(3) {
		add("net-all", nicDriver, "net-all", func(spec *resourceapi.ResourceSliceSpec) { spec.AllNodes = ptr.To(true) }, g.devices("net", 1+g.IntN(3)))
	}
	if g.oneIn(3) {
		add("net-east", nicDriver, "net-east", func(spec *resourceapi.ResourceSliceSpec) { spec.NodeSelector = inZone("east") }, g.devices("net", 1+g.IntN(3)))
	}
	if g.oneIn(4) {
		add("net-each", gpuDriver, "net-each", func(spec *resourceapi.ResourceSliceSpec) {
			spec.PerDeviceNodeSelection = ptr.To(true)
			for i := range spec.Devices {
				g.placeDevice(&spec.Devices[i])
			}
		}, g.devices("each", 1+g.IntN(3)))
	}
	if g.odd(8) {
		old := add("gpu-old", gpuDriver, "node-0", func(spec *resourceapi.ResourceSliceSpec) { spec.NodeName = ptr.To("node-0") }, g.devices("gpu", 2))
		old.Spec.Pool.Generation = pick[int64](g, 0, 3) // slices of one generation agree about their number, or the allocator takes any
	}
	return all
}

// placeDevice says from which nodes a device of a slice can be reached that leaves that to its devices.
func (g *generator) placeDevice(d *resourceapi.Device) {
	switch g.IntN(3) {
	case 0:
		d.NodeSelector = inZone(pick(g, "east", "west"))
	case 1:
		d.NodeName = ptr.To(fmt.Sprintf("node-%d", g.IntN(3)))
	case 2:
		d.AllNodes = ptr.To(true)
	}
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
		if !g.odd(4) {
			d.Attributes = map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{
				"model": {StringValue: ptr.To(pick(g, "a", "b"))}, "example.com/numa": {IntValue: ptr.To(int64(g.IntN(2)))},
			}
			if g.oneIn(2) {
				d.Attributes["firmware"] = resourceapi.DeviceAttribute{VersionValue: ptr.To(pick(g, "1.2.0", "1.10.0"))}
			}
		}
		if !g.odd(4) {
			d.Capacity = map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"memory": {Value: resource.MustParse(pick(g, "16Gi", "40Gi"))}}
		}
		if g.odd(5) {
			d.Taints = []resourceapi.DeviceTaint{g.deviceTaint()}
		}
		if !g.noShares && g.oneIn(6) && d.Capacity != nil {
			d.AllowMultipleAllocations = ptr.To(true)
			d.Capacity["memory"] = resourceapi.DeviceCapacity{Value: d.Capacity["memory"].Value, RequestPolicy: g.requestPolicy()}
		}
		if !g.noBindingConditions && g.oneIn(12) {
			d.BindingConditions, d.BindingFailureConditions = []string{"Ready"}, []string{"Failed"}
			if g.oneIn(3) {
				d.BindsToNode = ptr.To(true)
			}
		}
	}
	return devices
}

// requestPolicy says which amounts of a capacity can be had; nil says any.
func (g *generator) requestPolicy() *resourceapi.CapacityRequestPolicy {
	quantity := func(text string) *resource.Quantity { return ptr.To(resource.MustParse(text)) }
	switch g.IntN(4) {
	case 0:
		return &resourceapi.CapacityRequestPolicy{Default: quantity("4Gi"), ValidValues: []resource.Quantity{*quantity("4Gi"), *quantity("8Gi"), *quantity("12Gi")}}
	case 1:
		return &resourceapi.CapacityRequestPolicy{
			Default: quantity("6Gi"), ValidRange: &resourceapi.CapacityRequestPolicyRange{Min: quantity("2Gi"), Max: quantity("14Gi"), Step: quantity("4Gi")},
		}
	}
	return nil
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
		return map[string]resourceapi.Counter{
			"slots": {Value: *resource.NewQuantity(n, resource.DecimalSI)}, "lanes": {Value: *resource.NewQuantity(4*n, resource.DecimalSI)},
		}
	}
	for i := range slice.Spec.Devices {
		consumed := counters(int64(1 + g.IntN(3)))
		if g.oneIn(3) {
			delete(consumed, "lanes")
		}
		slice.Spec.Devices[i].ConsumesCounters = []resourceapi.DeviceCounterConsumption{{CounterSet: pick(g, "card", "card", "spare"), Counters: consumed}}
	}
	sets := add("counters-"+slice.Name, slice.Spec.Driver, slice.Spec.Pool.Name, func(spec *resourceapi.ResourceSliceSpec) {
		spec.NodeName = slice.Spec.NodeName
		spec.SharedCounters = []resourceapi.CounterSet{{Name: "card", Counters: counters(int64(2 + g.IntN(3)))}, {Name: "spare", Counters: counters(2)}}
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
