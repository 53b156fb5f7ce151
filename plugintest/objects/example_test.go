// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package objects_test

import (
	"fmt"

	storagev1 "k8s.io/api/storage/v1"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// A pod and variants of it.
func ExamplePod() {
	web := objects.Pod("web").Namespace("shop").Requests("cpu", "500m").NodeAffinity("disk in (ssd, nvme)")
	waiting, running := web.Build(), web.Name("web-2").Node("n1").Build()
	fmt.Println(waiting.UID, waiting.Spec.Containers[0].Resources.Requests.Cpu())
	fmt.Println(running.UID, "on", running.Spec.NodeName)
	// Output:
	// shop/web 500m
	// shop/web-2 on n1
}

// A node before and after a change.
func ExampleNode() {
	node := objects.Node("n1").Capacity("cpu", "4")
	before, after := node.Build(), node.Label("disk", "ssd").Build()
	fmt.Println(before.Labels)
	fmt.Println(after.Labels)
	// Output:
	// map[kubernetes.io/hostname:n1]
	// map[disk:ssd kubernetes.io/hostname:n1]
}

// A claim whose volume is made where the pod runs, and one that is bound to a volume of one zone.
func ExamplePersistentVolumeClaim() {
	class := objects.StorageClass("fast", "disks.example.com", storagev1.VolumeBindingWaitForFirstConsumer)
	claim := objects.PersistentVolumeClaim("data").StorageClass(class.Name).Request("10Gi")
	volume := objects.PersistentVolume("pv-1").StorageClass(class.Name).Capacity("10Gi").NodeAffinity("topology.kubernetes.io/zone=a").Build()
	waiting, bound := claim.Build(), claim.Bound(volume.Name).Build()
	pod := objects.Pod("web").PersistentVolumeClaim(bound.Name).Build()
	fmt.Printf("%q %q\n", waiting.Spec.VolumeName, bound.Spec.VolumeName)
	fmt.Println(pod.Spec.Volumes[0].PersistentVolumeClaim.ClaimName)
	// Output:
	// "" "pv-1"
	// data
}

// A pod with a claim for a GPU, and a node that has two of them.
func ExampleResourceClaim() {
	class := objects.DeviceClass("gpu", `device.driver == "gpu.example.com"`)
	slice := objects.ResourceSlice("gpu.example.com", "n1", "gpu-0", "gpu-1")
	claim := objects.ResourceClaim("one-gpu").Request("gpu", class.Name, 1).Build()
	pod := objects.Pod("train").ResourceClaim(claim.Name).Build()
	fmt.Println(*pod.Spec.ResourceClaims[0].ResourceClaimName, len(slice.Spec.Devices))
	// Output:
	// one-gpu 2
}

// A budget that allows that one of the pods of web is evicted.
func ExamplePodDisruptionBudget() {
	budget := objects.PodDisruptionBudget("web", "app=web", 1)
	fmt.Println(budget.Spec.Selector.MatchLabels, budget.Status.DisruptionsAllowed)
	// Output:
	// map[app:web] 1
}
