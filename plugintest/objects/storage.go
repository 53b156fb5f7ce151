// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/storage/volume"
	"k8s.io/utils/ptr"
)

// PersistentVolumeClaimBuilder makes a claim for a volume, as [PodBuilder] makes a pod. Make one with
// [PersistentVolumeClaim].
type PersistentVolumeClaimBuilder struct {
	claim *v1.PersistentVolumeClaim
}

// PersistentVolumeClaim begins a claim of the given name in the namespace default, which is not bound.
func PersistentVolumeClaim(name string) PersistentVolumeClaimBuilder {
	return PersistentVolumeClaimBuilder{&v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name},
	}}
}

// Build returns the claim. One without a UID gets namespace/name.
func (b PersistentVolumeClaimBuilder) Build() *v1.PersistentVolumeClaim {
	return b.With(func(claim *v1.PersistentVolumeClaim) {
		if claim.UID == "" {
			claim.UID = types.UID(claim.Namespace + "/" + claim.Name)
		}
	}).claim
}

// With changes the claim in ways that the builder has no method for.
func (b PersistentVolumeClaimBuilder) With(changes ...func(claim *v1.PersistentVolumeClaim)) PersistentVolumeClaimBuilder {
	if b.claim == nil {
		b = PersistentVolumeClaim("")
	}
	changed := b.claim.DeepCopy()
	for _, change := range changes {
		change(changed)
	}
	return PersistentVolumeClaimBuilder{changed}
}

// StorageClass sets the storage class.
func (b PersistentVolumeClaimBuilder) StorageClass(name string) PersistentVolumeClaimBuilder {
	return b.With(func(claim *v1.PersistentVolumeClaim) { claim.Spec.StorageClassName = &name })
}

// Request sets how much storage the claim asks for, such as "10Gi".
func (b PersistentVolumeClaimBuilder) Request(size string) PersistentVolumeClaimBuilder {
	return b.With(func(claim *v1.PersistentVolumeClaim) { claim.Spec.Resources.Requests = Resources("storage", size) })
}

// AccessModes sets the access modes.
func (b PersistentVolumeClaimBuilder) AccessModes(modes ...v1.PersistentVolumeAccessMode) PersistentVolumeClaimBuilder {
	return b.With(func(claim *v1.PersistentVolumeClaim) { claim.Spec.AccessModes = modes })
}

// Bound binds the claim to a volume.
func (b PersistentVolumeClaimBuilder) Bound(name string) PersistentVolumeClaimBuilder {
	return b.With(func(claim *v1.PersistentVolumeClaim) {
		claim.Spec.VolumeName = name
		claim.Status.Phase = v1.ClaimBound
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, volume.AnnBindCompleted, "yes")
	})
}

// Owner makes a pod the owner of the claim, as it is of those made for its ephemeral volumes.
func (b PersistentVolumeClaimBuilder) Owner(pod *v1.Pod) PersistentVolumeClaimBuilder {
	return b.With(func(claim *v1.PersistentVolumeClaim) {
		claim.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: ptr.To(true),
		}}
	})
}

// PersistentVolumeBuilder makes a volume, as [PodBuilder] makes a pod. Make one with [PersistentVolume].
type PersistentVolumeBuilder struct {
	volume *v1.PersistentVolume
}

// PersistentVolume begins a volume of the given name, which is available.
func PersistentVolume(name string) PersistentVolumeBuilder {
	return PersistentVolumeBuilder{&v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status:     v1.PersistentVolumeStatus{Phase: v1.VolumeAvailable},
	}}
}

// Build returns the volume. One without a UID gets its name.
func (b PersistentVolumeBuilder) Build() *v1.PersistentVolume {
	return b.With(func(volume *v1.PersistentVolume) {
		if volume.UID == "" {
			volume.UID = types.UID(volume.Name)
		}
	}).volume
}

// With changes the volume in ways that the builder has no method for.
func (b PersistentVolumeBuilder) With(changes ...func(volume *v1.PersistentVolume)) PersistentVolumeBuilder {
	if b.volume == nil {
		b = PersistentVolume("")
	}
	changed := b.volume.DeepCopy()
	for _, change := range changes {
		change(changed)
	}
	return PersistentVolumeBuilder{changed}
}

// StorageClass sets the storage class.
func (b PersistentVolumeBuilder) StorageClass(name string) PersistentVolumeBuilder {
	return b.With(func(volume *v1.PersistentVolume) { volume.Spec.StorageClassName = name })
}

// Label sets a label.
func (b PersistentVolumeBuilder) Label(key, value string) PersistentVolumeBuilder {
	return b.With(func(volume *v1.PersistentVolume) { metav1.SetMetaDataLabel(&volume.ObjectMeta, key, value) })
}

// Capacity sets the size of the volume, such as "10Gi".
func (b PersistentVolumeBuilder) Capacity(size string) PersistentVolumeBuilder {
	return b.With(func(volume *v1.PersistentVolume) { volume.Spec.Capacity = Resources("storage", size) })
}

// CSI makes the volume one of a CSI driver.
func (b PersistentVolumeBuilder) CSI(driver, handle string) PersistentVolumeBuilder {
	return b.With(func(volume *v1.PersistentVolume) {
		volume.Spec.CSI = &v1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: handle}
	})
}

// NodeAffinity restricts the volume to nodes that the selector matches; of several terms one must match.
func (b PersistentVolumeBuilder) NodeAffinity(selector string) PersistentVolumeBuilder {
	return b.With(func(volume *v1.PersistentVolume) {
		if volume.Spec.NodeAffinity == nil {
			volume.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{}}
		}
		required := volume.Spec.NodeAffinity.Required
		required.NodeSelectorTerms = append(required.NodeSelectorTerms, nodeSelectorTerm(selector))
	})
}

// StorageClass returns a storage class with a provisioner. An empty mode is no mode, which means that claims are bound
// immediately.
func StorageClass(name, provisioner string, mode storagev1.VolumeBindingMode) *storagev1.StorageClass {
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}, Provisioner: provisioner}
	if mode != "" {
		class.VolumeBindingMode = &mode
	}
	return class
}
