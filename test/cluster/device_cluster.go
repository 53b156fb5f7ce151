// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// The drivers of the devices that [CreateDevices] announces, which are also the names of their classes.
const (
	gpus  = "gpu.example.com"  // two for each node
	cards = "card.example.com" // one for each node, as a whole or in halves
	ports = "port.example.com" // one for each node, shared by as many as its bandwidth suffices for
	links = "link.example.com" // a few for each zone

	gpusPerNode, linksPerZone     = 2, 3
	cardMemory, halfCard          = 4, 2
	portBandwidth, bandwidthAsked = 10, 4
	// podsForShared is how many pods share a claim.
	podsForShared = 5
	// servedResource is the extended resource that the class of gpus serves.
	servedResource = v1.ResourceName("example.com/gpu")
)

// CreateDevices creates nodes with the numbers from 0, with devices of their own and of their zones, and classes for these.
// It returns the slices.
func CreateDevices(ctx context.Context, tb testing.TB, client clientset.Interface, nodes int) []*resourceapi.ResourceSlice {
	tb.Helper()
	for _, driver := range []string{gpus, cards, ports, links} {
		class := objects.DeviceClass(driver, fmt.Sprintf("device.driver == %q", driver))
		if driver == gpus {
			class.Spec.ExtendedResourceName = ptr.To(string(servedResource))
		}
		if _, err := client.ResourceV1().DeviceClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil {
			tb.Fatalf("creating class %s: %v", class.Name, err)
		}
	}
	var slices []*resourceapi.ResourceSlice
	for number := range nodes {
		slices = append(slices, nodeDevices(MakeNode(number).Name)...)
	}
	for zone := range min(zones, nodes) {
		slices = append(slices, zoneDevices("zone-"+strconv.Itoa(zone)))
	}
	createAll(ctx, tb, nodes, func(number int) error {
		node := MakeNode(number)
		// All pods stay when they have ended.
		node.Status.Allocatable[v1.ResourcePods] = resource.MustParse("10000")
		node.Status.Capacity = node.Status.Allocatable
		_, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
		return err
	})
	createAll(ctx, tb, len(slices), func(number int) error {
		_, err := client.ResourceV1().ResourceSlices().Create(ctx, slices[number], metav1.CreateOptions{})
		return err
	})
	return slices
}

func selecting(expression string) []resourceapi.DeviceSelector {
	return []resourceapi.DeviceSelector{{CEL: &resourceapi.CELDeviceSelector{Expression: expression}}}
}

func sliceOf(driver, pool, name string) *resourceapi.ResourceSlice {
	return &resourceapi.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: resourceapi.ResourceSliceSpec{
			Driver: driver, Pool: resourceapi.ResourcePool{Name: pool, Generation: 1, ResourceSliceCount: 1},
		},
	}
}

// nodeDevices are the devices of a node.
func nodeDevices(node string) []*resourceapi.ResourceSlice {
	memory := func(amount int64) map[string]resourceapi.Counter {
		return map[string]resourceapi.Counter{"memory": {Value: *resource.NewQuantity(amount, resource.DecimalSI)}}
	}
	gpu, card, counters, port := sliceOf(gpus, node, "gpus-"+node), sliceOf(cards, node, "cards-"+node),
		sliceOf(cards, node, "counters-"+node), sliceOf(ports, node, "ports-"+node)
	for i := range gpusPerNode {
		gpu.Spec.Devices = append(gpu.Spec.Devices, resourceapi.Device{Name: fmt.Sprintf("gpu-%d", i)})
	}
	for i, amount := range []int64{cardMemory, halfCard, halfCard} {
		card.Spec.Devices = append(card.Spec.Devices, resourceapi.Device{
			Name:             fmt.Sprintf("part-%d", i),
			Attributes:       map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{"memory": {IntValue: &amount}},
			ConsumesCounters: []resourceapi.DeviceCounterConsumption{{CounterSet: "card", Counters: memory(amount)}},
		})
	}
	counters.Spec.SharedCounters = []resourceapi.CounterSet{{Name: "card", Counters: memory(cardMemory)}}
	card.Spec.Pool.ResourceSliceCount, counters.Spec.Pool.ResourceSliceCount = 2, 2
	port.Spec.Devices = []resourceapi.Device{{
		Name: "port", AllowMultipleAllocations: ptr.To(true),
		Capacity: map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{
			"bandwidth": {Value: *resource.NewQuantity(portBandwidth, resource.DecimalSI)},
		},
	}}
	slices := []*resourceapi.ResourceSlice{gpu, card, counters, port}
	for _, slice := range slices {
		slice.Spec.NodeName = &node
	}
	return slices
}

