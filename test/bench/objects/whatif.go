// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

const (
	// Apps is how many kinds of pods a busy cluster has. Every tenth has a Service, and with it the default spreading; every
	// tenth spreads over zones.
	Apps = 50
	// PodsPerBusyNode is how many pods each node of a busy cluster has.
	PodsPerBusyNode = 10
)

// BusyNode returns the node of a number, in one of three zones, of 16 CPUs and 64 GiB.
func BusyNode(i int) *v1.Node { return nodeWithRoom(fmt.Sprintf("node-%05d", i), i, "16", "64Gi") }

// Template returns the node of a template of a number, which differ in size.
func Template(i int) *v1.Node {
	return nodeWithRoom(fmt.Sprint("template-", i), i, fmt.Sprint(16+16*(i%4)), fmt.Sprintf("%dGi", 64+32*(i%5)))
}

func nodeWithRoom(name string, i int, cpu, memory string) *v1.Node {
	room := v1.ResourceList{
		v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse(memory), v1.ResourcePods: resource.MustParse("110"),
	}
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID(name),
			Labels: map[string]string{v1.LabelHostname: name, v1.LabelTopologyZone: fmt.Sprint("zone-", i%3)},
		},
		Status: v1.NodeStatus{Allocatable: room, Capacity: room},
	}
}

// AppPod returns a pod of one of the apps.
func AppPod(name string, app int) *v1.Pod {
	label := fmt.Sprint("app-", app)
	pod := PodOfSize(name, label, fmt.Sprintf("%dm", 500+100*(app%5)), fmt.Sprintf("%dMi", 512*(1+app%4)))
	pod.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", APIVersion: "apps/v1", Name: label, UID: "1", Controller: ptr.To(true)}}
	if app%10 == 1 {
		pod.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
			TopologyKey: v1.LabelTopologyZone, MaxSkew: 5, WhenUnsatisfiable: v1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: pod.Labels},
		}}
	}
	return pod
}

// PodOfSize returns a pod with a label "app" that requests so much.
func PodOfSize(name, app, cpu, memory string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), Labels: map[string]string{"app": app}},
		Spec: v1.PodSpec{
			SchedulerName: v1.DefaultSchedulerName, Priority: ptr.To(int32(0)),
			Containers: []v1.Container{{Name: "c", Image: "registry.example/app:1", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{
				v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse(memory),
			}}}},
		},
	}
}

// BusyPod returns a pod of a busy cluster, by the numbers of its node and of its place there.
func BusyPod(node, i int) *v1.Pod {
	pod := AppPod(fmt.Sprintf("pod-%05d-%d", node, i), (node+i*7)%Apps)
	pod.Spec.NodeName = fmt.Sprintf("node-%05d", node)
	return pod
}

// Busy returns a cluster with so many nodes, and ten pods on each.
func Busy(nodes int) (all []apiruntime.Object) {
	for i := range nodes {
		all = append(all, BusyNode(i))
		for j := range PodsPerBusyNode {
			all = append(all, BusyPod(i, j))
		}
	}
	for app := 0; app < Apps; app += 10 {
		name := fmt.Sprint("app-", app)
		all = append(all, &v1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}, Spec: v1.ServiceSpec{Selector: map[string]string{"app": name}},
		})
	}
	return all
}
