// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"
)

// changedObject returns two versions of an object of a kind that only some plugins care about.
func (g *generator) changedObject(resource fwk.EventResource) (before, after any) {
	switch resource {
	case fwk.DeviceClass:
		return g.deviceClass(), g.deviceClass()
	case fwk.PersistentVolume:
		i := g.IntN(5)
		return g.persistentVolume(i), g.persistentVolume(i)
	case fwk.PersistentVolumeClaim:
		namespace, i := pick(g, "default", "shop"), g.IntN(5)
		return g.claim(namespace, i), g.claim(namespace, i)
	case fwk.StorageClass:
		i := g.IntN(3)
		return g.storageClass(i), g.storageClass(i)
	case fwk.CSINode:
		return g.changedCSINode(g.IntN(3))
	case fwk.CSIDriver:
		return g.driver(), g.driver()
	case fwk.CSIStorageCapacity:
		return g.capacity(0), g.capacity(0)
	case fwk.VolumeAttachment:
		return g.attachment(0), g.attachment(0)
	}
	panic(fmt.Sprintf("the generator has no objects of kind %s", resource))
}

// changedCSINode returns two versions of a CSINode that have nothing in common, or of which one has a detail that is another.
func (g *generator) changedCSINode(i int) (before, after *storagev1.CSINode) {
	before = g.csiNode(i)
	if g.oneIn(3) || len(before.Spec.Drivers) == 0 {
		return before, g.csiNode(i)
	}
	after = before.DeepCopy()
	at := g.IntN(len(after.Spec.Drivers))
	switch g.IntN(4) {
	case 0:
		after.Spec.Drivers = append(after.Spec.Drivers[:at], after.Spec.Drivers[at+1:]...)
	case 1:
		metav1.SetMetaDataAnnotation(&after.ObjectMeta, v1.MigratedPluginsAnnotationKey, g.migrated())
	default:
		after.Spec.Drivers[at].Allocatable = &storagev1.VolumeNodeResources{Count: pick(g, nil, ptr.To[int32](0), ptr.To[int32](1), ptr.To[int32](2))}
	}
	return before, after
}

func (g *generator) deviceClass() *resourceapi.DeviceClass {
	class := &resourceapi.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: pick(g, "cards", "nics")}}
	if !g.oneIn(3) {
		class.Spec.ExtendedResourceName = ptr.To(pick(g, "", extendedResource, "example.com/other"))
	}
	return class
}
