// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	podresource "k8s.io/component-helpers/resource"
	fwk "k8s.io/kube-scheduler/framework"
)

// PodEvents returns what happened to a pod between two versions of it, neither of which may be nil; several things can
// happen at once. A change that is none of the specific ones gives one general Update. target tells that the events
// are for the waiting pod itself; the resource is AssignedPod all the same once the pod is on a node.
func PodEvents(oldPod, newPod *v1.Pod, target bool) []fwk.ClusterEvent {
	event := fwk.ClusterEvent{Resource: fwk.UnscheduledPod}
	switch {
	case newPod.Spec.NodeName != "":
		event.Resource = fwk.AssignedPod
	case target:
		event.Resource = fwk.TargetPod
	}
	same := equality.Semantic.DeepEqual
	down, up := requestsChanged(oldPod, newPod)
	events := happened(event.Resource, []change{
		{fwk.UpdatePodLabel, !same(oldPod.Labels, newPod.Labels)},
		{fwk.UpdatePodScaleDown, down},
		{fwk.UpdatePodScaleUp, up},
		{fwk.UpdatePodSchedulingGatesEliminated, len(oldPod.Spec.SchedulingGates) > 0 && len(newPod.Spec.SchedulingGates) == 0},
		{fwk.UpdatePodToleration, len(oldPod.Spec.Tolerations) != len(newPod.Spec.Tolerations)},
		{fwk.UpdatePodGeneratedResourceClaim, !same(oldPod.Status.ResourceClaimStatuses, newPod.Status.ResourceClaimStatuses) ||
			!same(oldPod.Status.ExtendedResourceClaimStatus, newPod.Status.ExtendedResourceClaimStatus)},
	})
	if len(events) == 0 {
		event.ActionType = fwk.Update
		events = append(events, event)
	}
	return events
}

// NodeEvents returns what happened to a node between two versions of it, neither of which may be nil. It returns none
// when nothing changed that could matter to a pod, as with most heartbeats. A node that becomes schedulable loses a
// taint in all but name, so that one update can announce UpdateNodeTaint twice.
func NodeEvents(oldNode, newNode *v1.Node) []fwk.ClusterEvent {
	same := equality.Semantic.DeepEqual
	return happened(fwk.Node, []change{
		{fwk.UpdateNodeTaint, oldNode.Spec.Unschedulable && !newNode.Spec.Unschedulable},
		{fwk.UpdateNodeAllocatable, !same(oldNode.Status.Allocatable, newNode.Status.Allocatable)},
		{fwk.UpdateNodeLabel, !same(oldNode.Labels, newNode.Labels)},
		{fwk.UpdateNodeTaint, !same(oldNode.Spec.Taints, newNode.Spec.Taints)},
		{fwk.UpdateNodeCondition, conditionsChanged(oldNode, newNode)},
		{fwk.UpdateNodeAnnotation, !same(oldNode.Annotations, newNode.Annotations)},
		{fwk.UpdateNodePreemptionPolicy, !same(oldNode.Spec.PodPreemptionPolicy, newNode.Spec.PodPreemptionPolicy)},
		{fwk.UpdateNodeDeclaredFeature, !same(oldNode.Status.DeclaredFeatures, newNode.Status.DeclaredFeatures)},
	})
}

// change is one specific kind of update, and whether it happened.
type change struct {
	action   fwk.ActionType
	happened bool
}

func happened(resource fwk.EventResource, changes []change) []fwk.ClusterEvent {
	var events []fwk.ClusterEvent
	for _, change := range changes {
		if change.happened {
			events = append(events, fwk.ClusterEvent{Resource: resource, ActionType: change.action})
		}
	}
	return events
}

// requestsChanged reports whether the pod requests less, and whether it requests more, of some resource than before; a
// resource that only one version names counts as changed.
func requestsChanged(oldPod, newPod *v1.Pod) (down, up bool) {
	options := podresource.PodResourcesOptions{
		UseStatusResources: true,
		InPlacePodLevelResourcesVerticalScalingEnabled: true,
	}
	before, after := podresource.PodRequests(oldPod, options), podresource.PodRequests(newPod, options)
	return anyAbove(before, after), anyAbove(after, before)
}

func anyAbove(requests, others v1.ResourceList) bool {
	for name, quantity := range requests {
		other, named := others[name]
		if !named || quantity.MilliValue() > other.MilliValue() {
			return true
		}
	}
	return false
}

// conditionsChanged compares types and statuses; times, reasons and messages change with every heartbeat.
func conditionsChanged(oldNode, newNode *v1.Node) bool {
	statuses := func(node *v1.Node) map[v1.NodeConditionType]v1.ConditionStatus {
		byType := make(map[v1.NodeConditionType]v1.ConditionStatus, len(node.Status.Conditions))
		for i := range node.Status.Conditions {
			byType[node.Status.Conditions[i].Type] = node.Status.Conditions[i].Status
		}
		return byType
	}
	return !equality.Semantic.DeepEqual(statuses(oldNode), statuses(newNode))
}
