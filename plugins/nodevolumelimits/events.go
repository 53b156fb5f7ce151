// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package nodevolumelimits

import (
	"context"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/podvolumes"
)

// EventsToRegister implements fwk.EnqueueExtensions.
//
// The hints read of the pod its namespace, the names of its claims, those of ephemeral volumes included, and its inline
// in-tree volumes. The plugin signs the volumes, but neither the namespace nor the name of the pod, of which names
// of claims for ephemeral volumes are made; [Plugin.HintClass] covers all.
func (pl *plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{
		// A new CSINode may bring any driver, and makes in-tree volumes count.
		{Event: fwk.ClusterEvent{Resource: fwk.CSINode, ActionType: fwk.Add}},
		// A node without CSINode has no limits, whether it never had one or lost it.
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add}},
		{Event: fwk.ClusterEvent{Resource: fwk.CSINode, ActionType: fwk.Delete}},
		{
			Event:          fwk.ClusterEvent{Resource: fwk.CSIDriver, ActionType: fwk.Update | fwk.Delete},
			QueueingHintFn: framework.HintFor(afterDriverChange),
		},
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
			QueueingHintFn: framework.HintFor(podvolumes.WakeIfUses),
		},
		{
			Event:          fwk.ClusterEvent{Resource: fwk.PersistentVolumeClaim, ActionType: fwk.Update},
			QueueingHintFn: framework.HintFor(afterClaimUpdate),
		},
		{
			Event:          fwk.ClusterEvent{Resource: fwk.VolumeAttachment, ActionType: fwk.Delete},
			QueueingHintFn: framework.HintFor(pl.afterDetached),
		},
	}, nil
}

// afterCSINodeUpdated wakes pods if any driver is new, can attach more volumes than before, or has no limit any more.
func afterCSINodeUpdated(_ klog.Logger, _ *v1.Pod, oldNode, newNode *storagev1.CSINode) (fwk.QueueingHint, error) {
	if newNode == nil {
		return fwk.Queue, nil
	}
	before, now := limitsByDriver(oldNode), limitsByDriver(newNode)
	for driver, limit := range now {
		if limit > before[driver] {
			return fwk.Queue, nil
		}
	}
	for driver := range before {
		if _, limited := now[driver]; !limited {
			return fwk.Queue, nil
		}
	}
	if installed(newNode).Difference(installed(oldNode)).Len() > 0 {
		return fwk.Queue, nil
	}
	return fwk.QueueSkip, nil
}

// limitsByDriver returns how many volumes each driver of a node can attach; drivers without a limit are left out.
func limitsByDriver(csiNode *storagev1.CSINode) map[string]int32 {
	limits := map[string]int32{}
	for _, l := range limitsOf(csiNode) {
		limits[l.driver] = l.limit
	}
	return limits
}

// installed returns the drivers that a node has.
func installed(csiNode *storagev1.CSINode) sets.Set[string] {
	names := sets.New[string]()
	if csiNode != nil {
		for i := range csiNode.Spec.Drivers {
			names.Insert(csiNode.Spec.Drivers[i].Name)
		}
	}
	return names
}

// afterDriverChange wakes pods if the driver kept them off nodes without it, and does not any more.
func afterDriverChange(_ klog.Logger, _ *v1.Pod, oldDriver, newDriver *storagev1.CSIDriver) (fwk.QueueingHint, error) {
	if oldDriver == nil || keepsAway(oldDriver) && !keepsAway(newDriver) {
		return fwk.Queue, nil
	}
	return fwk.QueueSkip, nil
}

// keepsAway reports whether a driver keeps pods off nodes without it. One that is deleted does not.
func keepsAway(driver *storagev1.CSIDriver) bool {
	return driver != nil && ptr.Deref(driver.Spec.PreventPodSchedulingIfMissing, false)
}

// afterPodDeleted wakes pods if the deleted one had volumes that may have counted, and a place or one kept for it.
// Whether their drivers are those that the waiting pod needs is not looked at.
func (pl *plugin) afterPodDeleted(_ klog.Logger, _, deleted, _ *v1.Pod) (fwk.QueueingHint, error) {
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

// afterClaimUpdate wakes the pod if it uses the claim and the claim has got a volume, which may be one that does not
// count.
func afterClaimUpdate(logger klog.Logger, pod *v1.Pod, before, now *v1.PersistentVolumeClaim) (fwk.QueueingHint, error) {
	if before != nil && now != nil && before.Spec.VolumeName == now.Spec.VolumeName {
		return fwk.QueueSkip, nil
	}
	return podvolumes.WakeIfUses(logger, pod, before, now)
}

// afterDetached wakes the pod if it has any claim, or has an inline volume for the driver that detached one.
func (pl *plugin) afterDetached(logger klog.Logger, pod *v1.Pod, detached, _ *storagev1.VolumeAttachment) (fwk.QueueingHint, error) {
	if detached == nil {
		return fwk.Queue, nil
	}
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		if volume.PersistentVolumeClaim != nil || volume.Ephemeral != nil {
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
