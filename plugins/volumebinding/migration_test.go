// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumebinding

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// csiNode returns the CSINode of node n; migrated is the list of in-tree plugins that CSI drivers have taken over.
func csiNode(migrated string) *storagev1.CSINode {
	node := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	if migrated != "" {
		node.Annotations = map[string]string{v1.MigratedPluginsAnnotationKey: migrated}
	}
	return node
}

// inTreeZone makes a volume one of the in-tree plugin for EBS, reachable from a zone by the labels of in-tree volumes.
func inTreeZone(id, where string) func(*v1.PersistentVolume) {
	return func(volume *v1.PersistentVolume) {
		volume.Spec.AWSElasticBlockStore = &v1.AWSElasticBlockStoreVolumeSource{VolumeID: id}
		reachableFrom("topology.kubernetes.io/zone", where)(volume)
	}
}

// TestMigration has a bound in-tree volume in zone a, and a node that the driver, by its own label, has in some zone,
// while the usual labels put it in zone a.
func TestMigration(t *testing.T) {
	const ebs, gce = "kubernetes.io/aws-ebs", "kubernetes.io/gce-pd"
	node := func(driverZone string) *v1.Node {
		return objects.Node("n").Label("topology.kubernetes.io/zone", "a").Label("topology.ebs.csi.aws.com/zone", driverZone).Build()
	}
	disk := volume("v", "", "1Gi", inTreeZone("vol-1", "a"))
	vsphere := volume("v", "", "1Gi", reachableFrom("topology.kubernetes.io/zone", "b"), func(volume *v1.PersistentVolume) {
		volume.Spec.VsphereVolume = &v1.VsphereVirtualDiskVolumeSource{VolumePath: "[a] b"}
	})
	broken := volume("v", "", "1Gi", inTreeZone("aws://a/broken", "a"))
	tests := []struct {
		name    string
		csiNode *storagev1.CSINode
		volume  *v1.PersistentVolume
		node    *v1.Node
		want    *fwk.Status
	}{
		{"on, same zone", csiNode(ebs), disk, node("a"), nil},
		{"on, among others", csiNode(gce + "," + ebs), disk, node("a"), nil},
		{"on, other zone", csiNode(ebs), disk, node("b"), never(nodeConflict)},
		{"off for the plugin: the usual labels count", csiNode(gce), disk, node("b"), nil},
		{"off: the usual labels count", csiNode(""), disk, node("b"), nil},
		{"missing CSINode: the usual labels count", nil, disk, node("b"), nil},
		{"plugin that is not migrated, whatever the CSINode says", csiNode("kubernetes.io/vsphere-volume"), vsphere, node("a"), never(nodeConflict)},
		{"CSI volume", csiNode(ebs), volume("v", "", "1Gi", func(volume *v1.PersistentVolume) {
			volume.Spec.CSI = &v1.CSIPersistentVolumeSource{Driver: "d", VolumeHandle: "h"}
		}, reachableFrom("topology.ebs.csi.aws.com/zone", "b")), node("b"), nil},
		{"on, can't be translated", csiNode(ebs), broken, node("a"), fwk.NewStatus(fwk.Error, `translating persistentvolume "v" for its CSI driver: `+
			"failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://a/broken)")},
		{"off, can't be translated", csiNode(""), broken, node("a"), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			objects := []apiruntime.Object{objects.PersistentVolumeClaim("c").Bound("v").Build(), tt.volume}
			known := slices.Clone(objects)
			if tt.csiNode != nil {
				known = append(known, tt.csiNode)
			}
			_, statuses := filter(t, newPlugin(t, known...), claiming("c"), tt.node)
			fixture.CheckStatus(t, statuses["n"], tt.want)
			t.Run("CSINode from the CSI manager", func(t *testing.T) {
				handle := &fixture.Handle{Informers: fixture.Informers(t, objects...), CSI: fixture.CSINodes{Node: tt.csiNode}}
				_, statuses := filter(t, buildPlugin(t, nil, handle), claiming("c"), tt.node)
				fixture.CheckStatus(t, statuses["n"], tt.want)
			})
		})
	}
}
