// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

//lint:file-ignore SA1019 a change of a deprecated field is a change like any other

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// onlyHeartbeat reports whether a version of a node differs from the one before in nothing but the heartbeat times of its
// conditions, its resource version and its managed fields. The nodes of a cluster report that often, and nothing that is
// known of them changes.
func onlyHeartbeat(old, updated *v1.Node) bool {
	return sameObjectMeta(&old.ObjectMeta, &updated.ObjectMeta) && sameSpec(&old.Spec, &updated.Spec) && sameStatus(&old.Status, &updated.Status)
}

func sameObjectMeta(a, b *metav1.ObjectMeta) bool {
	return a.UID == b.UID && a.Name == b.Name && a.Generation == b.Generation && a.GenerateName == b.GenerateName && a.Namespace == b.Namespace &&
		a.SelfLink == b.SelfLink && a.CreationTimestamp.Equal(&b.CreationTimestamp) && a.DeletionTimestamp.Equal(b.DeletionTimestamp) &&
		maps.Equal(a.Labels, b.Labels) && maps.Equal(a.Annotations, b.Annotations) && slices.Equal(a.Finalizers, b.Finalizers) &&
		same(a.DeletionGracePeriodSeconds, b.DeletionGracePeriodSeconds) && sameList(a.OwnerReferences, b.OwnerReferences)
}

func sameSpec(a, b *v1.NodeSpec) bool {
	return a.Unschedulable == b.Unschedulable && a.ProviderID == b.ProviderID && a.PodCIDR == b.PodCIDR && a.DoNotUseExternalID == b.DoNotUseExternalID &&
		slices.Equal(a.PodCIDRs, b.PodCIDRs) && slices.EqualFunc(a.Taints, b.Taints, sameTaint) &&
		same(a.ConfigSource, b.ConfigSource) && same(a.PodPreemptionPolicy, b.PodPreemptionPolicy)
}

func sameTaint(a, b v1.Taint) bool {
	return a.Key == b.Key && a.Value == b.Value && a.Effect == b.Effect && a.TimeAdded.Equal(b.TimeAdded)
}

func sameStatus(a, b *v1.NodeStatus) bool {
	return a.Phase == b.Phase && sameInfo(a.NodeInfo, b.NodeInfo) && a.DaemonEndpoints == b.DaemonEndpoints &&
		slices.EqualFunc(a.Conditions, b.Conditions, sameCondition) &&
		maps.EqualFunc(a.Allocatable, b.Allocatable, sameQuantity) && maps.EqualFunc(a.Capacity, b.Capacity, sameQuantity) &&
		slices.Equal(a.Addresses, b.Addresses) && slices.EqualFunc(a.Images, b.Images, sameImage) &&
		slices.Equal(a.VolumesInUse, b.VolumesInUse) && slices.Equal(a.VolumesAttached, b.VolumesAttached) &&
		slices.Equal(a.DeclaredFeatures, b.DeclaredFeatures) &&
		same(a.Config, b.Config) && same(a.Features, b.Features) && sameList(a.RuntimeHandlers, b.RuntimeHandlers)
}

func sameInfo(a, b v1.NodeSystemInfo) bool {
	if !same(a.Swap, b.Swap) || !same(a.RunningInUserNamespace, b.RunningInUserNamespace) {
		return false
	}
	a.Swap, a.RunningInUserNamespace = b.Swap, b.RunningInUserNamespace
	return a == b
}

func sameCondition(a, b v1.NodeCondition) bool {
	return a.Type == b.Type && a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message && a.LastTransitionTime.Equal(&b.LastTransitionTime)
}

func sameQuantity(a, b resource.Quantity) bool { return a.Cmp(b) == 0 }

func sameImage(a, b v1.ContainerImage) bool {
	return a.SizeBytes == b.SizeBytes && slices.Equal(a.Names, b.Names)
}

// same compares parts that few nodes have.
func same[T any](a, b *T) bool { return a == b || equality.Semantic.DeepEqual(a, b) }

func sameList[T any](a, b []T) bool {
	return len(a) == 0 && len(b) == 0 || equality.Semantic.DeepEqual(a, b)
}
