// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumebinding

import (
	"context"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/podvolumes"
)

// EventsToRegister implements fwk.EnqueueExtensions.
//
// The hints read of the pod its namespace and the names of its claims, those of ephemeral volumes included. The plugin
// signs the volumes, but neither the namespace nor the name of the pod, of which names of claims for ephemeral volumes
// are made; [Plugin.HintClass] covers all.
func (pl *plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{
		{
			Event:          fwk.ClusterEvent{Resource: fwk.StorageClass, ActionType: fwk.Add | fwk.Update},
			QueueingHintFn: framework.HintFor(afterClassChange),
		},
		{
			Event:          fwk.ClusterEvent{Resource: fwk.PersistentVolumeClaim, ActionType: fwk.Add | fwk.Update},
			QueueingHintFn: framework.HintFor(podvolumes.WakeIfUses),
		},
		// A volume may be what any claim waits for.
		{Event: fwk.ClusterEvent{Resource: fwk.PersistentVolume, ActionType: fwk.Add | fwk.Update}},
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | fwk.UpdateNodeLabel}},
		{
			Event:          fwk.ClusterEvent{Resource: fwk.CSINode, ActionType: fwk.Add | fwk.Update},
			QueueingHintFn: framework.HintFor(afterCSINodeChange),
		},
		{
			Event:          fwk.ClusterEvent{Resource: fwk.CSIDriver, ActionType: fwk.Update},
			QueueingHintFn: framework.HintFor(afterDriverChange),
		},
		{
			Event:          fwk.ClusterEvent{Resource: fwk.CSIDriver, ActionType: fwk.Delete},
			QueueingHintFn: framework.HintFor(afterDriverChange),
		},
		{
			Event:          fwk.ClusterEvent{Resource: fwk.CSIStorageCapacity, ActionType: fwk.Add | fwk.Update},
			QueueingHintFn: framework.HintFor(afterCapacityChange),
		},
	}, nil
}

// afterClassChange wakes pods if the class is new, or allows other nodes than before. Nothing else of a class can change
// that matters.
func afterClassChange(_ klog.Logger, _ *v1.Pod, oldClass, newClass *storagev1.StorageClass) (fwk.QueueingHint, error) {
	if oldClass == nil || newClass == nil || !equality.Semantic.DeepEqual(oldClass.AllowedTopologies, newClass.AllowedTopologies) {
		return fwk.Queue, nil
	}
	return fwk.QueueSkip, nil
}

// afterCSINodeChange wakes pods if the node is new, or leaves other in-tree volumes to CSI drivers than before.
func afterCSINodeChange(_ klog.Logger, _ *v1.Pod, oldNode, newNode *storagev1.CSINode) (fwk.QueueingHint, error) {
	if oldNode == nil || newNode == nil ||
		oldNode.Annotations[v1.MigratedPluginsAnnotationKey] != newNode.Annotations[v1.MigratedPluginsAnnotationKey] {
		return fwk.Queue, nil
	}
	return fwk.QueueSkip, nil
}

// afterDriverChange wakes pods if the driver told how much storage there is, and does so no more, because it ceased to or
// is deleted. Which claims are for the driver is not looked at.
func afterDriverChange(_ klog.Logger, _ *v1.Pod, oldDriver, newDriver *storagev1.CSIDriver) (fwk.QueueingHint, error) {
	if oldDriver == nil || tellsCapacity(oldDriver) && !tellsCapacity(newDriver) {
		return fwk.Queue, nil
	}
	return fwk.QueueSkip, nil
}

func tellsCapacity(driver *storagev1.CSIDriver) bool {
	return driver != nil && ptr.Deref(driver.Spec.StorageCapacity, false)
}

// afterCapacityChange wakes pods if larger volumes can be made than before.
func afterCapacityChange(_ klog.Logger, _ *v1.Pod, oldCapacity, newCapacity *storagev1.CSIStorageCapacity) (fwk.QueueingHint, error) {
	if oldCapacity == nil || newCapacity == nil {
		return fwk.Queue, nil
	}
	before, now := largestVolume(oldCapacity), largestVolume(newCapacity)
	if now != nil && (before == nil || now.Cmp(*before) > 0) {
		return fwk.Queue, nil
	}
	return fwk.QueueSkip, nil
}
