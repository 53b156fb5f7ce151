// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
)

// deviceRules say whether an allocation is one that the claim may get: they know the objects of the API alone, and neither
// an allocator nor what a scheduler keeps. They understand the selectors of the generator and no others.
type deviceRules struct {
	slices  []*resourceapi.ResourceSlice
	taints  []*resourceapi.DeviceTaintRule
	classes map[string]*resourceapi.DeviceClass
	// allocated are all claims that have devices, or are about to get them.
	allocated []*resourceapi.ResourceClaim
}

// deviceID names a device.
type deviceID struct{ driver, pool, device string }

func (id deviceID) String() string { return id.driver + "/" + id.pool + "/" + id.device }

func idOf(result *resourceapi.DeviceRequestAllocationResult) deviceID {
	return deviceID{result.Driver, result.Pool, result.Device}
}

// offered is a device that a node can use, with the taints of rules.
type offered struct {
	*resourceapi.Device
	id     deviceID
	taints []resourceapi.DeviceTaint
	// sets are the counters of its pool by set.
	sets map[string]map[string]resourceapi.Counter
}

// asked is a request, or an alternative of one.
type asked struct {
	class       string
	selectors   []resourceapi.DeviceSelector
	mode        resourceapi.DeviceAllocationMode
	count       int64
	tolerations []resourceapi.DeviceToleration
	capacity    map[resourceapi.QualifiedName]resource.Quantity
	admin       bool
}

// violations returns what is wrong with the allocation of a claim that a pod on the node is to use.
func (r *deviceRules) violations(claim *resourceapi.ResourceClaim, node *v1.Node) []string {
	found := problems{claim: claim.Name}
	allocation := claim.Status.Allocation
	if allocation.NodeSelector != nil && !selects(allocation.NodeSelector, node) {
		found.add("the allocation is not for node %s", node.Name)
	}
	devices := r.devicesFor(node)
	requests := map[string]asked{}
	for i := range claim.Spec.Devices.Requests {
		request := &claim.Spec.Devices.Requests[i]
		maps.Copy(requests, alternatives(request))
		r.checkCount(&found, request, allocation, devices)
	}
	for i := range allocation.Devices.Results {
		result := &allocation.Devices.Results[i]
		request, known := requests[result.Request]
		device := devices[idOf(result)]
		switch {
		case !known:
			found.add("nothing like %s was asked for", result.Request)
		case device == nil:
			found.add("device %s is not in the newest generation of a pool that node %s can use", idOf(result), node.Name)
		default:
			r.checkDevice(&found, request, result, device)
		}
	}
	r.checkConstraints(&found, claim, devices)
	return found.list
}

// problems collects what is wrong with a claim.
type problems struct {
	claim string
	list  []string
}

func (p *problems) add(format string, args ...any) {
	p.list = append(p.list, fmt.Sprintf("claim %s: %s", p.claim, fmt.Sprintf(format, args...)))
}

// alternatives returns what a request asks for by the name that results have.
func alternatives(request *resourceapi.DeviceRequest) map[string]asked {
	all := map[string]asked{}
	if e := request.Exactly; e != nil {
		all[request.Name] = asked{e.DeviceClassName, e.Selectors, e.AllocationMode, e.Count, e.Tolerations, capacityOf(e.Capacity), ptr.Deref(e.AdminAccess, false)}
	}
	for _, s := range request.FirstAvailable {
		all[request.Name+"/"+s.Name] = asked{s.DeviceClassName, s.Selectors, s.AllocationMode, s.Count, s.Tolerations, capacityOf(s.Capacity), false}
	}
	return all
}

func capacityOf(requirements *resourceapi.CapacityRequirements) map[resourceapi.QualifiedName]resource.Quantity {
	if requirements == nil {
		return nil
	}
	return requirements.Requests
}

