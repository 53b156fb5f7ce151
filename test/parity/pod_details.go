// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

// This file makes what only some pods have: resources of the pod as a whole, what nodes report of a resize, ephemeral
// containers, the network or the users of the node, and claims that are made for a pod.

// podLevel returns the resources of a pod as a whole: requests, limits, or both; some of them none of a pod's.
func (g *generator) podLevel() *v1.ResourceRequirements {
	resources := &v1.ResourceRequirements{}
	if !g.oneIn(4) {
		resources.Requests = g.podLevelList()
	}
	if g.oneIn(3) {
		resources.Limits = g.podLevelList()
	}
	return resources
}

func (g *generator) podLevelList() v1.ResourceList {
	list := v1.ResourceList{}
	for range 1 + g.IntN(2) {
		switch name := pick(g, v1.ResourceCPU, v1.ResourceCPU, v1.ResourceMemory, "hugepages-2Mi", extendedResource); name {
		case v1.ResourceCPU:
			list[name] = resource.MustParse(pick(g, "0", "250m", "1", "2"))
		case v1.ResourceMemory:
			list[name] = resource.MustParse(pick(g, "0", "64Mi", "1Gi"))
		case extendedResource:
			list[name] = resource.MustParse("1")
		default:
			list[name] = resource.MustParse(pick(g, "2Mi", "64Mi"))
		}
	}
	return list
}

// resizeStatus returns the status of a pod that is being resized, or was, or can't be: what the node allocated and applied,
// of the pod and of its containers, of some that the pod does not have too.
func (g *generator) resizeStatus(pod *v1.Pod) v1.PodStatus {
	status := v1.PodStatus{
		InitContainerStatuses: g.containerStatuses(pod.Spec.InitContainers),
		ContainerStatuses:     g.containerStatuses(pod.Spec.Containers),
	}
	if g.oneIn(2) {
		status.AllocatedResources = g.podLevelList()
	}
	if g.oneIn(2) {
		status.Resources = &v1.ResourceRequirements{Requests: g.podLevelList(), Limits: g.podLevelList()}
	}
	if g.oneIn(3) {
		status.Conditions = []v1.PodCondition{{
			Type: v1.PodResizePending, Status: v1.ConditionTrue, Reason: pick(g, v1.PodReasonDeferred, v1.PodReasonInfeasible, ""),
		}}
	}
	if g.oneIn(4) {
		status.Conditions = append(status.Conditions, v1.PodCondition{Type: v1.PodResizeInProgress, Status: v1.ConditionTrue})
	}
	return status
}

func (g *generator) containerStatuses(containers []v1.Container) []v1.ContainerStatus {
	var statuses []v1.ContainerStatus
	for i := range containers {
		if g.oneIn(3) {
			continue
		}
		status := v1.ContainerStatus{Name: containers[i].Name}
		if g.oneIn(10) {
			status.Name = "of-no-container"
		}
		if g.oneIn(2) {
			status.AllocatedResources = pick(g, containers[i].Resources.Requests, g.resources(false))
		}
		if g.oneIn(2) {
			status.Resources = &v1.ResourceRequirements{Requests: pick(g, nil, containers[i].Resources.Requests, g.resources(false))}
		}
		statuses = append(statuses, status)
	}
	return statuses
}

// placedPhase returns the phase of a pod on a node. A finished one stays in the cache until its event comes.
func (g *generator) placedPhase() v1.PodPhase {
	return pick(g, v1.PodRunning, v1.PodRunning, v1.PodRunning, v1.PodRunning, v1.PodPending, v1.PodSucceeded, v1.PodFailed)
}

// addEphemeralContainers adds containers that don't count.
func (g *generator) addEphemeralContainers(pod *v1.Pod) {
	if !g.oneIn(8) {
		return
	}
	of := v1.EphemeralContainerCommon{Name: "debug", Image: g.imageName(), Ports: []v1.ContainerPort{g.port()}}
	of.Resources.Requests = g.resources(false)
	pod.Spec.EphemeralContainers = []v1.EphemeralContainer{{EphemeralContainerCommon: of, TargetContainerName: pod.Spec.Containers[0].Name}}
	if g.oneIn(2) {
		pod.Status.EphemeralContainerStatuses = []v1.ContainerStatus{{Name: of.Name, AllocatedResources: g.resources(false)}}
	}
}

// addHostAccess gives some pods the network of their node, or users of their own; those that have both, and those that
// restart as a whole, need a node that declares that it can do that.
func (g *generator) addHostAccess(pod *v1.Pod) {
	if g.oneIn(8) {
		pod.Spec.HostNetwork = true
		for i := range pod.Spec.Containers[0].Ports { // as the API server requires
			port := &pod.Spec.Containers[0].Ports[i]
			port.ContainerPort, port.HostPort = 80, 80
		}
	}
	if g.oneIn(6) {
		pod.Spec.HostUsers = ptr.To(pod.Spec.HostNetwork && g.oneIn(2) || g.oneIn(3))
	}
	if g.oneIn(16) {
		pod.Spec.Containers[0].RestartPolicyRules = []v1.ContainerRestartRule{{Action: v1.ContainerRestartRuleActionRestartAllContainers}}
	}
	if g.oneIn(16) {
		pod.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{{Name: "v0", BindMountOptions: []string{"noexec"}}}
	}
}

func (g *generator) declaredFeatures() []string {
	return some(g, 3, func() string {
		return pick(g, "RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport", "VolumeBindMountOptions",
			"GuaranteedQoSPodCPUResize", "SomeFeature")
	})
}

// ephemeralClaims returns the claims that were made for the ephemeral volumes of pods, most of them owned by the pod.
func (g *generator) ephemeralClaims(pods []*v1.Pod) []apiruntime.Object {
	var objects []apiruntime.Object
	for _, pod := range pods {
		for _, volume := range pod.Spec.Volumes {
			if volume.Ephemeral == nil || g.oneIn(4) {
				continue
			}
			claim := g.claim(pod.Namespace, g.IntN(5))
			claim.Name = pod.Name + "-" + volume.Name
			claim.UID = claimUID(claim.Namespace, claim.Name)
			owner := metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: ptr.To(true)}
			switch g.IntN(8) {
			case 0:
				owner.UID = "of-another-pod"
			case 1:
				owner.Controller = pick(g, nil, ptr.To(false))
			}
			claim.OwnerReferences = []metav1.OwnerReference{owner}
			if g.oneIn(10) {
				claim.OwnerReferences = nil
			}
			objects = append(objects, claim)
		}
	}
	return objects
}

// withEphemeralClaims returns the cluster with claims for the ephemeral volumes of pods.
func (c cluster) withEphemeralClaims(g *generator, pods ...*v1.Pod) cluster {
	c.objects = append(c.objects[:len(c.objects):len(c.objects)], g.ephemeralClaims(pods)...)
	return c
}

// claimSelector returns a selector of volumes by their labels, mostly none.
func (g *generator) claimSelector() *metav1.LabelSelector {
	if !g.oneIn(5) {
		return nil
	}
	return pick(g, &metav1.LabelSelector{}, &metav1.LabelSelector{MatchLabels: map[string]string{"disk": pick(g, "ssd", "hdd")}},
		&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key: v1.LabelTopologyZone, Operator: metav1.LabelSelectorOpIn, Values: []string{pick(g, "east", "west")},
		}}})
}
