// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumebinding

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func TestSignPod(t *testing.T) {
	pod := claiming("c")
	fixture.CheckSigned(t, newPlugin(t), pod, fwk.SignFragment{Key: fwk.VolumesSignerName, Value: fwk.VolumesSigner(pod)})
}

func TestHintClass(t *testing.T) {
	elsewhere := claiming("c")
	elsewhere.Namespace = "elsewhere"
	ephemeral := func(pod, volume string) *v1.Pod { return objects.Pod(pod).EphemeralVolume(volume).Build() }
	inline := func(driver, fsType string) *v1.Pod {
		return objects.Pod("p").Volume("csi", v1.VolumeSource{CSI: &v1.CSIVolumeSource{Driver: driver, FSType: &fsType}}).Build()
	}
	tests := []struct {
		name  string
		a, b  *v1.Pod
		alike bool
	}{
		{"same claims in another order", claiming("c", "d"), claiming("d", "c"), true},
		{"other volumes don't count", claiming("c"), objects.Pod("b").PersistentVolumeClaim("c").Volume("tmp", v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}).Build(), true},
		{"inline CSI volumes of one driver", inline("d", "ext4"), inline("d", "xfs"), true},
		{"ephemeral volume, claim of that name", ephemeral("p", "e"), claiming("p-e"), true},
		{"inline CSI volumes of two drivers", inline("d", "ext4"), inline("e", "ext4"), false},
		{"ephemeral volumes of two pods", ephemeral("p", "e"), ephemeral("q", "e"), false},
		{"other claim", claiming("c"), claiming("d"), false},
		{"one claim more", claiming("c"), claiming("c", "d"), false},
		{"same claim name in another namespace", claiming("c"), elsewhere, false},
	}
	pl := newPlugin(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fixture.CheckHintClass(t, pl, tt.a, tt.b, tt.alike)
		})
	}
}
