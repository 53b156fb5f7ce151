// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework_test

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

const mebibyte = 1 << 20

// quantities makes a list of "name", "quantity" pairs.
func quantities(pairs ...string) v1.ResourceList {
	list := v1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[v1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

// newPod makes a pod ns/name with the UID name.
func newPod(name string, changes ...func(*v1.Pod)) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}}
	for _, change := range changes {
		change(pod)
	}
	return pod
}

func withContainer(pairs ...string) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		name := string(rune('a' + len(pod.Spec.Containers)))
		pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{
			Name: name, Resources: v1.ResourceRequirements{Requests: quantities(pairs...)}})
	}
}

func withInit(pairs ...string) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		name := "init-" + string(rune('a'+len(pod.Spec.InitContainers)))
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, v1.Container{
			Name: name, Resources: v1.ResourceRequirements{Requests: quantities(pairs...)}})
	}
}

func withSidecar(pairs ...string) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		withInit(pairs...)(pod)
		pod.Spec.InitContainers[len(pod.Spec.InitContainers)-1].RestartPolicy = ptr.To(v1.ContainerRestartPolicyAlways)
	}
}

func withOverhead(pairs ...string) func(*v1.Pod) {
	return func(pod *v1.Pod) { pod.Spec.Overhead = quantities(pairs...) }
}

func withPodRequests(pairs ...string) func(*v1.Pod) {
	return func(pod *v1.Pod) { pod.Spec.Resources = &v1.ResourceRequirements{Requests: quantities(pairs...)} }
}

func withPodLimits(pairs ...string) func(*v1.Pod) {
	return func(pod *v1.Pod) { pod.Spec.Resources = &v1.ResourceRequirements{Limits: quantities(pairs...)} }
}

func withResize(reason string) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		pod.Status.Conditions = append(pod.Status.Conditions, v1.PodCondition{Type: v1.PodResizePending, Reason: reason})
	}
}

// withStatus reports what a container was given; either list may be nil.
func withStatus(container string, allocated, running v1.ResourceList) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		status := v1.ContainerStatus{Name: container, AllocatedResources: allocated}
		if running != nil {
			status.Resources = &v1.ResourceRequirements{Requests: running}
		}
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, status)
	}
}

func withPort(port v1.ContainerPort) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		last := &pod.Spec.Containers[len(pod.Spec.Containers)-1]
		last.Ports = append(last.Ports, port)
	}
}

func withClaims(names ...string) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		for _, name := range names {
			pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{VolumeSource: v1.VolumeSource{
				PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: name}}})
		}
	}
}

func withAffinity(affinity *v1.PodAffinity) func(*v1.Pod) {
	return func(pod *v1.Pod) { affinityOf(pod).PodAffinity = affinity }
}

func withAntiAffinity(affinity *v1.PodAntiAffinity) func(*v1.Pod) {
	return func(pod *v1.Pod) { affinityOf(pod).PodAntiAffinity = affinity }
}

func affinityOf(pod *v1.Pod) *v1.Affinity {
	if pod.Spec.Affinity == nil {
		pod.Spec.Affinity = &v1.Affinity{}
	}
	return pod.Spec.Affinity
}

func term(topologyKey, app string) v1.PodAffinityTerm {
	return v1.PodAffinityTerm{
		TopologyKey:   topologyKey,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
	}
}

// brokenTerm has a selector that no API server would accept.
func brokenTerm() v1.PodAffinityTerm {
	return v1.PodAffinityTerm{TopologyKey: "zone", LabelSelector: &metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Nonsense"}}}}
}

func newNode(name string, changes ...func(*v1.Node)) *v1.Node {
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, change := range changes {
		change(node)
	}
	return node
}
