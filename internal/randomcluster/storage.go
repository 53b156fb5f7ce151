// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package randomcluster

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func (c *Cluster) className() string { return c.one("late", "early", "made") }

func (c *Cluster) driverName() string { return c.one("csi-a", "csi-b") }

// addClass creates a StorageClass: of "late" volumes are chosen when a pod has a node, of "early" at once, and those of
// "made" are made for a pod.
func (c *Cluster) addClass(name string) {
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: "kubernetes.io/no-provisioner"}
	class.VolumeBindingMode = ptr.To(storagev1.VolumeBindingWaitForFirstConsumer)
	switch name {
	case "early":
		class.VolumeBindingMode = ptr.To(storagev1.VolumeBindingImmediate)
	case "made":
		class.Provisioner = "csi-a"
		if c.often(5) {
			class.AllowedTopologies = c.topologies()
		}
	}
	c.create(class)
	c.there["class "+name] = true
}

func (c *Cluster) topologies() []v1.TopologySelectorTerm {
	return []v1.TopologySelectorTerm{{MatchLabelExpressions: []v1.TopologySelectorLabelRequirement{{
		Key: v1.LabelTopologyZone, Values: []string{c.one("east", "west")},
	}}}}
}

func (c *Cluster) changeClass() {
	name := c.className()
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
	c.comesOrGoes(c.there, "class "+name,
		func() { c.addClass(name) },
		func() {
			current := c.known[nameOf(class)].(*storagev1.StorageClass).DeepCopy()
			current.AllowedTopologies = nil
			if c.often(5) {
				current.AllowedTopologies = c.topologies()
			}
			c.update(current)
		},
		func() { c.remove(class) })
}

// addVolume creates a claim, a volume, or both.
func (c *Cluster) addVolume() {
	mode, class := v1.ReadWriteOnce, c.className()
	if c.often(4) {
		mode = v1.ReadWriteOncePod
	}
	size := v1.ResourceList{v1.ResourceStorage: resource.MustParse(c.one("1Gi", "2Gi"))}
	claim, volume := c.name("claim"), c.name("volume")
	if c.often(8) {
		created := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: claim}}
		created.Spec = v1.PersistentVolumeClaimSpec{
			AccessModes: []v1.PersistentVolumeAccessMode{mode}, StorageClassName: &class,
			Resources: v1.VolumeResourceRequirements{Requests: size},
		}
		if c.often(5) {
			created.Spec.VolumeName = volume
			created.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
			created.Status.Phase = v1.ClaimBound
		}
		c.create(created)
		c.claims = append(c.claims, claim)
		c.there["claim "+claim] = true
	}
	if class != "made" && c.often(8) || c.often(4) {
		created := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: volume}}
		created.Spec = v1.PersistentVolumeSpec{
			AccessModes: []v1.PersistentVolumeAccessMode{mode}, StorageClassName: class, Capacity: size,
			PersistentVolumeSource: v1.PersistentVolumeSource{Local: &v1.LocalVolumeSource{Path: "/data"}},
			NodeAffinity: &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
				MatchExpressions: []v1.NodeSelectorRequirement{{
					Key: v1.LabelTopologyZone, Operator: v1.NodeSelectorOpIn, Values: []string{c.one("east", "west")},
				}},
			}}}},
		}
		if c.often(5) {
			created.Spec.PersistentVolumeSource = v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: c.driverName(), VolumeHandle: volume}}
		}
		if c.often(3) {
			created.Spec.NodeAffinity = nil
			created.Labels = map[string]string{v1.LabelTopologyZone: c.one("east", "west")}
		}
		created.Status.Phase = v1.VolumeAvailable
		c.create(created)
		c.volumes = append(c.volumes, volume)
		c.there["volume "+volume] = true
	}
}

// changeClaim changes a claim, deletes it, or creates one that pods refer to already.
func (c *Cluster) changeClaim() {
	_, name, found := pick(c, c.claims)
	if !found {
		return
	}
	claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	class := c.className()
	claim.Spec = v1.PersistentVolumeClaimSpec{
		AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, StorageClassName: &class,
		Resources: v1.VolumeResourceRequirements{Requests: v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}},
	}
	c.comesOrGoes(c.there, "claim "+name,
		func() { c.create(claim) },
		func() {
			c.patch(claim, c.one(
				`{"metadata":{"labels":{"note":"a"}}}`,
				`{"spec":{"resources":{"requests":{"storage":"2Gi"}}}}`,
				`{"metadata":{"annotations":{"pv.kubernetes.io/bind-completed":"yes"}}}`, // be it true or not
			))
		},
		func() { c.remove(claim) })
}

