// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package podvolumes

import (
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/component-helpers/storage/ephemeral"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

// ClaimName returns the name of the claim that a volume of a pod stands for: the one that the volume names, or the one
// that is made for it if it is a generic ephemeral volume. It returns false for volumes of other kinds.
func ClaimName(pod *v1.Pod, volume *v1.Volume) (name string, ok bool) {
	switch {
	case volume.PersistentVolumeClaim != nil:
		return volume.PersistentVolumeClaim.ClaimName, true
	case volume.Ephemeral != nil:
		return ephemeral.VolumeClaimName(pod, volume), true
	}
	return "", false
}

// Names reports whether a volume of the pod names the claim. Claims made for ephemeral volumes don't count.
func Names(pod *v1.Pod, claim *v1.PersistentVolumeClaim) bool {
	if pod.Namespace != claim.Namespace {
		return false
	}
	for i := range pod.Spec.Volumes {
		if named := pod.Spec.Volumes[i].PersistentVolumeClaim; named != nil && named.ClaimName == claim.Name {
			return true
		}
	}
	return false
}

// Uses reports whether the pod uses the claim: it names it, or has an ephemeral volume for which it is made.
func Uses(pod *v1.Pod, claim *v1.PersistentVolumeClaim) bool {
	if pod.Namespace != claim.Namespace {
		return false
	}
	for i := range pod.Spec.Volumes {
		if name, ok := ClaimName(pod, &pod.Spec.Volumes[i]); ok && name == claim.Name {
			return true
		}
	}
	return false
}

// WakeIfNames is the hint of a plugin that waits for a claim that the pod names; see [Names].
func WakeIfNames(_ klog.Logger, pod *v1.Pod, _, claim *v1.PersistentVolumeClaim) (fwk.QueueingHint, error) {
	if claim == nil || Names(pod, claim) {
		return fwk.Queue, nil
	}
	return fwk.QueueSkip, nil
}

// WakeIfUses is the hint of a plugin that waits for a claim that the pod uses; see [Uses].
func WakeIfUses(_ klog.Logger, pod *v1.Pod, _, claim *v1.PersistentVolumeClaim) (fwk.QueueingHint, error) {
	if claim == nil || Uses(pod, claim) {
		return fwk.Queue, nil
	}
	return fwk.QueueSkip, nil
}

// LookupStatus is the verdict on a pod for which an object could not be looked up: nothing on a node can help if the
// object does not exist, and it is an internal error otherwise.
func LookupStatus(err error) *fwk.Status {
	if apierrors.IsNotFound(err) {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, err.Error())
	}
	return fwk.AsStatus(err)
}
