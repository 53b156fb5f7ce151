// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// This file makes volumes, and what they depend on: claims, classes, drivers, capacities.

const csiDriver = "csi.example.com"

func (g *generator) claimName() string { return fmt.Sprintf("claim-%d", g.IntN(5)) }

func (g *generator) volumeName() string { return fmt.Sprintf("volume-%d", g.IntN(5)) }

// addVolumes gives some pods volumes of every sort that plugins look at.
func (g *generator) addVolumes(pod *v1.Pod) {
	if !g.oneIn(3) {
		return
	}
	for i := range 1 + g.IntN(2) {
		volume := v1.Volume{Name: fmt.Sprintf("v%d", i)}
		switch g.IntN(11) {
		case 0:
			volume.GCEPersistentDisk = &v1.GCEPersistentDiskVolumeSource{PDName: pick(g, "disk-a", "disk-b"), ReadOnly: g.oneIn(2)}
		case 1:
			volume.AWSElasticBlockStore = &v1.AWSElasticBlockStoreVolumeSource{VolumeID: pick(g, "vol-a", "vol-b")}
		case 2:
			volume.ISCSI = &v1.ISCSIVolumeSource{TargetPortal: "portal", IQN: pick(g, "iqn-a", "iqn-b"), ReadOnly: g.oneIn(2)}
		case 3:
			volume.RBD = &v1.RBDVolumeSource{CephMonitors: []string{pick(g, "a", "b")}, RBDPool: "pool", RBDImage: pick(g, "x", "y"), ReadOnly: g.oneIn(2)}
		case 4:
			volume.CSI = &v1.CSIVolumeSource{Driver: csiDriver}
		case 5:
			volume.Ephemeral = &v1.EphemeralVolumeSource{VolumeClaimTemplate: &v1.PersistentVolumeClaimTemplate{}}
		case 6:
			volume.ConfigMap = &v1.ConfigMapVolumeSource{}
		case 7:
			g.inlineDisk(&volume.VolumeSource)
		default:
			// Never the same claim twice: kube-scheduler binds it twice, Rouse once.
			volume.PersistentVolumeClaim = &v1.PersistentVolumeClaimVolumeSource{ClaimName: fmt.Sprintf("claim-%d", 2*g.IntN(2)+i)}
		}
		pod.Spec.Volumes = append(pod.Spec.Volumes, volume)
	}
}

func (g *generator) storage() []apiruntime.Object {
	var objects []apiruntime.Object
	for i := range 3 {
		objects = append(objects, g.storageClass(i))
	}
	for i := range 5 {
		if !g.oneIn(4) {
			objects = append(objects, g.persistentVolume(i))
		}
		for _, namespace := range []string{"default", "shop"} {
			if !g.oneIn(4) {
				objects = append(objects, g.claim(namespace, i))
			}
		}
	}
	for i := range 6 {
		if !g.oneIn(3) {
			objects = append(objects, g.csiNode(i))
		}
	}
	if !g.oneIn(3) {
		objects = append(objects, g.driver())
	}
	for i := range g.IntN(4) {
		objects = append(objects, g.capacity(i))
	}
	return append(objects, g.attachments()...)
}

// volumeSize returns the size of a volume, which no other volume has: of equals, Rouse takes the first, kube-scheduler any.
func (g *generator) volumeSize(i int) resource.Quantity {
	size := resource.MustParse(pick(g, "1Gi", "5Gi", "10Gi"))
	size.Add(resource.MustParse(fmt.Sprintf("%dMi", i)))
	return size
}

// attachments returns what says that volumes are attached to nodes.
func (g *generator) attachments() []apiruntime.Object {
	var objects []apiruntime.Object
	for i := range g.IntN(3) {
		objects = append(objects, g.attachment(i))
	}
	return objects
}

func (g *generator) storageClass(i int) *storagev1.StorageClass {
	class := &storagev1.StorageClass{
		ObjectMeta:        metav1.ObjectMeta{Name: fmt.Sprintf("class-%d", i), ResourceVersion: "1"},
		Provisioner:       pick(g, csiDriver, csiDriver, "kubernetes.io/no-provisioner", pick(g, migrations()...)[0]),
		VolumeBindingMode: pick(g, nil, ptr.To(storagev1.VolumeBindingImmediate), ptr.To(storagev1.VolumeBindingWaitForFirstConsumer), ptr.To(storagev1.VolumeBindingWaitForFirstConsumer)),
	}
	if g.oneIn(3) {
		class.AllowedTopologies = some(g, 2, func() v1.TopologySelectorTerm {
			return v1.TopologySelectorTerm{MatchLabelExpressions: []v1.TopologySelectorLabelRequirement{{
				Key: pick(g, v1.LabelTopologyZone, v1.LabelTopologyZone, v1.LabelTopologyZone, v1.LabelTopologyRegion,
					v1.LabelFailureDomainBetaZone, "topology.ebs.csi.aws.com/zone"),
				Values: some(g, 2, func() string { return pick(g, "east", "west") }),
			}}}
		})
	}
	return class
}

