// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package nodevolumelimits

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/klog/v2/ktesting"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func TestHintAfterCSINodeUpdated(t *testing.T) {
	tests := []struct {
		name     string
		old, new *storagev1.CSINode
		want     fwk.QueueingHint
	}{
		{"limit grew", csiNode(limit{"d", 1}), csiNode(limit{"d", 2}), fwk.Queue},
		{"limit is the same", csiNode(limit{"d", 1}), csiNode(limit{"d", 1}), fwk.QueueSkip},
		{"limit shrank", csiNode(limit{"d", 2}), csiNode(limit{"d", 1}), fwk.QueueSkip},
		{"driver added with a limit", csiNode(), csiNode(limit{"d", 1}), fwk.Queue},
		{"driver added without a limit", csiNode(), csiNode(limit{"d", -1}), fwk.Queue},
		{"driver added with a limit of zero", csiNode(), csiNode(limit{"d", 0}), fwk.Queue},
		{"driver has no limit still", csiNode(limit{"d", -1}), csiNode(limit{"d", -1}), fwk.QueueSkip},
		{"driver got a limit", csiNode(limit{"d", -1}), csiNode(limit{"d", 1}), fwk.Queue},
		{"driver lost its limit", csiNode(limit{"d", 1}), csiNode(limit{"d", -1}), fwk.Queue},
		{"driver removed with its limit", csiNode(limit{"d", 1}), csiNode(), fwk.Queue},
		{"driver without a limit removed", csiNode(limit{"d", -1}), csiNode(), fwk.QueueSkip},
		{"one of two grew", csiNode(limit{"d", 2}, limit{"e", 1}), csiNode(limit{"d", 1}, limit{"e", 2}), fwk.Queue},
	}
	hint := fixture.Hint(t, newPlugin(t), fwk.CSINode, fwk.Update)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fixture.CheckHint(t, hint, claiming("c"), tt.old, tt.new, tt.want)
		})
	}
	fixture.CheckHintObjects(t, hint, claiming("c"), nil)
}

func TestHintAfterDriverChange(t *testing.T) {
	driver := func(prevents *bool) *storagev1.CSIDriver {
		return &storagev1.CSIDriver{Spec: storagev1.CSIDriverSpec{PreventPodSchedulingIfMissing: prevents}}
	}
	yes, no, silent := driver(ptr.To(true)), driver(ptr.To(false)), driver(nil)
	hint := fixture.Hint(t, newPlugin(t), fwk.CSIDriver, fwk.Update|fwk.Delete)
	fixture.CheckHint(t, hint, claiming("c"), yes, no, fwk.Queue)
	fixture.CheckHint(t, hint, claiming("c"), yes, silent, fwk.Queue)
	fixture.CheckHint(t, hint, claiming("c"), yes, yes, fwk.QueueSkip)
	fixture.CheckHint(t, hint, claiming("c"), no, yes, fwk.QueueSkip)
	fixture.CheckHint(t, hint, claiming("c"), silent, no, fwk.QueueSkip)
	fixture.CheckHint(t, hint, claiming("c"), yes, nil, fwk.Queue)
	fixture.CheckHint(t, hint, claiming("c"), no, nil, fwk.QueueSkip)
	fixture.CheckHintObjects(t, hint, claiming("c"), no)
}

func TestHintAfterPodDeleted(t *testing.T) {
	placed := func(pod *v1.Pod) *v1.Pod {
		pod.Spec.NodeName = "n"
		return pod
	}
	nominated := func(pod *v1.Pod) *v1.Pod {
		pod.Status.NominatedNodeName = "n"
		return pod
	}
	tests := []struct {
		name    string
		deleted *v1.Pod
		want    fwk.QueueingHint
	}{
		{"no volumes", placed(objects.Pod("d").Build()), fwk.QueueSkip},
		{"volumes that don't count", placed(inline(emptyDir())), fwk.QueueSkip},
		{"claim", placed(claiming("x")), fwk.Queue},
		{"claim, not scheduled", claiming("x"), fwk.QueueSkip},
		{"claim, nominated", nominated(claiming("x")), fwk.Queue},
		{"ephemeral volume", placed(objects.Pod("d").EphemeralVolume("e").Build()), fwk.Queue},
		{"migrated inline volume", placed(inline(inlineEBS("x"))), fwk.Queue},
		{"pod of another namespace", placed(elsewhere(claiming("x"))), fwk.Queue},
	}
	hint := fixture.Hint(t, newPlugin(t), fwk.AssignedPod, fwk.Delete)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fixture.CheckHint(t, hint, claiming("c"), tt.deleted, nil, tt.want)
		})
	}
	fixture.CheckHintObjects(t, hint, claiming("c"), placed(objects.Pod("d").Build()))
	fixture.CheckHintObjects(t, hint, claiming("c"), placed(claiming("x")))
}

