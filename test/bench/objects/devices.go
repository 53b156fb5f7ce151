// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

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
	// DevicesPerNode is how many devices a node has, where they are not partitions.
	DevicesPerNode = 10

	driver = "gpu.example.com"
	class  = "gpu"

	// Of cards that are divided: how many a node has, and how much memory each has.
	cardsPerNode, cardMemory = 2, 8
	// partitionMemory is what the pods ask for.
	partitionMemory = 2
)

// DeviceShape is a kind of claim, and of devices that suit it.
type DeviceShape string

// The shapes.
const (
	OneDevice      DeviceShape = "one device"
	Selectors      DeviceShape = "selectors"           // of attributes and capacity
	MatchAttribute DeviceShape = "match attribute"     // two devices that agree in one
	Extended25     DeviceShape = "extended, 25"        // extended resources of 25 classes, one for each pod
	Extended50     DeviceShape = "extended, 50"        // of 50 classes
	Partitions     DeviceShape = "partitions"          // parts of cards, which share counters
	Consumable     DeviceShape = "consumable capacity" // shares of devices
	Prioritised    DeviceShape = "prioritised list"    // the first of two kinds, of which not every node has the better
	Network        DeviceShape = "network"             // devices that all nodes of a zone can reach
)

// ExtendedClasses is how many classes serve extended resources; 0 for shapes of claims.
func (s DeviceShape) ExtendedClasses() int {
	switch s {
	case Extended25:
		return 25
	case Extended50:
		return 50
	}
	return 0
}

// DeviceClasses returns the classes of a shape.
func DeviceClasses(s DeviceShape) []*resourceapi.DeviceClass {
	make := func(name string) *resourceapi.DeviceClass {
		made := &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), ResourceVersion: "1"}}
		made.Spec.Selectors = celSelector(`device.driver == "` + driver + `"`)
		return made
	}
	classes := []*resourceapi.DeviceClass{make(class)}
	for i := range s.ExtendedClasses() {
		extended := make(fmt.Sprintf("%s-%d", class, i))
		extended.Spec.ExtendedResourceName = ptr.To(string(extendedResource(i)))
		classes = append(classes, extended)
	}
	return classes
}

func extendedResource(i int) v1.ResourceName {
	return v1.ResourceName(fmt.Sprintf("example.com/gpu-%d", i))
}

func celSelector(expression string) []resourceapi.DeviceSelector {
	return []resourceapi.DeviceSelector{{CEL: &resourceapi.CELDeviceSelector{Expression: expression}}}
}

// ResourceSlices returns the devices of the first so many nodes that [Node] returns.
func ResourceSlices(nodes int, s DeviceShape) []*resourceapi.ResourceSlice {
	var slices []*resourceapi.ResourceSlice
	if s == Network {
		for zone := range Zones {
			slices = append(slices, zoneSlices(nodes, zone)...)
		}
		return slices
	}
	for i := range nodes {
		name := Node(i).Name
		slice := newSlice(name, name)
		slice.Spec.NodeName = &name
		slice.Spec.Devices = devicesOf(i, s)
		slices = append(slices, slice)
		if s == Partitions {
			counters := newSlice("counters-"+name, name)
			counters.Spec.NodeName = &name
			for card := range cardsPerNode {
				counters.Spec.SharedCounters = append(counters.Spec.SharedCounters, resourceapi.CounterSet{
					Name: fmt.Sprintf("card-%d", card), Counters: memoryCounter(cardMemory),
				})
			}
			slice.Spec.Pool.ResourceSliceCount, counters.Spec.Pool.ResourceSliceCount = 2, 2
			slices = append(slices, counters)
		}
	}
	return slices
}

func newSlice(name, pool string) *resourceapi.ResourceSlice {
	return &resourceapi.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), ResourceVersion: "1"},
		Spec:       resourceapi.ResourceSliceSpec{Driver: driver, Pool: resourceapi.ResourcePool{Name: pool, Generation: 1, ResourceSliceCount: 1}},
	}
}

// zoneSlices returns the devices of a zone: a pool of as many as its nodes would have.
func zoneSlices(nodes, zone int) []*resourceapi.ResourceSlice {
	pool := fmt.Sprintf("zone-%d", zone)
	count := nodes / Zones * DevicesPerNode
	var slices []*resourceapi.ResourceSlice
	for first := 0; first < count; first += resourceapi.ResourceSliceMaxDevices {
		slice := newSlice(fmt.Sprintf("%s-%05d", pool, first), pool)
		slice.Spec.NodeSelector = &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{NodeTerm(v1.LabelTopologyZone, pool)}}
		for i := first; i < min(count, first+resourceapi.ResourceSliceMaxDevices); i++ {
			slice.Spec.Devices = append(slice.Spec.Devices, gpu(i, "large"))
		}
		slices = append(slices, slice)
	}
	for _, slice := range slices {
		slice.Spec.Pool.ResourceSliceCount = int64(len(slices))
	}
	return slices
}

func gpu(i int, model string) resourceapi.Device {
	return resourceapi.Device{
		Name: fmt.Sprintf("device-%d", i),
		Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{
			"model":         {StringValue: ptr.To(model)},
			"driverVersion": {VersionValue: ptr.To("1.2.3")},
			"numa":          {IntValue: ptr.To(int64(i % 2))},
		},
		Capacity: map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"memory": {Value: resource.MustParse("80Gi")}},
	}
}

