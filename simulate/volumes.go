// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/volume"
)

// This file does what the controllers of volumes do in a cluster: it binds claims to volumes, and makes volumes as a
// provisioner would. It does so inside of the request that gives a reason to, so that a scheduler that waits for a
// claim to be bound finds it bound.

func (s *store) claims() *collection {
	return s.of(v1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"))
}

func (s *store) volumes() *collection {
	return s.of(v1.SchemeGroupVersion.WithKind("PersistentVolume"))
}

func (s *store) classes() *collection {
	return s.of(storagev1.SchemeGroupVersion.WithKind("StorageClass"))
}

// aboutVolumes reports whether a change of the kind can give a reason to bind a claim.
func (s *store) aboutVolumes(c *collection) bool {
	return c == s.claims() || c == s.volumes() || c == s.classes()
}

// bindClaims binds every claim that can be bound, in the order of their names.
func (s *store) bindClaims() {
	for _, found := range s.claims().sorted("") {
		claim := found.(*v1.PersistentVolumeClaim)
		if claim.DeletionTimestamp != nil || metav1.HasAnnotation(claim.ObjectMeta, volume.AnnBindCompleted) {
			continue
		}
		if pv := s.volumeFor(claim); pv != nil {
			s.bindClaim(claim, pv)
		}
	}
}

// volumeFor returns the volume that a claim gets now: the one it names or that names it, one that matches, or a new
// one; nil if it has to wait.
func (s *store) volumeFor(claim *v1.PersistentVolumeClaim) *v1.PersistentVolume {
	if name := claim.Spec.VolumeName; name != "" {
		pv, _ := s.volumes().objects[name].(*v1.PersistentVolume)
		if pv != nil && (pv.Spec.ClaimRef == nil || volume.IsVolumeBoundToClaim(pv, claim)) {
			return pv
		}
		return nil
	}
	var matching []*v1.PersistentVolume
	for _, found := range s.volumes().sorted("") {
		pv := found.(*v1.PersistentVolume)
		if pv.Spec.ClaimRef != nil && volume.IsVolumeBoundToClaim(pv, claim) {
			return pv
		}
		if volume.CheckAccessModes(claim, pv) {
			matching = append(matching, pv)
		}
	}
	class, _ := s.classes().objects[volume.GetPersistentVolumeClaimClass(claim)].(*storagev1.StorageClass)
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
	return s.provision(claim, class, selected)
}

func waitsForConsumer(class *storagev1.StorageClass) bool {
	return class != nil && class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
}

// provision makes a volume of the size that the claim asks for, which the selected node can reach if one is selected.
func (s *store) provision(claim *v1.PersistentVolumeClaim, class *storagev1.StorageClass, selected string) *v1.PersistentVolume {
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
			NodeAffinity: s.reach(class, selected),
		},
	}
	if class.ReclaimPolicy != nil {
		pv.Spec.PersistentVolumeReclaimPolicy = *class.ReclaimPolicy
	}
	if _, err := s.create(s.volumes(), pv); err != nil {
		return nil // a volume of that name is there already, and has another owner
	}
	return pv
}

// reach returns which nodes can use a new volume: those that are like the selected one as far as the driver looks, or
// those that the class allows; nil means all.
func (s *store) reach(class *storagev1.StorageClass, selected string) *v1.VolumeNodeAffinity {
	var term v1.NodeSelectorTerm
	require := func(key string, values ...string) {
		term.MatchExpressions = append(term.MatchExpressions, v1.NodeSelectorRequirement{
			Key: key, Operator: v1.NodeSelectorOpIn, Values: values,
		})
	}
	node, _ := s.nodes().objects[selected].(*v1.Node)
	csiNode, _ := s.of(storagev1.SchemeGroupVersion.WithKind("CSINode")).objects[selected].(*storagev1.CSINode)
	if node != nil && csiNode != nil {
		for _, driver := range csiNode.Spec.Drivers {
			if driver.Name != class.Provisioner {
				continue
			}
			for _, key := range driver.TopologyKeys {
				require(key, node.Labels[key])
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

// bindClaim makes a volume and a claim refer to each other.
func (s *store) bindClaim(claim *v1.PersistentVolumeClaim, pv *v1.PersistentVolume) {
	bound, changed, err := volume.GetBindVolumeToClaim(pv, claim)
	if err != nil {
		return
	}
	if changed || bound.Status.Phase != v1.VolumeBound {
		bound = bound.DeepCopy()
		bound.Status.Phase = v1.VolumeBound
		s.put(s.volumes(), pv.Name, pv, bound)
	}
	complete := claim.DeepCopy()
	complete.Spec.VolumeName = pv.Name
	complete.Status.Phase = v1.ClaimBound
	complete.Status.Capacity = pv.Spec.Capacity
	complete.Status.AccessModes = pv.Spec.AccessModes
	metav1.SetMetaDataAnnotation(&complete.ObjectMeta, volume.AnnBindCompleted, "yes")
	s.put(s.claims(), keyOf(claim.Namespace, claim.Name), claim, complete)
}
