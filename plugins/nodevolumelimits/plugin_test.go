// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package nodevolumelimits

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

const (
	ebsDriver = "ebs.csi.aws.com"
	gceDriver = "pd.csi.storage.gke.io"
)

func newPlugin(tb testing.TB, existing ...apiruntime.Object) *plugin {
	tb.Helper()
	return buildPlugin(tb, &fixture.Handle{Informers: fixture.Informers(tb, existing...)})
}

func buildPlugin(tb testing.TB, handle *fixture.Handle) *plugin {
	tb.Helper()
	built, err := New(tb.Context(), nil, handle)
	if err != nil {
		tb.Fatal(err)
	}
	return built.(*plugin)
}

func TestNewWithoutInformers(t *testing.T) {
	_, err := New(t.Context(), nil, &fixture.Handle{})
	if err == nil || !strings.Contains(err.Error(), "InformerFactory") {
		t.Errorf("got error %v, want one that says what to set", err)
	}
}

// limit is how many volumes a driver attaches; below zero, the CSINode has no limit.
type limit struct {
	driver string
	count  int32
}

func csiNode(limits ...limit) *storagev1.CSINode {
	node := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	for _, limit := range limits {
		driver := storagev1.CSINodeDriver{Name: limit.driver}
		if limit.count >= 0 {
			driver.Allocatable = &storagev1.VolumeNodeResources{Count: &limit.count}
		}
		node.Spec.Drivers = append(node.Spec.Drivers, driver)
	}
	return node
}

// attachment attaches a persistent volume to node n.
func attachment(driver, volume string) *storagev1.VolumeAttachment {
	return attachmentTo("n", driver, volume)
}

func attachmentTo(node, driver, volume string) *storagev1.VolumeAttachment {
	return &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: node + "-" + volume},
		Spec: storagev1.VolumeAttachmentSpec{
			Attacher: driver, NodeName: node,
			Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &volume},
		},
	}
}

// csiDriver is a driver that may ask pods to stay away from nodes without it.
func csiDriver(name string, prevent bool) *storagev1.CSIDriver {
	return &storagev1.CSIDriver{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       storagev1.CSIDriverSpec{PreventPodSchedulingIfMissing: ptr.To(prevent)},
	}
}

// bound returns claims, each bound to a volume of the driver with the same name and handle.
func bound(driver string, names ...string) []apiruntime.Object {
	var existing []apiruntime.Object
	for _, name := range names {
		existing = append(existing,
			objects.PersistentVolumeClaim(name).Bound(name).Build(), objects.PersistentVolume(name).CSI(driver, name).Build())
	}
	return existing
}

// inTree makes a volume one of an in-tree plugin.
func inTree(source v1.PersistentVolumeSource) func(*v1.PersistentVolume) {
	return func(volume *v1.PersistentVolume) { volume.Spec.PersistentVolumeSource = source }
}

func ebsDisk(id string) *v1.AWSElasticBlockStoreVolumeSource {
	return &v1.AWSElasticBlockStoreVolumeSource{VolumeID: id}
}

// inline returns pod p with the given inline volumes.
func inline(sources ...v1.VolumeSource) *v1.Pod {
	pod := objects.Pod("p")
	for _, source := range sources {
		pod = pod.Volume("inline", source)
	}
	return pod.Build()
}

func inlineEBS(id string) v1.VolumeSource { return v1.VolumeSource{AWSElasticBlockStore: ebsDisk(id)} }

// inlineVSphere is of an in-tree plugin that can be translated, but whose driver has not taken over yet.
func inlineVSphere() v1.VolumeSource {
	return v1.VolumeSource{VsphereVolume: &v1.VsphereVirtualDiskVolumeSource{VolumePath: "[a] b"}}
}

func emptyDir() v1.VolumeSource { return v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}} }

func claiming(claims ...string) *v1.Pod {
	return objects.Pod("p").PersistentVolumeClaim(claims...).Build()
}

// other returns a pod that is not the one to be scheduled.
func other(claims ...string) *v1.Pod {
	return objects.Pod("other").PersistentVolumeClaim(claims...).Build()
}
