// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// heldBack is the reason of pods that PreEnqueue rejects: kube-scheduler writes no condition for them, and neither does
// Rouse.
const heldBack = ""

// deviceWakes are pods that wait for devices. The test does what the driver and the controller of resource claims would.
func deviceWakes() []wake {
	const none = "cannot allocate all claims"
	ready := func(c *corner) { c.node("n1"); c.deviceClass(); c.slice(resourceapi.Device{Name: "gpu-0"}) }
	// The only device belongs to another pod.
	taken := func(c *corner) {
		ready(c)
		c.resourceClaim("other")
		c.pod("other", claiming("other"))
		c.waitBound("other", soon)
		c.checkDevices("other")
		c.resourceClaim("gpu")
	}
	use := claiming("gpu")
	return []wake{
		{"DynamicResources claim created", ready, use, heldBack, func(c *corner) { c.resourceClaim("gpu") }},
		{"DynamicResources claim made from a template", ready, func(pod *v1.Pod) {
			template := "template"
			pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: &template}}
		}, heldBack, func(c *corner) { c.claimFromTemplate() }},
		{"DynamicResources slice added", func(c *corner) { c.node("n1"); c.deviceClass(); c.resourceClaim("gpu") }, use, none,
			func(c *corner) { c.slice(resourceapi.Device{Name: "gpu-0"}) }},
		{"DynamicResources class added", func(c *corner) {
			c.node("n1")
			c.slice(resourceapi.Device{Name: "gpu-0"})
			c.resourceClaim("gpu")
		}, use, "does not exist", func(c *corner) { c.deviceClass() }},
		{"DynamicResources other claim deallocated", taken, use, none, func(c *corner) {
			c.deletePod("other")
			c.changeClaimStatus("other", func(status *resourceapi.ResourceClaimStatus) { *status = resourceapi.ResourceClaimStatus{} })
		}},
		{"DynamicResources other claim deleted", taken, use, none, func(c *corner) {
			c.deletePod("other")
			c.changeClaim("other", func(claim *resourceapi.ResourceClaim) { claim.Finalizers = nil })
			c.check("claim", c.client.ResourceV1().ResourceClaims(c.namespace).Delete(c.ctx, "other", metav1.DeleteOptions{}))
		}},
		{"DynamicResources taint rule deleted", func(c *corner) { ready(c); c.resourceClaim("gpu"); c.taintRule() }, use, none,
			func(c *corner) { c.deleteTaintRule() }},
		{"DynamicResources device that could not be made ready", func(c *corner) {
			c.node("n1")
			c.deviceClass()
			c.slice(resourceapi.Device{
				Name: "gpu-0", BindingConditions: []string{deviceReady}, BindingFailureConditions: []string{deviceBroken},
			})
		}, use, heldBack, func(c *corner) {
			c.resourceClaim("gpu")
			c.waitAllocated("gpu")
			c.reportDevice("gpu", deviceBroken)
			// The scheduler takes back the reservation, then the device, and tries again.
			c.waitAllocated("gpu")
			c.reportDevice("gpu", deviceReady)
		}},
		{"DynamicResources device for an extended resource", func(c *corner) { c.node("n1"); c.deviceClass() }, wantingDevice, none,
			func(c *corner) { c.slice(resourceapi.Device{Name: "gpu-0"}) }},
		{"DynamicResources claim for an extended resource left behind", ready, func(pod *v1.Pod) {
			wantingDevice(pod)
			pod.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "example.com/wait"}}
		}, "gate", func(c *corner) {
			c.leftBehind()
			c.settle() // no scheduler can know of a claim before its informer does
			c.changePod("pod", func(pod *v1.Pod) { pod.Spec.SchedulingGates = nil })
		}},
	}
}

const deviceReady, deviceBroken = "example.com/ready", "example.com/broken"

// claiming makes a pod use a ResourceClaim.
func claiming(claim string) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu", ResourceClaimName: &claim}}
	}
}

// wantingDevice makes a pod ask for the extended resource that the class of the corner serves.
func wantingDevice(pod *v1.Pod) {
	resources := &pod.Spec.Containers[0].Resources
	name := v1.ResourceName(pod.Namespace + ".example.com/gpu")
	resources.Requests[name] = resource.MustParse("1")
	resources.Limits = v1.ResourceList{name: resource.MustParse("1")}
}

