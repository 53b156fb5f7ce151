// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// VolumeShape is what the volume of a pod is like.
type VolumeShape string

// The shapes.
const (
	Waiting  VolumeShape = "WaitForFirstConsumer claims" // volumes that are made when the pod has a node
	Zonal    VolumeShape = "bound zonal volumes"         // volumes that there are, each for the nodes of one zone
	Attached VolumeShape = "CSI limits"                  // volumes that there are, for any node, next to those of other pods
	Local    VolumeShape = "local volumes"               // one on each node, of which one is chosen with the node
)

const (
	volumeDriver = "disk.example.com"
	volumeClass  = "disks"
	// attachable is how many volumes a node can have.
	attachable = 64
)

// StorageClass returns the storage class of a shape.
func StorageClass(s VolumeShape) *storagev1.StorageClass {
	class := &storagev1.StorageClass{
		ObjectMeta:  metav1.ObjectMeta{Name: volumeClass, UID: volumeClass, ResourceVersion: "1"},
		Provisioner: volumeDriver, VolumeBindingMode: ptr.To(storagev1.VolumeBindingWaitForFirstConsumer),
	}
	if s == Local {
		class.Provisioner = "kubernetes.io/no-provisioner"
	}
	return class
}

// CSINode returns what the driver can do on the node of a number.
func CSINode(i int) *storagev1.CSINode {
	name := Node(i).Name
	return &storagev1.CSINode{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), ResourceVersion: "1"},
		Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{
			Name: volumeDriver, NodeID: name, TopologyKeys: []string{v1.LabelTopologyZone},
			Allocatable: &storagev1.VolumeNodeResources{Count: ptr.To[int32](attachable)},
		}}},
	}
}

// Volume returns a volume for a claim, or a free one if there is none.
func Volume(name string, s VolumeShape, zone, node string, claim *v1.PersistentVolumeClaim) *v1.PersistentVolume {
	volume := &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), ResourceVersion: "1"},
		Spec: v1.PersistentVolumeSpec{
			StorageClassName: volumeClass,
			AccessModes:      []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
			Capacity:         v1.ResourceList{v1.ResourceStorage: *resource.NewQuantity(10<<30, resource.BinarySI)},
			PersistentVolumeSource: v1.PersistentVolumeSource{
				CSI: &v1.CSIPersistentVolumeSource{Driver: volumeDriver, VolumeHandle: name},
			},
		},
		Status: v1.PersistentVolumeStatus{Phase: v1.VolumeAvailable},
	}
	switch s {
	case Waiting, Zonal:
		volume.Spec.NodeAffinity = volumeAffinity(v1.LabelTopologyZone, zone)
	case Local:
		volume.Spec.PersistentVolumeSource = v1.PersistentVolumeSource{Local: &v1.LocalVolumeSource{Path: "/disk"}}
		volume.Spec.NodeAffinity = volumeAffinity(v1.LabelHostname, node)
	}
	if claim != nil {
		volume.Status.Phase = v1.VolumeBound
		volume.Spec.ClaimRef = &v1.ObjectReference{
			Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
		}
	}
	return volume
}

func volumeAffinity(key, value string) *v1.VolumeNodeAffinity {
	return &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{NodeTerm(key, value)}}}
}

// Claim returns a claim that waits for a pod.
func Claim(name string) *v1.PersistentVolumeClaim {
	return &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: metav1.NamespaceDefault, UID: types.UID(name), ResourceVersion: "1",
		},
		Spec: v1.PersistentVolumeClaimSpec{
			StorageClassName: ptr.To(volumeClass),
			AccessModes:      []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
			Resources: v1.VolumeResourceRequirements{
				Requests: v1.ResourceList{v1.ResourceStorage: *resource.NewQuantity(10<<30, resource.BinarySI)},
			},
		},
		Status: v1.PersistentVolumeClaimStatus{Phase: v1.ClaimPending},
	}
}

// Bound returns a claim as it is when it has a volume.
func Bound(claim *v1.PersistentVolumeClaim, volume string) *v1.PersistentVolumeClaim {
	bound := claim.DeepCopy()
	bound.ResourceVersion = "2"
	bound.Spec.VolumeName, bound.Status.Phase = volume, v1.ClaimBound
	metav1.SetMetaDataAnnotation(&bound.ObjectMeta, "pv.kubernetes.io/bind-completed", "yes")
	return bound
}

// Attachment attaches a volume to a node.
func Attachment(volume, node string) *storagev1.VolumeAttachment {
	name := "attachment-" + volume
	return &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), ResourceVersion: "1"},
		Spec: storagev1.VolumeAttachmentSpec{
			Attacher: volumeDriver, NodeName: node, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &volume},
		},
	}
}

// PodWithVolume returns a pod that uses a claim.
func PodWithVolume(name, claim string) *v1.Pod {
	pod := Pod(name, 100, 128<<20)
	pod.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{
		PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
	}}}
	return pod
}
