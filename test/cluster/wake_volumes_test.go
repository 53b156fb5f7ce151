// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

const driver = "disk.example.com"

// volumeWakes are pods that wait for a volume, or for another pod to give one up. Names of what belongs to no namespace
// are the namespace's with something added.
func volumeWakes() []wake {
	return slices.Concat(bindingWakes(), placedVolumeWakes())
}

// bindingWakes are pods whose claim is not bound. The test does what the controllers and the provisioner of a real
// cluster would.
func bindingWakes() []wake {
	later, now := storagev1.VolumeBindingWaitForFirstConsumer, storagev1.VolumeBindingImmediate
	class := func(c *corner, provisioner string, mode storagev1.VolumeBindingMode) {
		c.node("n1")
		c.class(provisioner, mode)
		c.claim("data")
	}
	return []wake{
		{"VolumeBinding claim created", func(c *corner) { c.node("n1"); c.volume("v", "data") }, using("data"), "not found",
			func(c *corner) { c.claim("data"); c.bindClaim("data", "v") }},
		{"VolumeBinding claim bound", func(c *corner) { class(c, "no-provisioner", now); c.volume("v", "data") }, using("data"),
			"unbound immediate PersistentVolumeClaims", func(c *corner) { c.bindClaim("data", "v") }},
		{"VolumeBinding volume created", func(c *corner) { class(c, "kubernetes.io/no-provisioner", later) }, using("data"),
			"didn't find available persistent volumes", func(c *corner) {
				c.volume("v", "")
				c.makeAvailable("v")
				c.waitVolume("v", func(volume *v1.PersistentVolume) bool { return volume.Spec.ClaimRef != nil })
				c.bindClaim("data", "v")
			}},
		{"VolumeBinding capacity reported", func(c *corner) { c.csiDriver(); class(c, driver, later) }, using("data"),
			"did not have enough free storage", func(c *corner) {
				c.capacity("10Gi")
				c.waitClaim("data", func(claim *v1.PersistentVolumeClaim) bool {
					return claim.Annotations["volume.kubernetes.io/selected-node"] == "n1"
				})
				c.volume("v", "data")
				c.bindClaim("data", "v")
			}},
	}
}

// placedVolumeWakes are pods whose claims are bound, but not to where there is room.
func placedVolumeWakes() []wake {
	zone := func(value string) func(*v1.Node) {
		return func(node *v1.Node) { node.Labels[v1.LabelTopologyZone] = value }
	}
	bound := func(c *corner, modes ...v1.PersistentVolumeAccessMode) {
		c.claim("data", modes...)
		c.volume("v", "data", modes...)
		c.bindClaim("data", "v")
	}
	// One volume of the driver is on the node, which takes one; the pod wants another one.
	full := func(c *corner) {
		c.csiDriver()
		c.node("n1")
		c.csiNode("n1", 1)
		bound(c)
		c.claim("other")
		c.volume("w", "other")
		c.bindClaim("other", "w")
		c.podOn("n1", "other", using("other"))
	}
	once := v1.ReadWriteOncePod
	return []wake{
		{"VolumeZone node relabelled", func(c *corner) {
			c.node("n1", zone("b"))
			c.claim("data")
			c.volume("v", "data")
			c.changeVolume("v", func(volume *v1.PersistentVolume) { volume.Labels = map[string]string{v1.LabelTopologyZone: "a"} })
			c.bindClaim("data", "v")
		}, using("data"), "no available volume zone", func(c *corner) { c.changeNode("n1", zone("a")) }},
		{"VolumeRestrictions pod deleted", func(c *corner) {
			c.node("n1")
			bound(c, once)
			c.podOn("n1", "other", using("data"))
		}, using("data"), "ReadWriteOncePod", func(c *corner) { c.deletePod("other") }},
		{"NodeVolumeLimits pod deleted", full, using("data"), "max volume count", func(c *corner) { c.deletePod("other") }},
		{"NodeVolumeLimits limit raised", full, using("data"), "max volume count", func(c *corner) {
			// How many volumes a node takes changes with its CSINode created again, as a kubelet does.
			c.check("CSINode", c.client.StorageV1().CSINodes().Delete(c.ctx, "n1", metav1.DeleteOptions{}))
			c.csiNode("n1", 2)
		}},
	}
}

// using makes a pod use a claim.
func using(claim string) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		source := v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}
		pod.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: source}}
	}
}

func (c *corner) named(name string) string { return c.namespace + "-" + name }

func (c *corner) class(provisioner string, mode storagev1.VolumeBindingMode) {
	c.t.Helper()
	class := objects.StorageClass(c.named("class"), provisioner, mode)
	must(c, "class")(c.client.StorageV1().StorageClasses().Create(c.ctx, class, metav1.CreateOptions{}))
}

func (c *corner) claim(name string, modes ...v1.PersistentVolumeAccessMode) {
	c.t.Helper()
	claim := objects.PersistentVolumeClaim(name).StorageClass(c.named("class")).AccessModes(orOnce(modes)...).Request("1Gi").Build()
	claim.Namespace = c.namespace
	must(c, "claim")(c.client.CoreV1().PersistentVolumeClaims(c.namespace).Create(c.ctx, claim, metav1.CreateOptions{}))
}