// deviceDriver names the driver of the devices of the corner, which no class of another corner selects.
func (c *corner) deviceDriver() string { return c.namespace + ".example.com" }

func (c *corner) deviceClass() {
	c.t.Helper()
	serves := c.deviceDriver() + "/gpu"
	class := objects.DeviceClass(c.named("gpus"), fmt.Sprintf("device.driver == %q", c.deviceDriver()))
	class.Spec.ExtendedResourceName = &serves
	must(c, "class")(c.client.ResourceV1().DeviceClasses().Create(c.ctx, class, metav1.CreateOptions{}))
}

// slice announces the devices of n1.
func (c *corner) slice(devices ...resourceapi.Device) {
	c.t.Helper()
	slice := objects.ResourceSlice(c.deviceDriver(), "n1")
	slice.Name, slice.Spec.Devices = c.named("slice"), devices
	must(c, "slice")(c.client.ResourceV1().ResourceSlices().Create(c.ctx, slice, metav1.CreateOptions{}))
}

func (c *corner) taintRule() {
	c.t.Helper()
	driver := c.deviceDriver()
	rule := &resourceapi.DeviceTaintRule{
		ObjectMeta: metav1.ObjectMeta{Name: c.named("rule")},
		Spec: resourceapi.DeviceTaintRuleSpec{
			DeviceSelector: &resourceapi.DeviceTaintSelector{Driver: &driver},
			Taint:          resourceapi.DeviceTaint{Key: "example.com/broken", Effect: resourceapi.DeviceTaintEffectNoSchedule},
		},
	}
	must(c, "rule")(c.client.ResourceV1().DeviceTaintRules().Create(c.ctx, rule, metav1.CreateOptions{}))
}

func (c *corner) deleteTaintRule() {
	c.t.Helper()
	c.check("rule", c.client.ResourceV1().DeviceTaintRules().Delete(c.ctx, c.named("rule"), metav1.DeleteOptions{}))
}

// resourceClaim creates a claim for one device, changed as the functions say.
func (c *corner) resourceClaim(name string, change ...func(*resourceapi.ResourceClaim)) *resourceapi.ResourceClaim {
	c.t.Helper()
	claim := objects.ResourceClaim(name).Request("gpu", c.named("gpus"), 1).With(change...).Build()
	claim.Namespace = c.namespace
	claim, err := c.client.ResourceV1().ResourceClaims(c.namespace).Create(c.ctx, claim, metav1.CreateOptions{})
	c.check("claim", err)
	return claim
}

// ownedByPod makes a claim belong to the pod of the corner.
func (c *corner) ownedByPod(claim *resourceapi.ResourceClaim) {
	pod, err := c.client.CoreV1().Pods(c.namespace).Get(c.ctx, "pod", metav1.GetOptions{})
	c.check("pod", err)
	yes := true
	claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: &yes}}
}

// claimFromTemplate does what the controller does for a pod that names a template.
func (c *corner) claimFromTemplate() {
	c.t.Helper()
	claim := c.resourceClaim("generated", c.ownedByPod)
	pods := c.client.CoreV1().Pods(c.namespace)
	pod, err := pods.Get(c.ctx, "pod", metav1.GetOptions{})
	c.check("pod", err)
	pod.Status.ResourceClaimStatuses = []v1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: &claim.Name}}
	must(c, "status of the pod")(pods.UpdateStatus(c.ctx, pod, metav1.UpdateOptions{}))
}

// leftBehind is what a scheduler leaves that ends after it has allocated the claim for the extended resource of the pod,
// and before it has bound the pod.
func (c *corner) leftBehind() {
	c.t.Helper()
	c.resourceClaim("left-behind", c.ownedByPod, func(claim *resourceapi.ResourceClaim) {
		claim.Annotations = map[string]string{resourceapi.ExtendedResourceClaimAnnotation: "true"}
		claim.Finalizers = []string{resourceapi.Finalizer}
	})
	c.changeClaimStatus("left-behind", func(status *resourceapi.ResourceClaimStatus) {
		status.Allocation = &resourceapi.AllocationResult{Devices: resourceapi.DeviceAllocationResult{
			Results: []resourceapi.DeviceRequestAllocationResult{{Request: "gpu", Driver: c.deviceDriver(), Pool: "n1", Device: "gpu-0"}},
		}}
	})
}