// checkCount says whether a request got as many devices as it asks for, all of them for one of its alternatives.
func (r *deviceRules) checkCount(found *problems, request *resourceapi.DeviceRequest, allocation *resourceapi.AllocationResult, devices map[deviceID]*offered) {
	all := alternatives(request)
	got := map[string]int64{}
	for i := range allocation.Devices.Results {
		if name := allocation.Devices.Results[i].Request; name == request.Name || strings.HasPrefix(name, request.Name+"/") {
			got[name]++
		}
	}
	if len(got) != 1 {
		found.add("request %s was answered by %v", request.Name, got)
	}
	for name, count := range got {
		want := all[name].count
		if all[name].mode == resourceapi.DeviceAllocationModeAll {
			want = 0
			for _, device := range devices {
				if r.meets(all[name], device) && hasCapacity(all[name], device) {
					want++
				}
			}
		}
		if count != want {
			found.add("request %s got %d devices, not %d", name, count, want)
		}
	}
}

// meets reports whether a device matches the selectors of a request and of its class.
func (r *deviceRules) meets(request asked, device *offered) bool {
	class := r.classes[request.class]
	return class != nil && selected(class.Spec.Selectors, device.id.driver, device.Device) && selected(request.selectors, device.id.driver, device.Device)
}

// hasCapacity reports whether a device has as much as a request wants of each capacity.
func hasCapacity(request asked, device *offered) bool {
	for name, amount := range request.capacity {
		capacity := device.Capacity[name]
		limit := policyLimit(capacity)
		if capacity.Value.Cmp(amount) < 0 || limit.Cmp(amount) < 0 {
			return false
		}
	}
	return true
}

// policyLimit returns the most that may be asked for of a capacity.
func policyLimit(capacity resourceapi.DeviceCapacity) resource.Quantity {
	switch policy := capacity.RequestPolicy; {
	case policy == nil:
		return capacity.Value
	case len(policy.ValidValues) > 0:
		return policy.ValidValues[len(policy.ValidValues)-1]
	case policy.ValidRange != nil:
		return *policy.ValidRange.Max
	}
	return capacity.Value
}

// checkDevice says whether a device may be had.
func (r *deviceRules) checkDevice(found *problems, request asked, result *resourceapi.DeviceRequestAllocationResult, device *offered) {
	if !r.meets(request, device) {
		found.add("device %s does not match request %s", device.id, result.Request)
	}
	for _, taint := range device.taints {
		if taint.Effect != resourceapi.DeviceTaintEffectNone && !slices.ContainsFunc(request.tolerations, func(t resourceapi.DeviceToleration) bool { return toleratesDevice(t, taint) }) {
			found.add("device %s has the taint %s, which request %s does not tolerate", device.id, taint.Key, result.Request)
		}
	}
	if !slices.Equal(result.BindingConditions, device.BindingConditions) {
		found.add("device %s has binding conditions %v, the claim %v", device.id, device.BindingConditions, result.BindingConditions)
	}
	if request.admin != ptr.Deref(result.AdminAccess, false) {
		found.add("admin access to device %s: asked for %t", device.id, request.admin)
	}
	for name, amount := range request.capacity {
		if consumed, ok := result.ConsumedCapacity[name]; ok && consumed.Cmp(amount) < 0 {
			found.add("device %s gives %v of %s, which is less than %v", device.id, consumed.String(), name, amount.String())
		}
	}
	if !hasCapacity(request, device) {
		found.add("device %s has less capacity than request %s wants", device.id, result.Request)
	}
	if !request.admin {
		r.checkUse(found, device)
	}
}

func toleratesDevice(toleration resourceapi.DeviceToleration, taint resourceapi.DeviceTaint) bool {
	exists := toleration.Operator == resourceapi.DeviceTolerationOpExists
	return (toleration.Effect == "" || toleration.Effect == taint.Effect) &&
		(toleration.Key == taint.Key || toleration.Key == "" && exists) && (exists || toleration.Value == taint.Value)
}

