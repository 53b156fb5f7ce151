// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package volumes does what the controllers of volumes do in a cluster: it binds claims to volumes, and makes volumes as a
// provisioner would.
package volumes

import (
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/volume"
)

// Cluster has the objects that decide about volumes. Lookups return nil for what does not exist.
type Cluster interface {
	// Volumes returns all volumes, sorted by name.
	Volumes() []*v1.PersistentVolume
	Volume(name string) *v1.PersistentVolume
	Class(name string) *storagev1.StorageClass
	Node(name string) *v1.Node
	CSINode(name string) *storagev1.CSINode
	// CreateVolume adds a volume. It is an error if its name is taken.
	CreateVolume(created *v1.PersistentVolume) error
	// ReplaceVolume and ReplaceClaim store another version of what is there.
	ReplaceVolume(before, updated *v1.PersistentVolume)
	ReplaceClaim(before, updated *v1.PersistentVolumeClaim)
}

// Bind binds a claim if it can be bound, which it may have been before.
func Bind(c Cluster, claim *v1.PersistentVolumeClaim) {
	if claim.DeletionTimestamp != nil || metav1.HasAnnotation(claim.ObjectMeta, volume.AnnBindCompleted) {
		return
	}
	if pv := volumeFor(c, claim); pv != nil {
		bind(c, claim, pv)
	}
}

// volumeFor returns the volume that a claim gets now: the one it names or that names it, one that matches, or a new
// one; nil if it has to wait.
func volumeFor(c Cluster, claim *v1.PersistentVolumeClaim) *v1.PersistentVolume {
	if name := claim.Spec.VolumeName; name != "" {
		pv := c.Volume(name)
		if pv != nil && (pv.Spec.ClaimRef == nil || volume.IsVolumeBoundToClaim(pv, claim)) {
			return pv
		}
		return nil
	}
	var matching []*v1.PersistentVolume
	for _, pv := range c.Volumes() {
		if pv.Spec.ClaimRef != nil && volume.IsVolumeBoundToClaim(pv, claim) {
			return pv
		}
		if volume.CheckAccessModes(claim, pv) {
			matching = append(matching, pv)
		}
	}
	class := c.Class(volume.GetPersistentVolumeClaimClass(claim))
	selected := claim.Annotations[volume.AnnSelectedNode]
	if waitsForConsumer(class) && selected == "" {
		return nil
	}
	if !waitsForConsumer(class) {
		if pv, err := volume.FindMatchingVolume(claim, matching, nil, nil, false, true); err == nil && pv != nil {
			return pv
		}
	}
	if class == nil || class.Provisioner == volume.NotSupportedProvisioner {
		return nil
	}
	return provision(c, claim, class, selected)
}

func waitsForConsumer(class *storagev1.StorageClass) bool {
	return class != nil && class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
}

// provision makes a volume of the size that the claim asks for, which the selected node can reach if one is selected.
func provision(c Cluster, claim *v1.PersistentVolumeClaim, class *storagev1.StorageClass, selected string) *v1.PersistentVolume {
	pv := &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{
			Name:        "pvc-" + string(claim.UID),
			Annotations: map[string]string{volume.AnnDynamicallyProvisioned: class.Provisioner},
		},
		Spec: v1.PersistentVolumeSpec{
			Capacity:         v1.ResourceList{v1.ResourceStorage: claim.Spec.Resources.Requests[v1.ResourceStorage]},
			AccessModes:      claim.Spec.AccessModes,
			VolumeMode:       claim.Spec.VolumeMode,
			StorageClassName: class.Name,
			PersistentVolumeSource: v1.PersistentVolumeSource{
				CSI: &v1.CSIPersistentVolumeSource{Driver: class.Provisioner, VolumeHandle: string(claim.UID)},
			},
			NodeAffinity: reach(c, class, selected),
		},
	}
	if class.ReclaimPolicy != nil {
		pv.Spec.PersistentVolumeReclaimPolicy = *class.ReclaimPolicy
	}
	if err := c.CreateVolume(pv); err != nil {
		return nil // a volume of that name is there already, and has another owner
	}
	return pv
}

// reach returns which nodes can use a new volume: those that are like the selected one as far as the driver looks, or
// those that the class allows; nil means all.
func reach(c Cluster, class *storagev1.StorageClass, selected string) *v1.VolumeNodeAffinity {
	var term v1.NodeSelectorTerm
	require := func(key string, values ...string) {
		term.MatchExpressions = append(term.MatchExpressions, v1.NodeSelectorRequirement{
			Key: key, Operator: v1.NodeSelectorOpIn, Values: values,
		})
	}
	node, csiNode := c.Node(selected), c.CSINode(selected)
	if node != nil && csiNode != nil {
		for _, driver := range csiNode.Spec.Drivers {
			if driver.Name != class.Provisioner {
				continue
			}
			for _, key := range driver.TopologyKeys {
				if value, ok := node.Labels[key]; ok {
					require(key, value)
				}
			}
		}
	}
	if len(term.MatchExpressions) == 0 && node == nil && len(class.AllowedTopologies) > 0 {
		for _, allowed := range class.AllowedTopologies[0].MatchLabelExpressions {
			require(allowed.Key, allowed.Values...)
		}
	}
	if len(term.MatchExpressions) == 0 {
		return nil
	}
	return &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{term}}}
}

// bind makes a volume and a claim refer to each other.
func bind(c Cluster, claim *v1.PersistentVolumeClaim, pv *v1.PersistentVolume) {
	bound, changed, err := volume.GetBindVolumeToClaim(pv, claim)
	if err != nil {
		return
	}
	if changed || bound.Status.Phase != v1.VolumeBound {
		bound = bound.DeepCopy()
		bound.Status.Phase = v1.VolumeBound
		c.ReplaceVolume(pv, bound)
	}
	complete := claim.DeepCopy()
	complete.Spec.VolumeName = pv.Name
	complete.Status.Phase = v1.ClaimBound
	complete.Status.Capacity = pv.Spec.Capacity
	complete.Status.AccessModes = pv.Spec.AccessModes
	metav1.SetMetaDataAnnotation(&complete.ObjectMeta, volume.AnnBindCompleted, "yes")
	c.ReplaceClaim(claim, complete)
}
