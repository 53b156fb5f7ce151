// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework_test

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

const mebibyte = 1 << 20

func withPodLimits(pairs ...string) func(*v1.Pod) {
	return func(pod *v1.Pod) { pod.Spec.Resources = &v1.ResourceRequirements{Limits: objects.Resources(pairs...)} }
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