func (g *generator) className() string {
	return pick(g, "", "class-0", "class-1", "class-2", "class-9")
}

func (g *generator) persistentVolume(i int) *v1.PersistentVolume {
	volume := &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("volume-%d", i), ResourceVersion: "1", UID: types.UID(fmt.Sprintf("pv-%d", i))},
		Spec: v1.PersistentVolumeSpec{
			StorageClassName: g.className(),
			Capacity:         v1.ResourceList{v1.ResourceStorage: g.volumeSize(i)},
			AccessModes:      []v1.PersistentVolumeAccessMode{pick(g, v1.ReadWriteOnce, v1.ReadOnlyMany, v1.ReadWriteOncePod)},
			VolumeMode:       g.volumeMode(),

			VolumeAttributesClassName: g.attributesClass(),
		},
		Status: v1.PersistentVolumeStatus{Phase: pick(g, v1.VolumeAvailable, v1.VolumeAvailable, v1.VolumeBound)},
	}
	switch g.IntN(6) {
	case 0:
		volume.Spec.AWSElasticBlockStore = &v1.AWSElasticBlockStoreVolumeSource{VolumeID: pick(g, "vol-a", "vol-b", "aws://east/vol-c")}
	case 1:
		volume.Spec.HostPath = &v1.HostPathVolumeSource{Path: "/data"}
	case 2, 3:
		g.disk(&volume.Spec.PersistentVolumeSource)
	default:
		volume.Spec.CSI = &v1.CSIPersistentVolumeSource{Driver: csiDriver, VolumeHandle: fmt.Sprintf("handle-%d", g.IntN(4))}
	}
	if g.oneIn(3) {
		volume.Labels = map[string]string{pick(g, v1.LabelTopologyZone, v1.LabelFailureDomainBetaZone): pick(g, "east", "west", "east__west")}
	}
	g.addDetails(volume)
	if g.oneIn(3) {
		volume.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
			MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpIn, Values: []string{pick(g, "east", "west")}}},
		}}}}
	}
	if g.oneIn(3) {
		// Of several volumes that name one claim, kube-scheduler takes any, in the order of a map.
		volume.Spec.ClaimRef = &v1.ObjectReference{Namespace: []string{"default", "shop"}[i/5%2], Name: fmt.Sprintf("claim-%d", i%5)}
		if g.oneIn(2) {
			volume.Spec.ClaimRef.UID = claimUID(volume.Spec.ClaimRef.Namespace, volume.Spec.ClaimRef.Name)
		}
	}
	return volume
}

func claimUID(namespace, name string) types.UID { return types.UID("pvc-" + namespace + "-" + name) }

func (g *generator) claim(namespace string, i int) *v1.PersistentVolumeClaim {
	name := fmt.Sprintf("claim-%d", i)
	claim := &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: claimUID(namespace, name), ResourceVersion: "1"},
		Spec: v1.PersistentVolumeClaimSpec{
			AccessModes: []v1.PersistentVolumeAccessMode{pick(g, v1.ReadWriteOnce, v1.ReadOnlyMany, v1.ReadWriteOncePod)},
			Resources:   v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse(pick(g, "1Gi", "4Gi", "8Gi"))}},
			Selector:    g.claimSelector(),
			VolumeMode:  g.volumeMode(),

			VolumeAttributesClassName: g.attributesClass(),
		},
		Status: v1.PersistentVolumeClaimStatus{Phase: v1.ClaimPending},
	}
	if !g.oneIn(6) {
		claim.Spec.StorageClassName = ptr.To(g.className())
	}
	if g.oneIn(8) {
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, v1.BetaStorageClassAnnotation, g.className())
	}
	if g.oneIn(2) {
		claim.Spec.VolumeName = g.volumeName()
		claim.Status.Phase = v1.ClaimBound
		if !g.oneIn(4) {
			metav1.SetMetaDataAnnotation(&claim.ObjectMeta, "pv.kubernetes.io/bind-completed", "yes")
		}
	}
	if g.oneIn(10) {
		claim.Status.Phase = v1.ClaimLost
	}
	if g.oneIn(12) {
		claim.DeletionTimestamp = ptr.To(metav1.Unix(1, 0))
	}
	if g.oneIn(8) {
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, "volume.kubernetes.io/selected-node", pick(g, "node-0", "node-1"))
	}
	return claim
}

