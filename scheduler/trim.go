// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rouse-scheduler/rouse/framework"
)

// trim is a transform of an informer. It removes from objects what the scheduler does not read, and makes pods that have a
// node compact.
func (s *sharedValues) trim(object any) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch object := object.(type) {
	case *v1.Pod:
		object.ManagedFields = nil
		if assigned(object) {
			return s.compacted(object), nil
		}
	case *v1.Node:
		object.ManagedFields = nil
		s.trimNode(object)
	case *appsv1.ReplicaSet:
		*object = appsv1.ReplicaSet{ObjectMeta: identityAlone(&object.ObjectMeta), Spec: appsv1.ReplicaSetSpec{Selector: object.Spec.Selector}}
	case *appsv1.StatefulSet:
		*object = appsv1.StatefulSet{ObjectMeta: identityAlone(&object.ObjectMeta), Spec: appsv1.StatefulSetSpec{Selector: object.Spec.Selector}}
	case *v1.ReplicationController:
		*object = v1.ReplicationController{
			ObjectMeta: identityAlone(&object.ObjectMeta), Spec: v1.ReplicationControllerSpec{Selector: object.Spec.Selector},
		}
	}
	return object, nil
}

// identityAlone is what is kept of the metadata of the owners of pods.
func identityAlone(meta *metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: meta.Name, Namespace: meta.Namespace, UID: meta.UID, ResourceVersion: meta.ResourceVersion}
}

// compacted keeps of a pod that has a node its identity, what it takes of the node, what other pods' affinity and
// spreading look at, and whether and when it may be evicted.
func (s *sharedValues) compacted(pod *v1.Pod) *framework.CompactPod {
	compact := &framework.CompactPod{
		ObjectMeta: trimmedMeta(&pod.ObjectMeta),
		NodeName:   pod.Spec.NodeName,
		Affinity:   pod.Spec.Affinity,
		Volumes:    trimmedVolumes(pod.Spec.Volumes),
		Spec:       s.trimmedSpec(&pod.Spec),
		StartTime:  pod.Status.StartTime,
		Status:     s.trimmedStatus(&pod.Status),
	}
	s.shareText(&compact.Namespace)
	s.shareLabels(&compact.Labels)
	s.shareOwners(&compact.OwnerReferences)
	s.shareText(&compact.NodeName)
	s.shareAffinity(&compact.Affinity)
	return compact
}

func trimmedMeta(pod *metav1.ObjectMeta) metav1.ObjectMeta {
	meta := metav1.ObjectMeta{
		Name:                       pod.Name,
		Namespace:                  pod.Namespace,
		UID:                        pod.UID,
		ResourceVersion:            pod.ResourceVersion,
		Generation:                 pod.Generation,
		CreationTimestamp:          pod.CreationTimestamp,
		DeletionTimestamp:          pod.DeletionTimestamp,
		DeletionGracePeriodSeconds: pod.DeletionGracePeriodSeconds,
		Labels:                     pod.Labels,
		OwnerReferences:            pod.OwnerReferences,
	}
	packTexts(&meta)
	return meta
}

// packTexts puts what no two pods have in common into one piece of memory, which takes less than three.
func packTexts(meta *metav1.ObjectMeta) {
	name, uid := len(meta.Name), len(meta.UID)
	packed := meta.Name + string(meta.UID) + meta.ResourceVersion
	meta.Name, meta.UID, meta.ResourceVersion = packed[:name], types.UID(packed[name:name+uid]), packed[name+uid:]
}

// trimmedSpec returns what is kept of a spec but for the node, the affinity and the volumes, which differ among pods that are
// otherwise alike.
func (s *sharedValues) trimmedSpec(spec *v1.PodSpec) *v1.PodSpec {
	shared := &v1.PodSpec{
		InitContainers:            trimmedContainers(spec.InitContainers),
		Containers:                trimmedContainers(spec.Containers),
		NodeSelector:              spec.NodeSelector,
		HostNetwork:               spec.HostNetwork,
		HostUsers:                 spec.HostUsers,
		OS:                        spec.OS,
		SchedulerName:             spec.SchedulerName,
		SchedulingGates:           spec.SchedulingGates,
		SchedulingGroup:           spec.SchedulingGroup,
		Tolerations:               spec.Tolerations,
		PriorityClassName:         spec.PriorityClassName,
		Priority:                  spec.Priority,
		PreemptionPolicy:          spec.PreemptionPolicy,
		Overhead:                  spec.Overhead,
		TopologySpreadConstraints: spec.TopologySpreadConstraints,
		ResourceClaims:            spec.ResourceClaims,
		Resources:                 spec.Resources,
	}
	known := false
	if key, ok := s.encode(shared); ok {
		shared, known = s.specs.share(key, shared)
	}
	if !known {
		s.shareParts(shared)
	}
	return shared
}

// shareParts shares what specs have in common that are not the same as a whole.
func (s *sharedValues) shareParts(spec *v1.PodSpec) {
	s.shareText(&spec.SchedulerName)
	s.shareText(&spec.PriorityClassName)
	for _, containers := range [][]v1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			container := &containers[i]
			s.shareText(&container.Name)
			s.shareText(&container.Image)
			s.shareResources(&container.Resources.Requests)
			s.shareResources(&container.Resources.Limits)
		}
	}
}

