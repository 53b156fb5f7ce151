// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumebinding

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func badSelector() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: zone, Operator: "Near"}}}
}

// TestCapacity has a claim for 5Gi of a class whose driver tells how much storage there is, and a node in zone a.
func TestCapacity(t *testing.T) {
	maximum := func(c *storagev1.CSIStorageCapacity, size string) *storagev1.CSIStorageCapacity {
		c.MaximumVolumeSize = ptr.To(resource.MustParse(size))
		return c
	}
	invalid := capacity("x", waiting, "a", "10Gi")
	invalid.NodeTopology = badSelector()
	everywhere := capacity("x", waiting, "a", "10Gi")
	everywhere.NodeTopology = &metav1.LabelSelector{}
	tells := ptr.To(true)
	tests := []struct {
		name    string
		driver  *storagev1.CSIDriver
		objects []apiruntime.Object
		want    *fwk.Status
	}{
		{"sufficient", csiDriver(tells), []apiruntime.Object{capacity("x", waiting, "a", "5Gi")}, nil},
		{"wrong node", csiDriver(tells), []apiruntime.Object{capacity("x", waiting, "b", "5Gi")}, never(noCapacity)},
		{"wrong class", csiDriver(tells), []apiruntime.Object{capacity("x", static, "a", "5Gi")}, never(noCapacity)},
		{"insufficient size", csiDriver(tells), []apiruntime.Object{capacity("x", waiting, "a", "4Gi")}, never(noCapacity)},
		{"zero", csiDriver(tells), []apiruntime.Object{capacity("x", waiting, "a", "0")}, never(noCapacity)},
		{"nil", csiDriver(tells), []apiruntime.Object{capacity("x", waiting, "a", "")}, never(noCapacity)},
		{"none", csiDriver(tells), nil, never(noCapacity)},
		{"no topology", csiDriver(tells), []apiruntime.Object{capacity("x", waiting, "", "5Gi")}, never(noCapacity)},
		{"empty topology", csiDriver(tells), []apiruntime.Object{everywhere}, nil},
		{"topology that can't be parsed", csiDriver(tells), []apiruntime.Object{invalid}, never(noCapacity)},
		{"maximum volume size goes first: sufficient", csiDriver(tells), []apiruntime.Object{maximum(capacity("x", waiting, "a", "1Gi"), "5Gi")}, nil},
		{"maximum volume size goes first: insufficient", csiDriver(tells), []apiruntime.Object{maximum(capacity("x", waiting, "a", "9Gi"), "4Gi")},
			never(noCapacity)},
		{"maximum volume size alone", csiDriver(tells), []apiruntime.Object{maximum(capacity("x", waiting, "a", ""), "5Gi")}, nil},
		{"one of several", csiDriver(tells), []apiruntime.Object{
			capacity("x", waiting, "a", "1Gi"), capacity("y", waiting, "b", "9Gi"), capacity("z", waiting, "a", "9Gi"),
		}, nil},
		{"not added up", csiDriver(tells), []apiruntime.Object{capacity("x", waiting, "a", "3Gi"), capacity("y", waiting, "a", "3Gi")}, never(noCapacity)},
		{"driver does not tell", csiDriver(ptr.To(false)), nil, nil},
		{"driver does not say whether it tells", csiDriver(nil), nil, nil},
		{"no such driver", nil, nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			objects := append([]apiruntime.Object{pending("c", waiting, "5Gi")}, tt.objects...)
			if tt.driver != nil {
				objects = append(objects, tt.driver)
			}
			_, statuses := filter(t, newPlugin(t, objects...), claiming("c"), nodeIn("n", "a"))
			fixture.CheckStatus(t, statuses["n"], tt.want)
		})
	}
}

func TestCapacityOfSeveralClaims(t *testing.T) {
	tells := csiDriver(ptr.To(true))
	enough := capacity("x", waiting, "a", "5Gi")
	unlimited := objects.PersistentVolumeClaim("c").StorageClass(waiting).Build()
	tests := []struct {
		name    string
		pod     *v1.Pod
		objects []apiruntime.Object
		want    *fwk.Status
	}{
		{"each claim is checked by itself", claiming("c", "d"), []apiruntime.Object{
			tells, enough, pending("c", waiting, "5Gi"), pending("d", waiting, "5Gi"),
		}, nil},
		{"one of two is too large", claiming("c", "d"), []apiruntime.Object{
			tells, enough, pending("c", waiting, "6Gi"), pending("d", waiting, "5Gi"),
		}, never(noCapacity)},
		{"no storage requested", claiming("c"), []apiruntime.Object{tells, unlimited}, nil},
		{"a volume that exists is taken instead", claiming("c"), []apiruntime.Object{
			tells, pending("c", waiting, "5Gi"), volume("v", waiting, "5Gi"),
		}, nil},
		{"a bound volume elsewhere, and no capacity", claiming("bound", "c"), []apiruntime.Object{
			tells, pending("c", waiting, "5Gi"), objects.PersistentVolumeClaim("bound").Bound("v").Build(), volume("v", "", "1Gi", reachableFrom(zone, "b")),
		}, never(nodeConflict, noCapacity)},
		{"a bound volume gone, and no capacity", claiming("bound", "c"), []apiruntime.Object{
			tells, pending("c", waiting, "5Gi"), objects.PersistentVolumeClaim("bound").Bound("gone").Build(),
		}, never(noCapacity, volumeGone)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, statuses := filter(t, newPlugin(t, tt.objects...), tt.pod, nodeIn("n", "a"))
			fixture.CheckStatus(t, statuses["n"], tt.want)
		})
	}
}
