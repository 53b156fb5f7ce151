// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumezone

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func TestHintAfterClassAdded(t *testing.T) {
	hint := fixture.Hint(t, newPlugin(t), fwk.StorageClass, fwk.Add)
	for mode, want := range map[storagev1.VolumeBindingMode]fwk.QueueingHint{
		"":                               fwk.QueueSkip,
		storagev1.VolumeBindingImmediate: fwk.QueueSkip,
		storagev1.VolumeBindingWaitForFirstConsumer: fwk.Queue,
	} {
		t.Run("mode "+string(mode), func(t *testing.T) {
			fixture.CheckHint(t, hint, claiming("c"), nil, objects.StorageClass("s", "provisioner", mode), want)
		})
	}
	fixture.CheckHintObjects(t, hint, claiming("c"), nil)
}

func TestHintAfterClaimChange(t *testing.T) {
	elsewhere := objects.PersistentVolumeClaim("c").With(func(claim *v1.PersistentVolumeClaim) { claim.Namespace = "elsewhere" }).Build()
	tests := []struct {
		name     string
		pod      *v1.Pod
		old, new *v1.PersistentVolumeClaim
		want     fwk.QueueingHint
	}{
		{"named claim added", claiming("c"), nil, objects.PersistentVolumeClaim("c").Build(), fwk.Queue},
		{"named claim updated", claiming("b", "c"), objects.PersistentVolumeClaim("c").Build(), objects.PersistentVolumeClaim("c").Build(), fwk.Queue},
		{"another claim added", claiming("c"), nil, objects.PersistentVolumeClaim("d").Build(), fwk.QueueSkip},
		{"another namespace", claiming("c"), nil, elsewhere, fwk.QueueSkip},
		{"claim of an ephemeral volume", objects.Pod("p").EphemeralVolume("vol").Build(), nil, objects.PersistentVolumeClaim("p-vol").Build(), fwk.QueueSkip},
	}
	hint := fixture.Hint(t, newPlugin(t), fwk.PersistentVolumeClaim, fwk.Add|fwk.Update)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fixture.CheckHint(t, hint, tt.pod, tt.old, tt.new, tt.want)
		})
	}
	fixture.CheckHintObjects(t, hint, claiming("c"), nil)
}

func TestHintAfterVolumeChange(t *testing.T) {
	tests := []struct {
		name     string
		old, new *v1.PersistentVolume
		want     fwk.QueueingHint
	}{
		{"added", nil, volumeIn("v"), fwk.Queue},
		{"label added", volumeIn("v"), volumeIn("v", zone, "a"), fwk.Queue},
		{"label changed", volumeIn("v", zone, "a"), volumeIn("v", zone, "b"), fwk.Queue},
		{"label removed", volumeIn("v", zone, "a"), volumeIn("v"), fwk.Queue},
		{"label replaced by its successor", volumeIn("v", betaZone, "a"), volumeIn("v", zone, "a"), fwk.Queue},
		{"same zones in another order", volumeIn("v", zone, "a__b"), volumeIn("v", zone, "b__a"), fwk.QueueSkip},
		{"other label changed", volumeIn("v", zone, "a", "rack", "1"), volumeIn("v", zone, "a", "rack", "2"), fwk.QueueSkip},
		{"invalid label added", volumeIn("v"), volumeIn("v", zone, "__"), fwk.QueueSkip},
	}
	hint := fixture.Hint(t, newPlugin(t), fwk.PersistentVolume, fwk.Add|fwk.Update)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fixture.CheckHint(t, hint, claiming("c"), tt.old, tt.new, tt.want)
		})
	}
	fixture.CheckHintObjects(t, hint, claiming("c"), nil)
}
