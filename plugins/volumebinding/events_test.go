// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumebinding

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// hintTest is a change of an object, of which old is nil if it is added.
type hintTest struct {
	name     string
	old, new apiruntime.Object
	want     fwk.QueueingHint
}

func checkHints(t *testing.T, resource fwk.EventResource, actions fwk.ActionType, pod *v1.Pod, tests []hintTest) {
	t.Helper()
	hint := fixture.Hint(t, newPlugin(t), resource, actions)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fixture.CheckHint(t, hint, pod, tt.old, tt.new, tt.want)
		})
	}
	t.Run("wrong and absent objects", func(t *testing.T) {
		fixture.CheckHintObjects(t, hint, pod, nil)
	})
}

func TestHintAfterClassChange(t *testing.T) {
	allowing := func(zones ...string) *storagev1.StorageClass {
		return storageClass("s", storagev1.VolumeBindingWaitForFirstConsumer, func(class *storagev1.StorageClass) {
			class.AllowedTopologies = []v1.TopologySelectorTerm{{
				MatchLabelExpressions: []v1.TopologySelectorLabelRequirement{{Key: zone, Values: zones}},
			}}
		})
	}
	plain := objects.StorageClass("s", "provisioner", storagev1.VolumeBindingImmediate)
	relabelled := storageClass("s", storagev1.VolumeBindingImmediate, func(class *storagev1.StorageClass) {
		class.Labels = map[string]string{"a": "b"}
	})
	checkHints(t, fwk.StorageClass, fwk.Add|fwk.Update, claiming("c"), []hintTest{
		{"added", nil, plain, fwk.Queue},
		{"topologies added", plain, allowing("a"), fwk.Queue},
		{"topologies removed", allowing("a"), plain, fwk.Queue},
		{"topologies changed", allowing("a"), allowing("a", "b"), fwk.Queue},
		{"topologies are the same", allowing("a"), allowing("a"), fwk.QueueSkip},
		{"something else changed", plain, relabelled, fwk.QueueSkip},
	})
}

func TestHintAfterClaimChange(t *testing.T) {
	elsewhereClaim := objects.PersistentVolumeClaim("c").With(func(claim *v1.PersistentVolumeClaim) { claim.Namespace = "elsewhere" }).Build()
	pod := objects.Pod("p").PersistentVolumeClaim("b", "c").EphemeralVolume("e").Build()
	checkHints(t, fwk.PersistentVolumeClaim, fwk.Add|fwk.Update, pod, []hintTest{
		{"named claim added", nil, objects.PersistentVolumeClaim("c").Build(), fwk.Queue},
		{"named claim updated", objects.PersistentVolumeClaim("c").Build(), objects.PersistentVolumeClaim("c").Build(), fwk.Queue},
		{"claim of an ephemeral volume", nil, objects.PersistentVolumeClaim("p-e").Build(), fwk.Queue},
		{"another claim", nil, objects.PersistentVolumeClaim("d").Build(), fwk.QueueSkip},
		{"another namespace", nil, elsewhereClaim, fwk.QueueSkip},
		{"another namespace, updated", elsewhereClaim, elsewhereClaim, fwk.QueueSkip},
	})
}

func TestHintAfterCSINodeChange(t *testing.T) {
	otherwise := csiNode("a")
	otherwise.Labels = map[string]string{"a": "b"}
	checkHints(t, fwk.CSINode, fwk.Add|fwk.Update, claiming("c"), []hintTest{
		{"added", nil, csiNode(""), fwk.Queue},
		{"plugins migrated", csiNode(""), csiNode("a"), fwk.Queue},
		{"more plugins migrated", csiNode("a"), csiNode("a,b"), fwk.Queue},
		{"plugins not migrated any more", csiNode("a"), csiNode(""), fwk.Queue},
		{"same plugins", csiNode("a"), csiNode("a"), fwk.QueueSkip},
		{"something else changed", csiNode("a"), otherwise, fwk.QueueSkip},
	})
}

func TestHintAfterDriverChange(t *testing.T) {
	yes, no := csiDriver(ptr.To(true)), csiDriver(ptr.To(false))
	checkHints(t, fwk.CSIDriver, fwk.Update, claiming("c"), []hintTest{
		{"ceases to tell the capacity", yes, no, fwk.Queue},
		{"ceases to say whether it tells the capacity", yes, csiDriver(nil), fwk.Queue},
		{"goes on telling", yes, yes, fwk.QueueSkip},
		{"begins to tell", no, yes, fwk.QueueSkip},
		{"goes on not telling", no, no, fwk.QueueSkip},
		{"never said", csiDriver(nil), no, fwk.QueueSkip},
	})
	deleted := fixture.Hint(t, newPlugin(t), fwk.CSIDriver, fwk.Delete)
	fixture.CheckHint(t, deleted, claiming("c"), yes, nil, fwk.Queue)
	fixture.CheckHint(t, deleted, claiming("c"), no, nil, fwk.QueueSkip)
	fixture.CheckHintObjects(t, deleted, claiming("c"), yes)
}

func TestHintAfterCapacityChange(t *testing.T) {
	sized := func(size, maximum string) *storagev1.CSIStorageCapacity {
		c := capacity("x", waiting, "a", size)
		if maximum != "" {
			c.MaximumVolumeSize = ptr.To(resource.MustParse(maximum))
		}
		return c
	}
	checkHints(t, fwk.CSIStorageCapacity, fwk.Add|fwk.Update, claiming("c"), []hintTest{
		{"added", nil, sized("1Gi", ""), fwk.Queue},
		{"added without capacity", nil, sized("", ""), fwk.Queue},
		{"capacity grew", sized("1Gi", ""), sized("2Gi", ""), fwk.Queue},
		{"capacity is the same", sized("1Gi", ""), sized("1024Mi", ""), fwk.QueueSkip},
		{"capacity shrank", sized("2Gi", ""), sized("1Gi", ""), fwk.QueueSkip},
		{"capacity came to be known", sized("", ""), sized("1Gi", ""), fwk.Queue},
		{"capacity is not known any more", sized("1Gi", ""), sized("", ""), fwk.QueueSkip},
		{"capacity is still not known", sized("", ""), sized("", ""), fwk.QueueSkip},
		{"maximum grew", sized("9Gi", "1Gi"), sized("9Gi", "2Gi"), fwk.Queue},
		{"maximum is the same, capacity grew", sized("8Gi", "1Gi"), sized("9Gi", "1Gi"), fwk.QueueSkip},
		{"maximum shrank, capacity grew", sized("8Gi", "2Gi"), sized("9Gi", "1Gi"), fwk.QueueSkip},
		{"maximum in place of a smaller capacity", sized("1Gi", ""), sized("1Gi", "2Gi"), fwk.Queue},
	})
}
