// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeunschedulable

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func TestHintAfterNodeChange(t *testing.T) {
	open, closed := objects.Node("n").Build(), objects.Node("n").Unschedulable().Build()
	tests := []struct {
		name     string
		old, new *v1.Node
		want     fwk.QueueingHint
	}{
		{"schedulable node added", nil, open, fwk.Queue},
		{"cordoned node added", nil, closed, fwk.QueueSkip},
		{"uncordoned", closed, open, fwk.Queue},
		{"cordoned", open, closed, fwk.QueueSkip},
		{"stays schedulable", open, open, fwk.QueueSkip},
		{"stays cordoned", closed, closed, fwk.QueueSkip},
	}
	hint := fixture.Hint(t, &plugin{}, fwk.Node, fwk.Add|fwk.UpdateNodeTaint)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fixture.CheckHint(t, hint, objects.Pod("p").Build(), tt.old, tt.new, tt.want)
		})
	}
	t.Run("tolerations of the pod are not consulted", func(t *testing.T) {
		fixture.CheckHint(t, hint, objects.Pod("p").Toleration(ofCordon()).Build(), nil, closed, fwk.QueueSkip)
	})
	t.Run("wrong and absent objects", func(t *testing.T) {
		fixture.CheckHintObjects(t, hint, objects.Pod("p").Build(), nil)
	})
}

func TestHintAfterTolerationAdded(t *testing.T) {
	plain, tolerating := objects.Pod("p").Build(), objects.Pod("p").Toleration(ofCordon()).Build()
	other := objects.Pod("p").Toleration(v1.Toleration{Key: "other", Operator: v1.TolerationOpExists}).Build()

	hint := fixture.Hint(t, &plugin{}, fwk.TargetPod, fwk.UpdatePodToleration)
	t.Run("tolerates the cordon now", func(t *testing.T) {
		fixture.CheckHint(t, hint, tolerating, plain, tolerating, fwk.Queue)
	})
	t.Run("tolerates something else now", func(t *testing.T) {
		fixture.CheckHint(t, hint, other, plain, other, fwk.QueueSkip)
	})
	t.Run("wrong and absent objects", func(t *testing.T) {
		fixture.CheckHintObjects(t, hint, tolerating, nil)
	})
}
