// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package advice

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/inspect"
)

// maxAddedDevices is how many devices are added at most.
const maxAddedDevices = 4

// resourceDevices stands for added devices among amounts.
const resourceDevices v1.ResourceName = "devices"

// devices ends pods that have devices, or adds devices like one that is there.
func (v *view) devices(node *v1.Node, _ []string) []fix {
	var users fix
	for _, pod := range v.on[node.Name] {
		if len(pod.Spec.ResourceClaims) > 0 && len(users) < maxEnded {
			users = append(users, v.end(pod))
		}
	}
	fixes := []fix{users}
	seen := map[string]bool{}
	for _, slice := range v.slices {
		for i := range slice.Spec.Devices {
			device := &slice.Spec.Devices[i]
			shape := fmt.Sprint(slice.Spec.Driver, device.Attributes, device.Capacity)
			if seen[shape] || len(device.ConsumesCounters) > 0 || len(seen) >= maxAlternatives {
				continue
			}
			seen[shape] = true
			for count := 1; count <= maxAddedDevices; count++ {
				fixes = append(fixes, fix{addDevices(node.Name, slice.Spec.Driver, device, count)})
			}
		}
	}
	return fixes
}

// addDevices gives a node devices with the attributes of another one, in a pool of their own.
func addDevices(node, driver string, like *resourceapi.Device, count int) *change {
	name := fmt.Sprintf("added-to-%s", node)
	noun := "device"
	if count > 1 {
		noun = "devices"
	}
	return &change{
		Change: inspect.Change{
			Action: inspect.ChangeAddDevices, Kind: "Node", Name: node, Key: driver, Value: fmt.Sprint(count),
			Text: fmt.Sprintf("give %s %d more %s of driver %s like %s", node, count, noun, driver, like.Name),
		},
		rank: rankOfRequest,
		apply: func(t target) error {
			slice := &resourceapi.ResourceSlice{
				ObjectMeta: metav1.ObjectMeta{Name: name},
				Spec: resourceapi.ResourceSliceSpec{
					Driver: driver, NodeName: ptr.To(node),
					Pool: resourceapi.ResourcePool{Name: name, Generation: 1, ResourceSliceCount: 1},
				},
			}
			for i := range count {
				device := like.DeepCopy()
				device.Name = fmt.Sprintf("added-%d", i)
				device.Taints, device.NodeName, device.NodeSelector, device.AllNodes = nil, nil, nil, nil
				slice.Spec.Devices = append(slice.Spec.Devices, *device)
			}
			return t.Add(slice)
		},
		needed:  amounts{resourceDevices: int64(count)},
		resized: func(other amounts) *change { return addDevices(node, driver, like, int(other[resourceDevices])) },
	}
}