func memoryCounter(memory int64) map[string]resourceapi.Counter {
	return map[string]resourceapi.Counter{"memory": {Value: *resource.NewQuantity(memory, resource.DecimalSI)}}
}

func devicesOf(node int, s DeviceShape) []resourceapi.Device {
	var devices []resourceapi.Device
	if s == Partitions {
		for card := range cardsPerNode {
			for memory := int64(cardMemory); memory >= partitionMemory; memory /= 2 {
				for part := range cardMemory / memory {
					device := gpu(len(devices), fmt.Sprintf("part-%d", memory))
					device.Name = fmt.Sprintf("card-%d-memory-%d-part-%d", card, memory, part)
					device.ConsumesCounters = []resourceapi.DeviceCounterConsumption{{
						CounterSet: fmt.Sprintf("card-%d", card), Counters: memoryCounter(memory),
					}}
					devices = append(devices, device)
				}
			}
		}
		return devices
	}
	model := "large"
	if s == Prioritised && node%2 == 1 {
		model = "small"
	}
	for i := range DevicesPerNode {
		device := gpu(i, model)
		if s == Consumable {
			device.AllowMultipleAllocations = ptr.To(true)
		}
		devices = append(devices, device)
	}
	return devices
}

// DeviceClaim returns a claim as a controller makes it for a pod from a template.
func DeviceClaim(pod *v1.Pod, s DeviceShape) *resourceapi.ResourceClaim {
	claim := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{
		Name: pod.Name + "-gpu", Namespace: pod.Namespace, UID: types.UID(pod.Name + "-gpu"), ResourceVersion: "1",
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
		}},
	}}
	request := &resourceapi.ExactDeviceRequest{
		DeviceClassName: class, AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: 1,
	}
	claim.Spec.Devices.Requests = []resourceapi.DeviceRequest{{Name: "gpu", Exactly: request}}
	model := func(name string) []resourceapi.DeviceSelector {
		return celSelector(`device.attributes["` + driver + `"].model == "` + name + `"`)
	}
	switch s {
	case Selectors:
		request.Selectors = celSelector(`device.attributes["` + driver + `"].driverVersion.major() >= 1 && ` +
			`device.capacity["` + driver + `"].memory.isGreaterThan(quantity("1Gi"))`)
	case MatchAttribute:
		request.Count = 2
		claim.Spec.Devices.Constraints = []resourceapi.DeviceConstraint{{MatchAttribute: ptr.To(resourceapi.FullyQualifiedName(driver + "/numa"))}}
	case Partitions:
		request.Selectors = model(fmt.Sprintf("part-%d", partitionMemory))
	case Consumable:
		request.Capacity = &resourceapi.CapacityRequirements{
			Requests: map[resourceapi.QualifiedName]resource.Quantity{"memory": resource.MustParse("10Gi")},
		}
	case Prioritised:
		claim.Spec.Devices.Requests[0].Exactly = nil
		for _, name := range []string{"large", "small"} {
			claim.Spec.Devices.Requests[0].FirstAvailable = append(claim.Spec.Devices.Requests[0].FirstAvailable, resourceapi.DeviceSubRequest{
				Name: name, DeviceClassName: class, Selectors: model(name), AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: 1,
			})
		}
	}
	return claim
}

// AllocatedClaim returns a claim that has a device of a slice, in use by a pod that is not there.
func AllocatedClaim(number int, slice *resourceapi.ResourceSlice, device *resourceapi.Device) *resourceapi.ResourceClaim {
	claim := DeviceClaim(Pod(fmt.Sprintf("earlier-%06d", number), 0, 0), OneDevice)
	claim.Finalizers = []string{resourceapi.Finalizer}
	selector := slice.Spec.NodeSelector
	if slice.Spec.NodeName != nil {
		selector = &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchFields: []v1.NodeSelectorRequirement{
			{Key: metav1.ObjectNameField, Operator: v1.NodeSelectorOpIn, Values: []string{*slice.Spec.NodeName}},
		}}}}
	}
	claim.Status.Allocation = &resourceapi.AllocationResult{
		NodeSelector: selector,
		Devices: resourceapi.DeviceAllocationResult{Results: []resourceapi.DeviceRequestAllocationResult{
			{Request: "gpu", Driver: slice.Spec.Driver, Pool: slice.Spec.Pool.Name, Device: device.Name},
		}},
	}
	owner := claim.OwnerReferences[0]
	claim.Status.ReservedFor = []resourceapi.ResourceClaimConsumerReference{{Resource: "pods", Name: owner.Name, UID: owner.UID}}
	return claim
}

// PodForDevices returns a pod of a shape, with its claim; shapes of extended resources have none.
func PodForDevices(i int, s DeviceShape) (*v1.Pod, *resourceapi.ResourceClaim) {
	pod := Pod(fmt.Sprintf("pod-%06d", i), 100, 128<<20)
	if classes := s.ExtendedClasses(); classes > 0 {
		one := *resource.NewQuantity(1, resource.DecimalSI)
		resources := &pod.Spec.Containers[0].Resources
		resources.Requests[extendedResource(i%classes)] = one
		resources.Limits = v1.ResourceList{extendedResource(i % classes): one}
		return pod, nil
	}
	claim := DeviceClaim(pod, s)
	pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: ptr.To("gpu")}}
	pod.Spec.Containers[0].Resources.Claims = []v1.ResourceClaim{{Name: "gpu"}}
	pod.Status.ResourceClaimStatuses = []v1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: &claim.Name}}
	return pod, claim
}
