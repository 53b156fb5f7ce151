// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package randomcluster

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

const (
	gpuDriver   = "gpu.example.com"
	gpuResource = v1.ResourceName("example.com/gpu")
)

// kindsOfDevices are the changes to what devices are allocated by.
func (c *Cluster) kindsOfDevices() map[string]kindOfChange {
	return map[string]kindOfChange{
		"ResourceClaims":         {16, c.changeDeviceClaim},
		"ResourceClaimTemplates": {6, c.changeClaimTemplate},
		"DeviceClasses":          {8, c.changeDeviceClass},
		"ResourceSlices":         {18, c.changeSlice},
		"DeviceTaintRules":       {8, c.changeTaintRule},
		"devices get ready":      {8, c.changeDeviceStatus},
	}
}

// beginDevices creates what pods refer to from the beginning.
func (c *Cluster) beginDevices() {
	c.changeDeviceClass()
	c.changeDeviceClass()
	for range 3 {
		c.changeSlice()
		c.changeClaimTemplate()
	}
}

func deviceSelector(expression string) []resourceapi.DeviceSelector {
	return []resourceapi.DeviceSelector{{CEL: &resourceapi.CELDeviceSelector{Expression: expression}}}
}

func (c *Cluster) deviceClassName() string { return c.one("gpu", "gpu", "gpu-a") }

// changeDeviceClass has a class come, go, or begin or cease to serve an extended resource.
func (c *Cluster) changeDeviceClass() {
	name := c.deviceClassName()
	class := &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if name == "gpu-a" {
		class.Spec.Selectors = deviceSelector(`device.attributes["` + gpuDriver + `"].?model.orValue("") == "a"`)
	}
	if c.often(5) {
		class.Spec.ExtendedResourceName = ptr.To(string(gpuResource))
	}
	c.comesOrGoes(c.there, "DeviceClass "+name,
		func() { c.create(class) },
		func() { c.update(class) },
		func() { c.remove(class) })
}

// changeSlice has the devices of a node, or of a zone, come, go or be others.
func (c *Cluster) changeSlice() {
	slice := &resourceapi.ResourceSlice{}
	slice.Spec = resourceapi.ResourceSliceSpec{Driver: gpuDriver, Pool: resourceapi.ResourcePool{Generation: 1, ResourceSliceCount: 1}}
	if _, node, found := pick(c, c.nodes); found && c.often(7) {
		slice.Name, slice.Spec.NodeName = "gpu-"+node, &node
	} else if zone := c.one("east", "west", "everywhere"); zone == "everywhere" {
		slice.Name, slice.Spec.AllNodes = "gpu-everywhere", ptr.To(true)
	} else {
		slice.Name = "gpu-" + zone
		slice.Spec.NodeSelector = &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{
			{Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpIn, Values: []string{zone}},
		}}}}
	}
	slice.Spec.Pool.Name = slice.Name
	slice.Spec.Pool.ResourceSliceCount = int64(1 + c.random.IntN(10)/9) // of which one may be missing
	slice.Spec.Devices = c.someDevices()
	c.comesOrGoes(c.there, "ResourceSlice "+slice.Name,
		func() { c.create(slice) },
		func() { c.update(slice) },
		func() { c.remove(slice) })
}

func (c *Cluster) someDevices() []resourceapi.Device {
	devices := make([]resourceapi.Device, 1+c.random.IntN(3))
	for i := range devices {
		d := &devices[i]
		d.Name = fmt.Sprintf("gpu-%d", i)
		d.Attributes = map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{"model": {StringValue: ptr.To(c.one("a", "b"))}}
		if c.often(3) {
			d.Taints = []resourceapi.DeviceTaint{c.deviceTaint()}
		}
		if c.often(2) {
			d.AllowMultipleAllocations = ptr.To(true)
			d.Capacity = map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{"memory": {Value: resource.MustParse("10Gi")}}
		}
		if c.often(1) {
			d.BindingConditions, d.BindingFailureConditions = []string{"Ready"}, []string{"Failed"}
		}
	}
	return devices
}

func (c *Cluster) deviceTaint() resourceapi.DeviceTaint {
	return resourceapi.DeviceTaint{Key: "hot", Effect: resourceapi.DeviceTaintEffectNoSchedule, TimeAdded: ptr.To(metav1.Unix(1, 0))}
}

func (c *Cluster) changeTaintRule() {
	rule := &resourceapi.DeviceTaintRule{ObjectMeta: metav1.ObjectMeta{Name: c.one("rule-1", "rule-2")}}
	rule.Spec.Taint = c.deviceTaint()
	rule.Spec.DeviceSelector = &resourceapi.DeviceTaintSelector{Driver: ptr.To(gpuDriver), Device: ptr.To(c.one("gpu-0", "gpu-1"))}
	c.comesOrGoes(c.there, "DeviceTaintRule "+rule.Name,
		func() { c.create(rule) },
		func() { c.update(rule) },
		func() { c.remove(rule) })
}

