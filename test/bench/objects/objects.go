// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package objects makes the nodes and pods of the workloads.
package objects

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// Zones is how many zones there are; the zone of a node is the last digit of its number.
	Zones = 10
	// GroupSize is how many pods have to do with each other.
	GroupSize = 500
)

// Shape is a kind of pod, named as in the rows.
type Shape string

// The shapes.
const (
	Basic       Shape = "basic"
	PrefNode    Shape = "prefnode"    // prefers two kinds of nodes, on a cluster where every tenth is tainted
	Spread      Shape = "spread"      // spread over zones, maxSkew 1, DoNotSchedule
	AntiHost    Shape = "antihost"    // not on a node with another pod of its group
	PrefPodZone Shape = "prefpodzone" // prefers the zone of the pods of its group
)

// Nodes returns a cluster that suits a shape.
func Nodes(count int, s Shape) []*v1.Node {
	nodes := make([]*v1.Node, count)
	for i := range nodes {
		nodes[i] = Node(i)
		if s == PrefNode && i%10 == 0 {
			nodes[i].Spec.Taints = []v1.Taint{{Key: "dedicated", Value: "team", Effect: v1.TaintEffectNoSchedule}}
		}
	}
	return nodes
}

// Node returns the node of a number: 32 CPUs, 256 GiB, room for 110 pods.
func Node(i int) *v1.Node {
	name := fmt.Sprintf("node-%05d", i)
	room := v1.ResourceList{
		v1.ResourceCPU:    resource.MustParse("32"),
		v1.ResourceMemory: resource.MustParse("256Gi"),
		v1.ResourcePods:   resource.MustParse("110"),
	}
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name,
			UID:  types.UID(name),
			Labels: map[string]string{
				v1.LabelHostname:       name,
				v1.LabelTopologyZone:   fmt.Sprintf("zone-%d", i%Zones),
				v1.LabelTopologyRegion: "region",
				v1.LabelArchStable:     "amd64",
				"disk":                 []string{"ssd", "hdd"}[i%2],
			},
		},
		Status: v1.NodeStatus{
			Capacity:    room,
			Allocatable: room,
			Conditions:  []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}},
		},
	}
}

// Pods returns pods of a shape, in namespace default. Unique ones all ask for different amounts of memory.
func Pods(count int, s Shape, unique bool) []*v1.Pod {
	pods := make([]*v1.Pod, count)
	for i := range pods {
		memory := int64(128 << 20)
		if unique {
			memory += int64(i) << 10
		}
		pods[i] = Pod(fmt.Sprintf("pod-%06d", i), 100, memory)
		shapePod(pods[i], s, fmt.Sprintf("group-%d", i/GroupSize))
	}
	return pods
}

// Pod returns a pod that waits to be scheduled, with a request in thousandths of a CPU and bytes.
func Pod(name string, milliCPU, memory int64) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: metav1.NamespaceDefault, UID: types.UID(name), Labels: map[string]string{"app": "bench"},
		},
		Spec: v1.PodSpec{
			SchedulerName: v1.DefaultSchedulerName,
			Containers: []v1.Container{{
				Name:  "main",
				Image: "registry.example/bench:1",
				Resources: v1.ResourceRequirements{Requests: v1.ResourceList{
					v1.ResourceCPU:    *resource.NewMilliQuantity(milliCPU, resource.DecimalSI),
					v1.ResourceMemory: *resource.NewQuantity(memory, resource.BinarySI),
				}},
			}},
		},
		Status: v1.PodStatus{Phase: v1.PodPending},
	}
}

func shapePod(pod *v1.Pod, s Shape, group string) {
	switch s {
	case PrefNode:
		pod.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{
				{Weight: 10, Preference: NodeTerm("disk", "ssd")},
				{Weight: 5, Preference: NodeTerm(v1.LabelTopologyZone, "zone-1", "zone-2")},
			},
		}}
	case Spread:
		pod.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "bench"}},
		}}
	case AntiHost:
		pod.Labels["group"] = group
		pod.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{podTerm(v1.LabelHostname, group)},
		}}
	case PrefPodZone:
		pod.Labels["group"] = group
		pod.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{
				{Weight: 10, PodAffinityTerm: podTerm(v1.LabelTopologyZone, group)},
			},
		}}
	}
}

// NodeTerm selects nodes by a label.
func NodeTerm(key string, values ...string) v1.NodeSelectorTerm {
	return v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{
		{Key: key, Operator: v1.NodeSelectorOpIn, Values: values},
	}}
}

func podTerm(topologyKey, group string) v1.PodAffinityTerm {
	return v1.PodAffinityTerm{
		TopologyKey:   topologyKey,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"group": group}},
	}
}
