// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

// This file makes clusters with room, where pods fit and the scores decide. On the others, most pods fit nowhere.

// easyCluster returns a cluster in which most pods fit on some nodes.
func (g *generator) easyCluster() cluster {
	var c cluster
	for i := range 2 + g.IntN(6) {
		c.nodes = append(c.nodes, g.easyNode(i))
	}
	for i := range g.IntN(10) {
		pod := g.easyPod(fmt.Sprintf("placed-%d", i))
		pod.Spec.NodeName = pick(g, c.nodes...).Name
		pod.Status.Phase = g.placedPhase()
		c.pods = append(c.pods, pod)
	}
	c.objects = append(g.owners(), g.easyStorage()...)
	c.objects = append(c.objects, g.ephemeralClaims(c.pods)...)
	return c
}

func (g *generator) easyNode(i int) *v1.Node {
	node := g.node(i)
	for name, quantity := range map[v1.ResourceName]string{
		v1.ResourceCPU: pick(g, "4", "8", "15500m"), v1.ResourceMemory: pick(g, "3000Mi", "8Gi", "16Gi"), v1.ResourceEphemeralStorage: "50Gi",
		v1.ResourcePods: pick(g, "4", "110"), extendedResource: pick(g, "0", "4"),
	} {
		node.Status.Allocatable[name] = resource.MustParse(quantity)
	}
	node.Spec.Unschedulable = g.oneIn(20)
	for i := range node.Spec.Taints {
		if !g.oneIn(8) {
			node.Spec.Taints[i].Effect = v1.TaintEffectPreferNoSchedule
		}
	}
	return node
}

// easyPod returns a pod that asks for little and demands little, but prefers much.
func (g *generator) easyPod(name string) *v1.Pod {
	pod := g.pod(name)
	spec := &pod.Spec
	spec.NodeName, spec.SchedulingGates, spec.InitContainers, spec.Resources = "", nil, nil, nil
	for i := range spec.Containers {
		requests := spec.Containers[i].Resources.Requests
		for resourceName := range requests {
			switch resourceName {
			case v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage, extendedResource:
			default:
				delete(requests, resourceName)
			}
		}
		if !g.oneIn(8) {
			spec.Containers[i].Ports = nil
		}
	}
	if !g.oneIn(6) {
		spec.NodeSelector = nil
	}
	g.addPodAffinity(pod)
	if !g.oneIn(4) && spec.Affinity != nil {
		if own := spec.Affinity.NodeAffinity; own != nil {
			own.RequiredDuringSchedulingIgnoredDuringExecution = nil
		}
		if own := spec.Affinity.PodAffinity; own != nil {
			own.RequiredDuringSchedulingIgnoredDuringExecution = nil
		}
		if own := spec.Affinity.PodAntiAffinity; own != nil {
			own.RequiredDuringSchedulingIgnoredDuringExecution = nil
		}
	}
	for i := range spec.TopologySpreadConstraints {
		if constraint := &spec.TopologySpreadConstraints[i]; !g.oneIn(4) {
			constraint.WhenUnsatisfiable, constraint.MinDomains = v1.ScheduleAnyway, nil
		}
	}
	spec.Volumes = nil
	if g.oneIn(8) {
		ephemeral := v1.Volume{Name: "scratch"}
		ephemeral.Ephemeral = &v1.EphemeralVolumeSource{VolumeClaimTemplate: &v1.PersistentVolumeClaimTemplate{}}
		spec.Volumes = []v1.Volume{ephemeral}
	} else if g.oneIn(2) {
		spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{
			PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: fmt.Sprintf("claim-%d", g.IntN(5))},
		}}}
	}
	return pod
}

// easyStorage returns claims that are bound as a controller would bind them, or wait for a pod and can be bound.
func (g *generator) easyStorage() []apiruntime.Object {
	objects := []apiruntime.Object{g.driver()}
	for i := range 3 {
		class := g.storageClass(i)
		class.VolumeBindingMode = ptr.To(storagev1.VolumeBindingWaitForFirstConsumer)
		objects = append(objects, class)
	}
	for i := range 6 {
		objects = append(objects, g.csiNode(i))
	}
	for i := range 3 {
		objects = append(objects, g.capacity(i))
	}
	for n, namespace := range []string{"default", "shop"} {
		for i := range 5 {
			claim, volume := g.claim(namespace, i), g.persistentVolume(5*n+i)
			class := pick(g, "class-0", "class-1", "class-2")
			claim.Annotations, claim.Status.Phase, claim.Spec.VolumeName, claim.DeletionTimestamp = nil, v1.ClaimPending, "", nil
			claim.Spec.StorageClassName, volume.Spec.StorageClassName = ptr.To(class), class
			claim.Spec.AccessModes = []v1.PersistentVolumeAccessMode{pick(g, v1.ReadWriteOnce, v1.ReadWriteOncePod, v1.ReadWriteOncePod)}
			volume.Spec.AccessModes = claim.Spec.AccessModes
			if !g.oneIn(6) {
				volume.Spec.VolumeMode, volume.Spec.VolumeAttributesClassName = claim.Spec.VolumeMode, claim.Spec.VolumeAttributesClassName
			}
			delete(volume.Annotations, v1.BetaStorageClassAnnotation)
			volume.Spec.ClaimRef, volume.Status.Phase = nil, v1.VolumeAvailable
			if g.oneIn(2) {
				claim.Spec.VolumeName, claim.Status.Phase = volume.Name, v1.ClaimBound
				claim.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
				volume.Spec.ClaimRef = &v1.ObjectReference{Namespace: namespace, Name: claim.Name, UID: claim.UID}
				volume.Status.Phase = v1.VolumeBound
			}
			if g.oneIn(2) {
				volume.Labels = map[string]string{pick(g, v1.LabelTopologyZone, v1.LabelTopologyRegion): pick(g, "east", "west", "east__west")}
			}
			objects = append(objects, claim)
			if !g.oneIn(4) {
				objects = append(objects, volume)
			}
		}
	}
	return objects
}

// mixedCluster returns one cluster or the other, and what makes pods for it.
func (g *generator) mixedCluster() (cluster, func(name string) *v1.Pod) {
	if g.oneIn(3) {
		return g.cluster(), g.pod
	}
	c := g.easyCluster()
	c.objects = append(c.objects, g.attachments()...)
	return c, g.easyPod
}