// checkUse says whether all claims together use no more of a device, and of the counters of its pool, than there is.
func (r *deviceRules) checkUse(found *problems, device *offered) {
	users, others := 0, false
	consumed := map[resourceapi.QualifiedName]resource.Quantity{}
	inUse := map[string]bool{}
	for _, claim := range r.allocated {
		for i := range claim.Status.Allocation.Devices.Results {
			result := &claim.Status.Allocation.Devices.Results[i]
			id := idOf(result)
			if ptr.Deref(result.AdminAccess, false) || id.driver != device.id.driver || id.pool != device.id.pool {
				continue
			}
			inUse[id.device] = true
			if id != device.id {
				continue
			}
			if result.ShareID == nil { // or the device was for many in an older generation
				users++
			}
			others = others || claim.Name != found.claim
			for name, amount := range result.ConsumedCapacity {
				sum := consumed[name]
				sum.Add(amount)
				consumed[name] = sum
			}
		}
	}
	if users > 1 && !ptr.Deref(device.AllowMultipleAllocations, false) {
		found.add("device %s is used %d times", device.id, users)
	}
	for name, sum := range consumed {
		available := device.Capacity[name].Value
		if ptr.Deref(device.AllowMultipleAllocations, false) && available.Cmp(sum) < 0 {
			found.add("device %s has %v of %s, and %v are used", device.id, available.String(), name, sum.String())
		}
	}
	if !others { // what is consumed for a device that is shared was consumed before
		r.checkCounters(found, device, inUse)
	}
}

// checkCounters adds up what the devices of a pool that are in use consume of the counters that a device consumes.
func (r *deviceRules) checkCounters(found *problems, device *offered, inUse map[string]bool) {
	for _, consumption := range device.ConsumesCounters {
		for name := range consumption.Counters {
			var sum int64
			for other := range inUse {
				sum += r.consumes(deviceID{device.id.driver, device.id.pool, other}, consumption.CounterSet, name)
			}
			counter := device.sets[consumption.CounterSet][name]
			if sum > counter.Value.Value() {
				found.add("device %s: %d of counter %s/%s are used, of %d", device.id, sum, consumption.CounterSet, name, counter.Value.Value())
			}
		}
	}
}

// consumes returns what a device consumes of a counter, in the newest generation of its pool.
func (r *deviceRules) consumes(id deviceID, set, counter string) int64 {
	for _, slice := range r.newest(id.driver, id.pool, r.slices) {
		for _, device := range slice.Spec.Devices {
			for _, consumption := range device.ConsumesCounters {
				if device.Name == id.device && consumption.CounterSet == set {
					value := consumption.Counters[counter].Value
					return value.Value()
				}
			}
		}
	}
	return 0
}

// newest returns the slices of a pool that are of its newest generation.
func (r *deviceRules) newest(driver, pool string, among []*resourceapi.ResourceSlice) []*resourceapi.ResourceSlice {
	var found []*resourceapi.ResourceSlice
	for _, slice := range among {
		if slice.Spec.Driver != driver || slice.Spec.Pool.Name != pool {
			continue
		}
		if len(found) > 0 && slice.Spec.Pool.Generation > found[0].Spec.Pool.Generation {
			found = nil
		}
		if len(found) == 0 || slice.Spec.Pool.Generation == found[0].Spec.Pool.Generation {
			found = append(found, slice)
		}
	}
	return found
}

// devicesFor returns the devices that a node can use, of the newest generation of each pool as the node sees it.
func (r *deviceRules) devicesFor(node *v1.Node) map[deviceID]*offered {
	var visible []*resourceapi.ResourceSlice
	for _, slice := range r.slices {
		if len(slice.Spec.SharedCounters) > 0 || usableOn(slice, node) {
			visible = append(visible, slice)
		}
	}
	devices := map[deviceID]*offered{}
	for _, first := range visible {
		sets := map[string]map[string]resourceapi.Counter{}
		pool := r.newest(first.Spec.Driver, first.Spec.Pool.Name, visible)
		for _, slice := range pool {
			for _, set := range slice.Spec.SharedCounters {
				sets[set.Name] = set.Counters
			}
		}
		for _, slice := range pool {
			for i := range slice.Spec.Devices {
				device := &offered{Device: &slice.Spec.Devices[i], sets: sets}
				device.id = deviceID{slice.Spec.Driver, slice.Spec.Pool.Name, device.Name}
				if ptr.Deref(slice.Spec.PerDeviceNodeSelection, false) && !deviceUsableOn(device.Device, node) {
					continue
				}
				device.taints = slices.Clone(device.Taints)
				for _, rule := range r.taints {
					if appliesTo(rule, device.id) {
						device.taints = append(device.taints, rule.Spec.Taint)
					}
				}
				devices[device.id] = device
			}
		}
	}
	return devices
}