func TestHintAfterClaimAdded(t *testing.T) {
	elsewhereClaim := objects.PersistentVolumeClaim("c").With(func(claim *v1.PersistentVolumeClaim) { claim.Namespace = "elsewhere" }).Build()
	tests := []struct {
		name  string
		pod   *v1.Pod
		added *v1.PersistentVolumeClaim
		want  fwk.QueueingHint
	}{
		{"named claim", claiming("b", "c"), objects.PersistentVolumeClaim("c").Build(), fwk.Queue},
		{"claim of an ephemeral volume", objects.Pod("p").EphemeralVolume("e").Build(), objects.PersistentVolumeClaim("p-e").Build(), fwk.Queue},
		{"another claim", claiming("b"), objects.PersistentVolumeClaim("c").Build(), fwk.QueueSkip},
		{"another namespace", claiming("c"), elsewhereClaim, fwk.QueueSkip},
	}
	hint := fixture.Hint(t, newPlugin(t), fwk.PersistentVolumeClaim, fwk.Add)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fixture.CheckHint(t, hint, tt.pod, nil, tt.added, tt.want)
		})
	}
	fixture.CheckHintObjects(t, hint, claiming("c"), nil)
}

// A claim may get a volume that does not count.
func TestHintAfterClaimUpdated(t *testing.T) {
	hint := fixture.Hint(t, newPlugin(t), fwk.PersistentVolumeClaim, fwk.Update)
	unbound, bound := objects.PersistentVolumeClaim("c").Build(), objects.PersistentVolumeClaim("c").Build()
	bound.Spec.VolumeName = "v"
	fixture.CheckHint(t, hint, claiming("b", "c"), unbound, bound, fwk.Queue)
	fixture.CheckHint(t, hint, claiming("b", "c"), bound, bound, fwk.QueueSkip)
	fixture.CheckHint(t, hint, claiming("b"), unbound, bound, fwk.QueueSkip)
}

func TestHintAfterDetached(t *testing.T) {
	tests := []struct {
		name string
		pod  *v1.Pod
		want fwk.QueueingHint
	}{
		{"claim, whatever its driver", claiming("c"), fwk.Queue},
		{"inline volume of the driver", inline(emptyDir(), inlineEBS("x")), fwk.Queue},
		{"inline volume of another driver", inline(inlineVSphere()), fwk.QueueSkip},
		{"ephemeral volume", objects.Pod("p").EphemeralVolume("e").Build(), fwk.Queue},
		{"no volumes", objects.Pod("p").Build(), fwk.QueueSkip},
	}
	hint := fixture.Hint(t, newPlugin(t), fwk.VolumeAttachment, fwk.Delete)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fixture.CheckHint(t, hint, tt.pod, attachment(ebsDriver, "x"), nil, tt.want)
		})
	}
	fixture.CheckHintObjects(t, hint, claiming("c"), attachment(ebsDriver, "x"))
	fixture.CheckHintObjects(t, hint, inline(inlineVSphere()), attachment(ebsDriver, "x"))
	t.Run("volume that can't be translated", func(t *testing.T) {
		logger, _ := ktesting.NewTestContext(t)
		got, err := hint(logger, inline(inlineEBS("aws://zone/disk")), attachment(ebsDriver, "x"), nil)
		if err == nil || got != fwk.Queue {
			t.Errorf("got %v and error %v, want Queue and an error", got, err)
		}
	})
}