// deviceRequests asks for one device or several, all, or the first that can be had.
func (c *Cluster) deviceRequests() resourceapi.ResourceClaimSpec {
	request := resourceapi.DeviceRequest{Name: "r"}
	exactly := &resourceapi.ExactDeviceRequest{
		DeviceClassName: c.deviceClassName(), AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: int64(1 + c.random.IntN(2)),
	}
	if c.often(2) {
		exactly.AllocationMode, exactly.Count = resourceapi.DeviceAllocationModeAll, 0
	}
	if c.often(3) {
		exactly.Tolerations = []resourceapi.DeviceToleration{{Key: "hot", Operator: resourceapi.DeviceTolerationOpExists}}
	}
	if c.often(2) {
		exactly.Capacity = &resourceapi.CapacityRequirements{Requests: map[resourceapi.QualifiedName]resource.Quantity{"memory": resource.MustParse("6Gi")}}
	}
	request.Exactly = exactly
	if c.often(2) {
		request.Exactly = nil
		for i, count := range []int64{3, 1} {
			request.FirstAvailable = append(request.FirstAvailable, resourceapi.DeviceSubRequest{
				Name: fmt.Sprintf("s%d", i), DeviceClassName: "gpu", AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: count,
			})
		}
	}
	spec := resourceapi.ResourceClaimSpec{Devices: resourceapi.DeviceClaim{Requests: []resourceapi.DeviceRequest{request}}}
	if c.often(2) {
		spec.Devices.Constraints = []resourceapi.DeviceConstraint{{MatchAttribute: ptr.To(resourceapi.FullyQualifiedName(gpuDriver + "/model"))}}
	}
	return spec
}

func (c *Cluster) deviceClaim(name string) *resourceapi.ResourceClaim {
	return &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: c.deviceRequests()}
}

// changeDeviceClaim has a claim that pods share come, go, change, or be allocated by another scheduler.
func (c *Cluster) changeDeviceClaim() {
	name := c.one("shared-1", "shared-2", "shared-3")
	current, err := c.Client().ResourceV1().ResourceClaims("default").Get(c.t.Context(), name, metav1.GetOptions{})
	switch {
	case err != nil:
		c.create(c.deviceClaim(name))
	case c.often(4):
		if current.DeletionTimestamp == nil {
			c.remove(current)
		}
	case c.often(3):
		c.patch(current, fmt.Sprintf(`{"metadata":{"labels":{"note":%q}}}`, c.one("a", "b")))
	case len(current.Status.ReservedFor) == 0 && current.Status.Allocation != nil:
		c.patch(current, `{"status":{"allocation":null}}`)
	case len(current.Status.ReservedFor) == 0:
		c.patch(current, `{"status":{"allocation":{"devices":{"results":[`+
			`{"request":"r","driver":"gpu.example.com","pool":"gpu-everywhere","device":"gpu-0"}]}}}}`)
	}
}

func (c *Cluster) changeClaimTemplate() {
	template := &resourceapi.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: c.one("one", "two", "three")}}
	template.Spec.Spec = c.deviceRequests()
	name := "ResourceClaimTemplate " + template.Name
	if c.there[name] { // its spec does not change
		delete(c.there, name)
		c.remove(template)
		return
	}
	c.there[name] = true
	c.create(template)
}

// changeDeviceStatus has a driver say that the devices of a claim are ready, or never will be.
func (c *Cluster) changeDeviceStatus() {
	claims, err := c.Client().ResourceV1().ResourceClaims("default").List(c.t.Context(), metav1.ListOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	for i := range claims.Items {
		claim := &claims.Items[i]
		if claim.Status.Allocation == nil || len(claim.Status.Allocation.Devices.Results) == 0 || len(claim.Status.Allocation.Devices.Results[0].BindingConditions) == 0 {
			continue
		}
		result := &claim.Status.Allocation.Devices.Results[0]
		c.patch(claim, fmt.Sprintf(`{"status":{"devices":[{"driver":%q,"pool":%q,"device":%q,"conditions":[{"type":%q,"status":"True","reason":"R","message":"m","lastTransitionTime":"2026-01-01T00:00:00Z"}]}]}}`,
			result.Driver, result.Pool, result.Device, c.one("Ready", "Ready", "Failed")))
		return
	}
}

// addClaims has a pod want devices: those of a claim that it shares, of a template that may not be there, or as an extended
// resource.
func (c *Cluster) addClaims(pod *v1.Pod) {
	if pod.Namespace != "default" {
		return
	}
	if c.often(2) {
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, v1.PodResourceClaim{Name: "shared", ResourceClaimName: ptr.To(c.one("shared-1", "shared-2", "shared-3"))})
	}
	if c.often(2) {
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, v1.PodResourceClaim{Name: "own", ResourceClaimTemplateName: ptr.To(c.one("one", "two", "three"))})
	}
	if c.often(1) {
		pod.Spec.Containers[0].Resources.Requests[gpuResource] = resource.MustParse(c.one("1", "2"))
	} else if c.often(1) {
		pod.Spec.Containers[0].Resources.Requests["deviceclass.resource.kubernetes.io/gpu"] = resource.MustParse("1")
	}
}
