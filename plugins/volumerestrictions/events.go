// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumerestrictions

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/podvolumes"
)

// EventsToRegister implements fwk.EnqueueExtensions. Volumes of a pod never change, and neither do the access modes of
// a claim.
//
// The hints read the namespace of the pod, its inline disks of the kinds that are restricted, and the names of its
// claims. The plugin signs the disks and the names but not the namespace; [Plugin.HintClass] covers all.
func (pl *plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{
		{
			Event:          fwk.ClusterEvent{Resource: fwk.AssignedPod, ActionType: fwk.Delete},
			QueueingHintFn: framework.HintFor(afterPodDeleted),
		},
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add}},
		{
			Event:          fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Delete},
			QueueingHintFn: framework.HintFor(afterNodeDeleted),
		},
		{
			Event:          fwk.ClusterEvent{Resource: fwk.PersistentVolumeClaim, ActionType: fwk.Add},
			QueueingHintFn: framework.HintFor(podvolumes.WakeIfNames),
		},
	}, nil
}

// afterPodDeleted wakes the pod if the deleted one had a disk or a claim that the pod wants.
func afterPodDeleted(_ klog.Logger, pod *v1.Pod, deleted, _ *v1.Pod) (fwk.QueueingHint, error) {
	if deleted == nil {
		return fwk.Queue, nil
	}
	if disksConflict(pod.Spec.Volumes, deleted.Spec.Volumes) || deleted.Namespace == pod.Namespace && shareClaim(pod, deleted) {
		return fwk.Queue, nil
	}
	return fwk.QueueSkip, nil
}

// afterNodeDeleted wakes the pod if it names a claim: the pod that used it on that node no longer keeps others from it, even before
// it is deleted itself.
func afterNodeDeleted(_ klog.Logger, pod *v1.Pod, deleted, _ *v1.Node) (fwk.QueueingHint, error) {
	namesClaim := func(volume v1.Volume) bool { return volume.PersistentVolumeClaim != nil }
	if deleted == nil || slices.ContainsFunc(pod.Spec.Volumes, namesClaim) {
		return fwk.Queue, nil
	}
	return fwk.QueueSkip, nil
}

// shareClaim reports whether two pods of one namespace name the same claim.
func shareClaim(a, b *v1.Pod) bool {
	for i := range a.Spec.Volumes {
		for j := range b.Spec.Volumes {
			claim, other := a.Spec.Volumes[i].PersistentVolumeClaim, b.Spec.Volumes[j].PersistentVolumeClaim
			if claim != nil && other != nil && claim.ClaimName == other.ClaimName {
				return true
			}
		}
	}
	return false
}
