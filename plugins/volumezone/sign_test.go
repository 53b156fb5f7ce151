// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumezone

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
	tests := []struct {
		name  string
		a, b  *v1.Pod
		alike bool
	}{
		{"same claims in another order", claiming("c", "d"), claiming("d", "c"), true},
		{"other volumes don't count", claiming("c"), objects.Pod("b").PersistentVolumeClaim("c").EphemeralVolume("tmp").Build(), true},
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
