// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package nodevolumelimits

import (
	"context"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/podvolumes"
)

// EventsToRegister implements fwk.EnqueueExtensions.
//
// The hints read of the pod its namespace, the names of its claims, those of ephemeral volumes included, and its inline
// in-tree volumes. The plugin signs the volumes, but neither the namespace nor the name of the pod, of which names
// of claims for ephemeral volumes are made; [Plugin.HintClass] covers all.
func (pl *Plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{
		// A new CSINode may bring any driver, and makes in-tree volumes count.
		{Event: fwk.ClusterEvent{Resource: fwk.CSINode, ActionType: fwk.Add}},
		{
			Event:          fwk.ClusterEvent{Resource: fwk.CSINode, ActionType: fwk.Update},
			QueueingHintFn: framework.HintFor(afterCSINodeUpdated),
		},
		{
			Event:          fwk.ClusterEvent{Resource: fwk.AssignedPod, ActionType: fwk.Delete},
			QueueingHintFn: framework.HintFor(pl.afterPodDeleted),
		},
		{
			Event:          fwk.ClusterEvent{Resource: fwk.PersistentVolumeClaim, ActionType: fwk.Add},
			QueueingHintFn: framework.HintFor(afterClaimAdded),
		},
		{
			Event:          fwk.ClusterEvent{Resource: fwk.VolumeAttachment, ActionType: fwk.Delete},
			QueueingHintFn: framework.HintFor(pl.afterDetached),
		},
	}, nil
}

// afterCSINodeUpdated wakes pods if any driver can attach more volumes than before. No limit counts as a limit of zero
// here, so that a limit that is taken away wakes nobody.
func afterCSINodeUpdated(_ klog.Logger, _ *v1.Pod, oldNode, newNode *storagev1.CSINode) (fwk.QueueingHint, error) {
	if newNode == nil {
		return fwk.Queue, nil
	}
	before := limitsOf(oldNode)
	for driver, limit := range limitsOf(newNode) {
		if limit > before[driver] {
			return fwk.Queue, nil
		}
	}
	return fwk.QueueSkip, nil
}

// afterPodDeleted wakes pods if the deleted one had volumes that may have counted, and a place or one kept for it.
// Whether their drivers are those that the waiting pod needs is not looked at.
func (pl *Plugin) afterPodDeleted(_ klog.Logger, _, deleted, _ *v1.Pod) (fwk.QueueingHint, error) {
	switch {
	case deleted == nil:
		return fwk.Queue, nil
	case deleted.Spec.NodeName == "" && deleted.Status.NominatedNodeName == "":
		return fwk.QueueSkip, nil
	case pl.mayCount(deleted):
		return fwk.Queue, nil
	}
	return fwk.QueueSkip, nil
}

// afterClaimAdded wakes the pod if it uses the claim.
func afterClaimAdded(_ klog.Logger, pod *v1.Pod, _, added *v1.PersistentVolumeClaim) (fwk.QueueingHint, error) {
	if added == nil || podvolumes.Uses(pod, added) {
		return fwk.Queue, nil
	}
	return fwk.QueueSkip, nil
}

// afterDetached wakes the pod if it names any claim, or has an inline volume for the driver that detached one. Ephemeral
// volumes are not looked at.
func (pl *Plugin) afterDetached(logger klog.Logger, pod *v1.Pod, detached, _ *storagev1.VolumeAttachment) (fwk.QueueingHint, error) {
	if detached == nil {
		return fwk.Queue, nil
	}
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		if volume.PersistentVolumeClaim != nil {
			return fwk.Queue, nil
		}
		if !pl.translator.IsInlineMigratable(volume) {
			continue
		}
		translated, err := pl.translator.TranslateInTreeInlineVolumeToCSI(logger, volume, pod.Namespace)
		if err != nil {
			return fwk.Queue, err
		}
		if source := translated.Spec.CSI; source != nil && source.Driver == detached.Spec.Attacher {
			return fwk.Queue, nil
		}
	}
	return fwk.QueueSkip, nil
}
