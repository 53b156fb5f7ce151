// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumezone

import (
	"context"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/podvolumes"
)

// EventsToRegister implements fwk.EnqueueExtensions.
//
// The hints read of the pod its namespace and the names of its claims. The plugin signs all its volumes but not the
// namespace; [Plugin.HintClass] covers exactly what the hints read.
func (pl *plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{
		{
			Event:          fwk.ClusterEvent{Resource: fwk.StorageClass, ActionType: fwk.Add},
			QueueingHintFn: framework.HintFor(afterClassAdded),
		},
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | fwk.UpdateNodeLabel}},
		{
			Event:          fwk.ClusterEvent{Resource: fwk.PersistentVolumeClaim, ActionType: fwk.Add | fwk.Update},
			QueueingHintFn: framework.HintFor(podvolumes.WakeIfNames),
		},
		{
			Event:          fwk.ClusterEvent{Resource: fwk.PersistentVolume, ActionType: fwk.Add | fwk.Update},
			QueueingHintFn: framework.HintFor(afterVolumeChange),
		},
	}, nil
}

// afterClassAdded wakes pods if the volumes of the class are chosen only when a pod has a node. Whether the pod has a claim
// of the class does not matter.
func afterClassAdded(_ klog.Logger, _ *v1.Pod, _, added *storagev1.StorageClass) (fwk.QueueingHint, error) {
	if added == nil || added.VolumeBindingMode != nil && *added.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer {
		return fwk.Queue, nil
	}
	return fwk.QueueSkip, nil
}

// afterVolumeChange wakes pods if the volume is new or somewhere else than before. Whose volume it is does not matter.
func afterVolumeChange(_ klog.Logger, _ *v1.Pod, oldVolume, newVolume *v1.PersistentVolume) (fwk.QueueingHint, error) {
	if oldVolume == nil || newVolume == nil {
		return fwk.Queue, nil
	}
	if equality.Semantic.DeepEqual(placesOf(oldVolume), placesOf(newVolume)) {
		return fwk.QueueSkip, nil
	}
	return fwk.Queue, nil
}