func (c *corner) changeClaim(name string, change func(*resourceapi.ResourceClaim)) {
	c.t.Helper()
	claims := c.client.ResourceV1().ResourceClaims(c.namespace)
	claim, err := claims.Get(c.ctx, name, metav1.GetOptions{})
	c.check("claim", err)
	change(claim)
	must(c, "claim")(claims.Update(c.ctx, claim, metav1.UpdateOptions{}))
}

func (c *corner) changeClaimStatus(name string, change func(*resourceapi.ResourceClaimStatus)) {
	c.t.Helper()
	claims := c.client.ResourceV1().ResourceClaims(c.namespace)
	claim, err := claims.Get(c.ctx, name, metav1.GetOptions{})
	c.check("claim", err)
	change(&claim.Status)
	must(c, "status of the claim")(claims.UpdateStatus(c.ctx, claim, metav1.UpdateOptions{}))
}

// waitAllocated waits until a claim has devices of which the driver has said nothing yet.
func (c *corner) waitAllocated(name string) {
	c.t.Helper()
	WaitFor(c.ctx, c.t, time.Minute, func() (bool, string) {
		claim, err := c.client.ResourceV1().ResourceClaims(c.namespace).Get(c.ctx, name, metav1.GetOptions{})
		c.check("claim", err)
		return claim.Status.Allocation != nil && len(claim.Status.Devices) == 0,
			fmt.Sprintf("claim %s to be allocated; the pod's condition says %q", name, c.scheduled("pod").Message)
	})
}

// reportDevice does what a driver does when it has made a device ready, or could not.
func (c *corner) reportDevice(claim, condition string) {
	c.t.Helper()
	c.changeClaimStatus(claim, func(status *resourceapi.ResourceClaimStatus) {
		device := status.Allocation.Devices.Results[0]
		status.Devices = []resourceapi.AllocatedDeviceStatus{{
			Driver: device.Driver, Pool: device.Pool, Device: device.Device,
			Conditions: []metav1.Condition{{
				Type: condition, Status: metav1.ConditionTrue, Reason: "Test", LastTransitionTime: metav1.Now(),
			}},
		}}
	})
}

// checkDevices fails the test unless every claim of a bound pod has devices and is reserved for the pod, and no device
// belongs to two claims.
func (c *corner) checkDevices(name string) {
	c.t.Helper()
	pod, err := c.client.CoreV1().Pods(c.namespace).Get(c.ctx, name, metav1.GetOptions{})
	c.check("pod", err)
	listed, err := c.client.ResourceV1().ResourceClaims(c.namespace).List(c.ctx, metav1.ListOptions{})
	c.check("claims", err)
	owners := map[string]string{} // of devices
	reserved := map[string]bool{}
	for _, claim := range listed.Items {
		if claim.Status.Allocation == nil {
			continue
		}
		for _, result := range claim.Status.Allocation.Devices.Results {
			device := result.Driver + "/" + result.Pool + "/" + result.Device
			if other, taken := owners[device]; taken {
				c.t.Errorf("device %s belongs to the claims %s and %s", device, other, claim.Name)
			}
			owners[device] = claim.Name
		}
		for _, user := range claim.Status.ReservedFor {
			reserved[claim.Name] = reserved[claim.Name] || user.UID == pod.UID
		}
	}
	for _, claim := range claimsOf(pod) {
		if !reserved[claim] {
			c.t.Errorf("pod %s is bound, and its claim %q is not allocated and reserved for it", name, claim)
		}
	}
}

// claimsOf returns the names of the claims of a pod; one that should be there and is not has no name.
func claimsOf(pod *v1.Pod) (names []string) {
	made := map[string]string{}
	for _, status := range pod.Status.ResourceClaimStatuses {
		if status.ResourceClaimName != nil {
			made[status.Name] = *status.ResourceClaimName
		}
	}
	for _, claim := range pod.Spec.ResourceClaims {
		if claim.ResourceClaimName != nil {
			names = append(names, *claim.ResourceClaimName)
		} else {
			names = append(names, made[claim.Name])
		}
	}
	for name := range pod.Spec.Containers[0].Resources.Limits {
		if name == v1.ResourceName(pod.Namespace+".example.com/gpu") {
			served := ""
			if status := pod.Status.ExtendedResourceClaimStatus; status != nil {
				served = status.ResourceClaimName
			}
			names = append(names, served)
		}
	}
	return names
}