// zoneDevices are the devices that all nodes of a zone can reach.
func zoneDevices(zone string) *resourceapi.ResourceSlice {
	slice := sliceOf(links, zone, "links-"+zone)
	slice.Spec.NodeSelector = &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
		MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpIn, Values: []string{zone}}},
	}}}
	for i := range linksPerZone {
		slice.Spec.Devices = append(slice.Spec.Devices, resourceapi.Device{Name: fmt.Sprintf("link-%d", i)})
	}
	return slice
}

// DevicePod returns the pod of a number, which asks for devices, and the claim that it shares with others, if it does. Its
// other claims are to be made from templates.
func DevicePod(schedulerName string, number int) (*v1.Pod, *resourceapi.ResourceClaim) {
	pod := objects.Pod(fmt.Sprintf("pod-%05d", number)).SchedulerName(schedulerName).Image("image").Requests("cpu", "1m").Build()
	template := func(name string) {
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, v1.PodResourceClaim{Name: name, ResourceClaimTemplateName: &name})
	}
	var shared *resourceapi.ResourceClaim
	switch number % 10 {
	case 0, 1, 2:
		template("gpu")
	case 3:
		template("half")
	case 4:
		template("card")
	case 5:
		template("port")
	case 6:
		template("link")
	case 7:
		shared = &resourceapi.ResourceClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: fmt.Sprintf("shared-%04d", number/(10*podsForShared))},
			Spec:       templateSpec("gpu"),
		}
		pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "shared", ResourceClaimName: &shared.Name}}
		if number%20 == 7 { // in addition to one of its own
			template("port")
		}
	default:
		one := resource.MustParse("1")
		pod.Spec.Containers[0].Resources.Requests[servedResource] = one
		pod.Spec.Containers[0].Resources.Limits = v1.ResourceList{servedResource: one}
	}
	return pod, shared
}

// templateSpec is what the template of a name asks for.
func templateSpec(name string) resourceapi.ResourceClaimSpec {
	request := &resourceapi.ExactDeviceRequest{
		DeviceClassName: map[string]string{"gpu": gpus, "half": cards, "card": cards, "port": ports, "link": links}[name],
	}
	switch name {
	case "half", "card":
		memory := map[string]int{"half": halfCard, "card": cardMemory}[name]
		request.Selectors = selecting(fmt.Sprintf("device.attributes[%q].memory == %d", cards, memory))
	case "port":
		request.Capacity = &resourceapi.CapacityRequirements{Requests: map[resourceapi.QualifiedName]resource.Quantity{
			"bandwidth": *resource.NewQuantity(bandwidthAsked, resource.DecimalSI),
		}}
	}
	return resourceapi.ResourceClaimSpec{Devices: resourceapi.DeviceClaim{
		Requests: []resourceapi.DeviceRequest{{Name: "device", Exactly: request}},
	}}
}

// CreateDevicePods creates the pods with the numbers from 0, and the claims that they share.
func CreateDevicePods(ctx context.Context, tb testing.TB, client clientset.Interface, schedulerName string, count int) {
	tb.Helper()
	createAll(ctx, tb, count, func(number int) error {
		pod, shared := DevicePod(schedulerName, number)
		if shared != nil {
			if err := insist(ctx, func() error {
				_, err := client.ResourceV1().ResourceClaims(shared.Namespace).Create(ctx, shared, metav1.CreateOptions{})
				return err
			}); err != nil {
				return err
			}
		}
		_, err := client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
		return err
	})
}