// changeVolume moves a volume, sets it free, deletes it, or brings it back.
func (c *Cluster) changeVolume() {
	i, name, found := pick(c, c.volumes)
	if !found {
		return
	}
	volume := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if c.often(3) {
		c.volumes = slices.Delete(c.volumes, i, i+1)
		c.remove(volume)
		return
	}
	zone := c.one("east", "west")
	c.patch(volume, c.one(
		fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, v1.LabelTopologyZone, zone),
		`{"metadata":{"labels":{"topology.kubernetes.io/zone":null}}}`,
		`{"spec":{"claimRef":null},"status":{"phase":"Available"}}`,
		`{"spec":{"capacity":{"storage":"2Gi"}}}`,
		fmt.Sprintf(`{"spec":{"nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[{"key":%q,"operator":"In","values":[%q]}]}]}}}}`, v1.LabelTopologyZone, zone),
	))
}

// changeCSINode has a node get a CSINode, lose it, or have other drivers or limits.
func (c *Cluster) changeCSINode() {
	_, name, found := pick(c, c.nodes)
	if !found {
		return
	}
	node := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, driver := range []string{"csi-a", "csi-b"} {
		if c.often(7) {
			installed := storagev1.CSINodeDriver{Name: driver, NodeID: name, TopologyKeys: []string{v1.LabelTopologyZone}}
			if c.often(7) {
				installed.Allocatable = &storagev1.VolumeNodeResources{Count: ptr.To(int32(c.random.IntN(3)))}
			}
			node.Spec.Drivers = append(node.Spec.Drivers, installed)
		}
	}
	if c.often(2) {
		node.Annotations = map[string]string{v1.MigratedPluginsAnnotationKey: "kubernetes.io/gce-pd"}
	}
	c.comesOrGoes(c.there, "CSINode "+name,
		func() { c.create(node) },
		func() { c.update(node) },
		func() { c.remove(node) })
}

func (c *Cluster) changeDriver() {
	name := c.driverName()
	driver := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: name}}
	driver.Spec.StorageCapacity = ptr.To(c.often(6))
	driver.Spec.PreventPodSchedulingIfMissing = ptr.To(c.often(3))
	c.comesOrGoes(c.there, "driver "+name,
		func() { c.create(driver) },
		func() { c.update(driver) },
		func() { c.remove(driver) })
}

// changeCapacity has more or less storage be left in a zone.
func (c *Cluster) changeCapacity() {
	zone := c.one("east", "west")
	capacity := &storagev1.CSIStorageCapacity{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: zone}, StorageClassName: "made"}
	capacity.NodeTopology = &metav1.LabelSelector{MatchLabels: map[string]string{v1.LabelTopologyZone: zone}}
	capacity.Capacity = ptr.To(resource.MustParse(c.one("0", "1Gi", "1500Mi", "3Gi")))
	if c.often(3) {
		capacity.MaximumVolumeSize = ptr.To(resource.MustParse(c.one("1Gi", "2Gi")))
	}
	c.comesOrGoes(c.there, "capacity "+zone,
		func() { c.create(capacity) },
		func() { c.update(capacity) },
		func() { c.remove(capacity) })
}

// changeAttachment has a volume be attached to a node, or detached.
func (c *Cluster) changeAttachment() {
	name := c.one("a", "b", "c")
	attachment := &storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, node, hasNode := pick(c, c.nodes)
	_, volume, hasVolume := pick(c, c.volumes)
	if !hasNode || !hasVolume {
		return
	}
	attachment.Spec = storagev1.VolumeAttachmentSpec{Attacher: c.driverName(), NodeName: node}
	attachment.Spec.Source.PersistentVolumeName = &volume
	c.comesOrGoes(c.there, "attachment "+name,
		func() { c.create(attachment) },
		func() { c.patch(attachment, `{"status":{"attached":true}}`) },
		func() { c.remove(attachment) })
}