// volume creates a volume, for a claim if it is named.
func (c *corner) volume(name, claim string, modes ...v1.PersistentVolumeAccessMode) {
	c.t.Helper()
	volume := objects.PersistentVolume(c.named(name)).StorageClass(c.named("class")).Capacity("1Gi").CSI(driver, c.named(name)).Build()
	volume.Spec.AccessModes = orOnce(modes)
	if claim != "" {
		volume.Spec.ClaimRef = &v1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: c.namespace, Name: claim}
	}
	must(c, "volume")(c.client.CoreV1().PersistentVolumes().Create(c.ctx, volume, metav1.CreateOptions{}))
}

func orOnce(modes []v1.PersistentVolumeAccessMode) []v1.PersistentVolumeAccessMode {
	if len(modes) == 0 {
		return []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}
	}
	return modes
}

func (c *corner) changeVolume(name string, change func(*v1.PersistentVolume)) {
	c.t.Helper()
	volumes := c.client.CoreV1().PersistentVolumes()
	volume, err := volumes.Get(c.ctx, c.named(name), metav1.GetOptions{})
	c.check("volume", err)
	change(volume)
	must(c, "volume")(volumes.Update(c.ctx, volume, metav1.UpdateOptions{}))
}

// makeAvailable does what the volume controller does with a volume that no claim is bound to.
func (c *corner) makeAvailable(name string) {
	c.t.Helper()
	volumes := c.client.CoreV1().PersistentVolumes()
	volume, err := volumes.Get(c.ctx, c.named(name), metav1.GetOptions{})
	c.check("volume", err)
	volume.Status.Phase = v1.VolumeAvailable
	must(c, "volume")(volumes.UpdateStatus(c.ctx, volume, metav1.UpdateOptions{}))
}

// bindClaim does what the volume controller does to finish a binding.
func (c *corner) bindClaim(name, volume string) {
	c.t.Helper()
	claims := c.client.CoreV1().PersistentVolumeClaims(c.namespace)
	claim, err := claims.Get(c.ctx, name, metav1.GetOptions{})
	c.check("claim", err)
	c.changeVolume(volume, func(volume *v1.PersistentVolume) { volume.Spec.ClaimRef.UID = claim.UID })
	claim.Spec.VolumeName = c.named(volume)
	metav1.SetMetaDataAnnotation(&claim.ObjectMeta, "pv.kubernetes.io/bind-completed", "yes")
	claim, err = claims.Update(c.ctx, claim, metav1.UpdateOptions{})
	c.check("claim", err)
	claim.Status.Phase = v1.ClaimBound
	must(c, "claim")(claims.UpdateStatus(c.ctx, claim, metav1.UpdateOptions{}))
}

func (c *corner) waitVolume(name string, done func(*v1.PersistentVolume) bool) {
	c.t.Helper()
	c.poll("volume "+name, func(ctx context.Context) (bool, error) {
		volume, err := c.client.CoreV1().PersistentVolumes().Get(ctx, c.named(name), metav1.GetOptions{})
		return err == nil && done(volume), err
	})
}

func (c *corner) waitClaim(name string, done func(*v1.PersistentVolumeClaim) bool) {
	c.t.Helper()
	c.poll("claim "+name, func(ctx context.Context) (bool, error) {
		claim, err := c.client.CoreV1().PersistentVolumeClaims(c.namespace).Get(ctx, name, metav1.GetOptions{})
		return err == nil && done(claim), err
	})
}

func (c *corner) poll(what string, question wait.ConditionWithContextFunc) {
	c.t.Helper()
	if err := wait.PollUntilContextTimeout(c.ctx, 20*time.Millisecond, soon, true, question); err != nil {
		c.t.Fatalf("waiting for the scheduler to write to %s: %v; the pod's condition says %q", what, err, c.scheduled("pod").Message)
	}
}

func (c *corner) csiDriver() {
	c.t.Helper()
	yes := true
	object := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: driver}, Spec: storagev1.CSIDriverSpec{StorageCapacity: &yes}}
	must(c, "CSIDriver")(c.client.StorageV1().CSIDrivers().Create(c.ctx, object, metav1.CreateOptions{}))
}

func (c *corner) csiNode(name string, count int32) {
	c.t.Helper()
	node := &storagev1.CSINode{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{
			Name: driver, NodeID: name, Allocatable: &storagev1.VolumeNodeResources{Count: &count},
		}}},
	}
	must(c, "CSINode")(c.client.StorageV1().CSINodes().Create(c.ctx, node, metav1.CreateOptions{}))
	c.t.Cleanup(func() {
		_ = c.client.StorageV1().CSINodes().Delete(c.ctx, name, metav1.DeleteOptions{})
	})
}

func (c *corner) capacity(size string) {
	c.t.Helper()
	quantity := resource.MustParse(size)
	object := &storagev1.CSIStorageCapacity{
		ObjectMeta:       metav1.ObjectMeta{Namespace: c.namespace, Name: "capacity"},
		StorageClassName: c.named("class"),
		NodeTopology:     &metav1.LabelSelector{MatchLabels: map[string]string{v1.LabelHostname: "n1"}},
		Capacity:         &quantity,
	}
	must(c, "capacity")(c.client.StorageV1().CSIStorageCapacities(c.namespace).Create(c.ctx, object, metav1.CreateOptions{}))
}
