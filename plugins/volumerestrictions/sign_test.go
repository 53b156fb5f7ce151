// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumerestrictions

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func TestSignPod(t *testing.T) {
	pod := objects.Pod("p").PersistentVolumeClaim("b", "a").Volume("config", v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{}}).Build()
	fixture.CheckSigned(t, newPlugin(t, nil), pod, fwk.SignFragment{Key: fwk.VolumesSignerName, Value: []string{
		`{"persistentVolumeClaim":{"claimName":"a"}}`, `{"persistentVolumeClaim":{"claimName":"b"}}`,
	}})
}

func TestHintClass(t *testing.T) {
	tests := []struct {
		name  string
		a, b  *v1.Pod
		alike bool
	}{
		{"same claims in another order", claiming("a", "b"), claiming("b", "a"), true},
		{"same disk", gce("a", true), gce("a", true), true},
		{"unrestricted volumes don't count", claiming("a"), objects.Pod("b").PersistentVolumeClaim("a").EphemeralVolume("tmp").Build(), true},
		{"other claim", claiming("a"), claiming("b"), false},
		{"same claim name in another namespace", claiming("a"), elsewhere(claiming("a")), false},
		{"other disk", gce("a", true), gce("b", true), false},
		{"same disk for writing", gce("a", true), gce("a", false), false},
		{"disk of another kind", gce("a", false), ebs("a", false), false},
	}
	pl := newPlugin(t, nil)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fixture.CheckHintClass(t, pl, tt.a, tt.b, tt.alike)
		})
	}
}