func (g *generator) csiNode(i int) *storagev1.CSINode {
	node := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", i), ResourceVersion: "1"}}
	if g.oneIn(3) {
		node.Annotations = map[string]string{v1.MigratedPluginsAnnotationKey: pick(g, "kubernetes.io/aws-ebs", g.migrated())}
	}
	drivers := []string{csiDriver}
	for _, migration := range migrations() {
		drivers = append(drivers, migration[1])
	}
	for i, name := range drivers {
		if g.oneIn(3) || i > 1 && g.oneIn(2) {
			continue
		}
		driver := storagev1.CSINodeDriver{Name: name, NodeID: node.Name}
		if !g.oneIn(3) {
			driver.Allocatable = &storagev1.VolumeNodeResources{Count: pick(g, nil, ptr.To[int32](0), ptr.To[int32](1), ptr.To[int32](2))}
		}
		node.Spec.Drivers = append(node.Spec.Drivers, driver)
	}
	return node
}

func (g *generator) driver() *storagev1.CSIDriver {
	return &storagev1.CSIDriver{
		ObjectMeta: metav1.ObjectMeta{Name: csiDriver, ResourceVersion: "1"},
		Spec: storagev1.CSIDriverSpec{
			StorageCapacity:               pick(g, nil, ptr.To(true), ptr.To(true), ptr.To(false)),
			PreventPodSchedulingIfMissing: pick(g, nil, nil, ptr.To(false), ptr.To(true)),
		},
	}
}

func (g *generator) capacity(i int) *storagev1.CSIStorageCapacity {
	capacity := &storagev1.CSIStorageCapacity{
		ObjectMeta:       metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("capacity-%d", i), ResourceVersion: "1"},
		StorageClassName: fmt.Sprintf("class-%d", i), // of several, Rouse takes the first, kube-scheduler any
		NodeTopology:     pick(g, nil, &metav1.LabelSelector{}, &metav1.LabelSelector{MatchLabels: map[string]string{v1.LabelTopologyZone: "east"}}),
	}
	if !g.oneIn(4) {
		capacity.Capacity = ptr.To(resource.MustParse(pick(g, "2Gi", "6Gi", "20Gi")))
	}
	if g.oneIn(3) && capacity.Capacity != nil { // kube-scheduler panics when it scores a node of which only the largest volume is known
		capacity.MaximumVolumeSize = ptr.To(resource.MustParse(pick(g, "2Gi", "6Gi")))
	}
	return capacity
}

func (g *generator) attachment(i int) *storagev1.VolumeAttachment {
	attachment := &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("attachment-%d", i), ResourceVersion: "1"},
		Spec: storagev1.VolumeAttachmentSpec{
			Attacher: pick(g, csiDriver, csiDriver, csiDriver, pick(g, migrations()...)[1]),
			NodeName: fmt.Sprintf("node-%d", g.IntN(3)),
			Source:   storagev1.VolumeAttachmentSource{PersistentVolumeName: ptr.To(g.volumeName())},
		},
	}
	if g.oneIn(3) { // of an in-tree volume of the pod itself
		inline := g.persistentVolume(i).Spec
		attachment.Spec.Source = storagev1.VolumeAttachmentSource{InlineVolumeSpec: &inline}
	}
	if g.oneIn(12) {
		attachment.Spec.Source = storagev1.VolumeAttachmentSource{}
	}
	attachment.Status.Attached = g.oneIn(2)
	return attachment
}

func (g *generator) volumeMode() *v1.PersistentVolumeMode {
	return pick(g, nil, ptr.To(v1.PersistentVolumeFilesystem), ptr.To(v1.PersistentVolumeFilesystem), ptr.To(v1.PersistentVolumeBlock))
}

func (g *generator) attributesClass() *string {
	return pick(g, nil, nil, nil, nil, ptr.To(""), ptr.To("gold"), ptr.To("silver"))
}

// addDetails gives a volume labels to be selected by, and the class that an annotation names.
func (g *generator) addDetails(volume *v1.PersistentVolume) {
	if g.oneIn(3) {
		metav1.SetMetaDataLabel(&volume.ObjectMeta, "disk", pick(g, "ssd", "hdd"))
	}
	if g.oneIn(8) {
		metav1.SetMetaDataAnnotation(&volume.ObjectMeta, v1.BetaStorageClassAnnotation, g.className())
	}
}
