// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package nodevolumelimits

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
	ephemeral := func(pod, volume string) *v1.Pod { return objects.Pod(pod).EphemeralVolume(volume).Build() }
	tests := []struct {
		name  string
		a, b  *v1.Pod
		alike bool
	}{
		{"same claims in another order", claiming("a", "b"), claiming("b", "a"), true},
		{"same inline volume", inline(inlineEBS("a")), inline(inlineEBS("a")), true},
		{"volumes that don't count", claiming("a"), objects.Pod("q").PersistentVolumeClaim("a").Volume("tmp", emptyDir()).Build(), true},
		{"other claim", claiming("a"), claiming("b"), false},
		{"same claim name in another namespace", claiming("a"), elsewhere(claiming("a")), false},
		{"other inline volume", inline(inlineEBS("a")), inline(inlineEBS("b")), false},
		{"ephemeral volumes of two pods", ephemeral("p", "e"), ephemeral("q", "e"), false},
		{"ephemeral volume, claim of that name", ephemeral("p", "e"), claiming("p-e"), false},
	}
	pl := newPlugin(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fixture.CheckHintClass(t, pl, tt.a, tt.b, tt.alike)
		})
	}
}