func appliesTo(rule *resourceapi.DeviceTaintRule, id deviceID) bool {
	selector := rule.Spec.DeviceSelector
	return selector != nil && ptr.Deref(selector.Driver, id.driver) == id.driver && ptr.Deref(selector.Pool, id.pool) == id.pool &&
		ptr.Deref(selector.Device, id.device) == id.device
}

// usableOn reports whether a node can use some device of a slice.
func usableOn(slice *resourceapi.ResourceSlice, node *v1.Node) bool {
	if ptr.Deref(slice.Spec.PerDeviceNodeSelection, false) {
		return slices.ContainsFunc(slice.Spec.Devices, func(device resourceapi.Device) bool { return deviceUsableOn(&device, node) })
	}
	return ptr.Deref(slice.Spec.AllNodes, false) || ptr.Deref(slice.Spec.NodeName, "") == node.Name ||
		slice.Spec.NodeSelector != nil && selects(slice.Spec.NodeSelector, node)
}

func deviceUsableOn(device *resourceapi.Device, node *v1.Node) bool {
	return ptr.Deref(device.AllNodes, false) || ptr.Deref(device.NodeName, "") == node.Name ||
		device.NodeSelector != nil && selects(device.NodeSelector, node)
}

// selects reports whether a selector selects a node. It knows labels and names that must be one of several.
func selects(selector *v1.NodeSelector, node *v1.Node) bool {
	return slices.ContainsFunc(selector.NodeSelectorTerms, func(term v1.NodeSelectorTerm) bool {
		for _, requirement := range term.MatchExpressions {
			value, has := node.Labels[requirement.Key]
			if requirement.Operator != v1.NodeSelectorOpIn || !has || !slices.Contains(requirement.Values, value) {
				return false
			}
		}
		for _, requirement := range term.MatchFields {
			if requirement.Operator != v1.NodeSelectorOpIn || requirement.Key != "metadata.name" || !slices.Contains(requirement.Values, node.Name) {
				return false
			}
		}
		return len(term.MatchExpressions)+len(term.MatchFields) > 0
	})
}

// checkConstraints says whether the devices of a claim agree, or differ, in the attributes in which they have to.
func (r *deviceRules) checkConstraints(found *problems, claim *resourceapi.ResourceClaim, devices map[deviceID]*offered) {
	for _, constraint := range claim.Spec.Devices.Constraints {
		attribute := cmp.Or(constraint.MatchAttribute, constraint.DistinctAttribute)
		seen := map[string]int{}
		for i := range claim.Status.Allocation.Devices.Results {
			result := &claim.Status.Allocation.Devices.Results[i]
			request, _, _ := strings.Cut(result.Request, "/")
			device := devices[idOf(result)]
			if device == nil || len(constraint.Requests) > 0 && !slices.Contains(constraint.Requests, request) && !slices.Contains(constraint.Requests, result.Request) {
				continue
			}
			value := attributeOf(device, *attribute)
			if value == "" {
				found.add("device %s has no attribute %s, which a constraint is about", device.id, *attribute)
			}
			seen[value]++
			if constraint.DistinctAttribute != nil && seen[value] > 1 {
				found.add("two devices have attribute %s with value %s", *attribute, value)
			}
		}
		if constraint.MatchAttribute != nil && len(seen) > 1 {
			found.add("attribute %s has the values %v", *attribute, seen)
		}
	}
}

// attributeOf returns the value of an attribute, with its type; empty if there is none.
func attributeOf(device *offered, name resourceapi.FullyQualifiedName) string {
	attribute, ok := device.Attributes[resourceapi.QualifiedName(name)]
	if domain, id, _ := strings.Cut(string(name), "/"); !ok && domain == device.id.driver {
		attribute, ok = device.Attributes[resourceapi.QualifiedName(id)]
	}
	if !ok {
		return ""
	}
	return attribute.String()
}
