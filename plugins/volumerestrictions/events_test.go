// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumerestrictions

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func asObjects(claims []*v1.PersistentVolumeClaim) []apiruntime.Object {
	objects := make([]apiruntime.Object, len(claims))
	for i, claim := range claims {
		objects[i] = claim
	}
	return objects
}

func TestHintAfterPodDeleted(t *testing.T) {
	tests := []struct {
		name         string
		pod, deleted *v1.Pod
		want         fwk.QueueingHint
	}{
		{"unrelated pod", claiming("a"), objects.Pod("d").Build(), fwk.QueueSkip},
		{"same claim", claiming("a"), claiming("b", "a"), fwk.Queue},
		{"another claim", claiming("a"), claiming("b"), fwk.QueueSkip},
		{"same claim name in another namespace", claiming("a"), elsewhere(claiming("a")), fwk.QueueSkip},
		{"conflicting disk", gce("a", false), gce("a", true), fwk.Queue},
		{"another disk", gce("a", false), gce("b", false), fwk.QueueSkip},
		{"disk that both only read", gce("a", true), gce("a", true), fwk.QueueSkip},
		{"conflicting disk in another namespace", ebs("a", false), elsewhere(ebs("a", false)), fwk.Queue},
	}
	hint := fixture.Hint(t, newPlugin(t, nil), fwk.AssignedPod, fwk.Delete)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fixture.CheckHint(t, hint, tt.pod, tt.deleted, nil, tt.want)
		})
	}
	t.Run("wrong, absent and unknown objects", func(t *testing.T) {
		fixture.CheckHintObjects(t, hint, claiming("a"), claiming("b"))
		fixture.CheckHintObjects(t, hint, claiming("a"), claiming("a"))
	})
}

func TestHintAfterNodeDeleted(t *testing.T) {
	hint := fixture.Hint(t, newPlugin(t, nil), fwk.Node, fwk.Delete)
	fixture.CheckHint(t, hint, claiming("a"), objects.Node("n").Build(), nil, fwk.Queue)
	fixture.CheckHint(t, hint, gce("a", false), objects.Node("n").Build(), nil, fwk.QueueSkip)
	fixture.CheckHintObjects(t, hint, claiming("a"), objects.Node("n").Build())
}

func TestHintAfterClaimAdded(t *testing.T) {
	inNamespace := func(namespace string) func(*v1.PersistentVolumeClaim) {
		return func(claim *v1.PersistentVolumeClaim) { claim.Namespace = namespace }
	}
	tests := []struct {
		name  string
		pod   *v1.Pod
		added *v1.PersistentVolumeClaim
		want  fwk.QueueingHint
	}{
		{"named claim", claiming("b", "a"), objects.PersistentVolumeClaim("a").Build(), fwk.Queue},
		{"another claim", claiming("b"), objects.PersistentVolumeClaim("a").Build(), fwk.QueueSkip},
		{"another namespace", claiming("a"), objects.PersistentVolumeClaim("a").With(inNamespace("elsewhere")).Build(), fwk.QueueSkip},
		{"no claims", gce("a", false), objects.PersistentVolumeClaim("a").Build(), fwk.QueueSkip},
		{"claim of an ephemeral volume", objects.Pod("p").EphemeralVolume("vol").Build(), objects.PersistentVolumeClaim("p-vol").Build(), fwk.QueueSkip},
	}
	hint := fixture.Hint(t, newPlugin(t, nil), fwk.PersistentVolumeClaim, fwk.Add)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fixture.CheckHint(t, hint, tt.pod, nil, tt.added, tt.want)
		})
	}
	t.Run("wrong and absent objects", func(t *testing.T) {
		fixture.CheckHintObjects(t, hint, claiming("a"), nil)
	})
}