// trimmedContainers returns copies with what containers take of a node.
func trimmedContainers(containers []v1.Container) []v1.Container {
	if len(containers) == 0 {
		return nil
	}
	trimmed := make([]v1.Container, len(containers))
	for i := range containers {
		c := &containers[i]
		trimmed[i] = v1.Container{Name: c.Name, Image: c.Image, Resources: c.Resources, RestartPolicy: c.RestartPolicy}
		for _, port := range c.Ports {
			if port.HostPort != 0 {
				trimmed[i].Ports = append(trimmed[i].Ports, port)
			}
		}
	}
	return trimmed
}

// trimmedVolumes returns the volumes that may limit where pods can run, which those do not that every node can make.
func trimmedVolumes(volumes []v1.Volume) []v1.Volume {
	makeable := func(v v1.Volume) bool {
		return v.ConfigMap != nil || v.Secret != nil || v.DownwardAPI != nil || v.Projected != nil || v.EmptyDir != nil ||
			v.HostPath != nil || v.GitRepo != nil || v.Image != nil
	}
	var trimmed []v1.Volume
	for i := range volumes {
		if !makeable(volumes[i]) {
			trimmed = append(trimmed, volumes[i])
		}
	}
	return slices.Clip(trimmed)
}

// trimmedStatus returns what is kept of a status but for the start time. That of a pod with conditions or claims is its own;
// what it has in common with others is shared all the same.
func (s *sharedValues) trimmedStatus(status *v1.PodStatus) *v1.PodStatus {
	shared := &v1.PodStatus{
		Phase:                 status.Phase,
		NominatedNodeName:     status.NominatedNodeName,
		ContainerStatuses:     trimmedContainerStatuses(status.ContainerStatuses),
		InitContainerStatuses: trimmedContainerStatuses(status.InitContainerStatuses),
		AllocatedResources:    status.AllocatedResources,
		Resources:             status.Resources,
	}
	if !hasEmptyLists(shared) {
		if key, ok := s.encode(shared); ok {
			shared, _ = s.statuses.share(key, shared)
		}
	}
	conditions := trimmedConditions(status.Conditions)
	if len(conditions)+len(status.ResourceClaimStatuses)+len(status.NodeAllocatableResourceClaimStatuses) == 0 &&
		status.ExtendedResourceClaimStatus == nil {
		return shared
	}
	own := *shared
	own.Conditions = conditions
	own.ResourceClaimStatuses = status.ResourceClaimStatuses
	own.ExtendedResourceClaimStatus = status.ExtendedResourceClaimStatus
	own.NodeAllocatableResourceClaimStatuses = status.NodeAllocatableResourceClaimStatuses
	return &own
}

// trimmedContainerStatuses returns copies with the resources that were given to containers, which for as long as a container
// is being resized differ from those it asks for; nil if no container has any.
func trimmedContainerStatuses(statuses []v1.ContainerStatus) []v1.ContainerStatus {
	var trimmed []v1.ContainerStatus
	for i := range statuses {
		if status := &statuses[i]; status.AllocatedResources != nil || status.Resources != nil {
			trimmed = append(trimmed, v1.ContainerStatus{
				Name: status.Name, AllocatedResources: status.AllocatedResources, Resources: status.Resources,
			})
		}
	}
	return slices.Clip(trimmed)
}

// hasEmptyLists reports whether a list of resources is empty where that is not the same as if it were missing, which
// protobuf does not tell apart.
func hasEmptyLists(status *v1.PodStatus) bool {
	empty := func(allocated v1.ResourceList, running *v1.ResourceRequirements) bool {
		return allocated != nil && len(allocated) == 0 || running != nil && running.Requests != nil && len(running.Requests) == 0
	}
	ofContainer := func(status v1.ContainerStatus) bool { return empty(status.AllocatedResources, status.Resources) }
	return empty(status.AllocatedResources, status.Resources) ||
		slices.ContainsFunc(status.ContainerStatuses, ofContainer) || slices.ContainsFunc(status.InitContainerStatuses, ofContainer)
}

// trimmedConditions returns the conditions that say whether a pod is being preempted, or resized.
func trimmedConditions(conditions []v1.PodCondition) []v1.PodCondition {
	var trimmed []v1.PodCondition
	for i := range conditions {
		switch conditions[i].Type {
		case v1.DisruptionTarget, v1.PodResizePending, v1.PodResizeInProgress:
			trimmed = append(trimmed, conditions[i])
		}
	}
	return slices.Clip(trimmed)
}

// trimNode removes managed fields only, and shares what many nodes have in common.
func (s *sharedValues) trimNode(node *v1.Node) {
	s.shareTexts(node.Labels)
	s.shareTexts(node.Annotations)
	s.shareResources(&node.Status.Capacity)
	s.shareResources(&node.Status.Allocatable)
	for i := range node.Status.Conditions {
		condition := &node.Status.Conditions[i]
		s.shareText(&condition.Reason)
		s.shareText(&condition.Message)
	}
	for i := range node.Status.Images {
		s.shareImageNames(&node.Status.Images[i].Names)
	}
	info := &node.Status.NodeInfo
	for _, text := range []*string{
		&info.KernelVersion, &info.OSImage, &info.ContainerRuntimeVersion, &info.KubeletVersion,
		&info.OperatingSystem, &info.Architecture,
	} {
		s.shareText(text)
	}
}
