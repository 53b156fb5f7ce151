// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package tainttoleration

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
)

func TestHintAfterNodeChange(t *testing.T) {
	const noSchedule = v1.TaintEffectNoSchedule
	free, soft := node(), node(taint("a", "1", v1.TaintEffectPreferNoSchedule))
	a, b := node(taint("a", "1", noSchedule)), node(taint("b", "1", v1.TaintEffectNoExecute))
	toleratesA := pod(equal("a", "1", noSchedule))

	tests := []struct {
		name     string
		old, new *v1.Node
		want     fwk.QueueingHint
	}{
		{"add: free", nil, free, fwk.Queue},
		{"add: tolerated", nil, a, fwk.Queue},
		{"add: only a soft taint", nil, soft, fwk.Queue},
		{"add: not tolerated", nil, b, fwk.QueueSkip},
		{"update: untolerated taint goes", b, free, fwk.Queue},
		{"update: untolerated taint becomes a tolerated one", b, a, fwk.Queue},
		{"update: untolerated taint becomes soft", b, soft, fwk.Queue},
		{"update: untolerated taint stays", b, b, fwk.QueueSkip},
		{"update: untolerated taint comes", free, b, fwk.QueueSkip},
		{"update: tolerated taint goes", a, free, fwk.QueueSkip},
		{"update: soft taint goes", soft, free, fwk.QueueSkip},
	}
	hint := fixture.Hint(t, &plugin{}, fwk.Node, fwk.Add|fwk.UpdateNodeTaint)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fixture.CheckHint(t, hint, toleratesA, tt.old, tt.new, tt.want)
		})
	}
	t.Run("wrong and absent objects", func(t *testing.T) {
		fixture.CheckHintObjects(t, hint, toleratesA, nil)
	})
}

func TestHintAfterTolerationAdded(t *testing.T) {
	hint := fixture.Hint(t, &plugin{}, fwk.TargetPod, fwk.UpdatePodToleration)
	fixture.CheckHint(t, hint, pod(), pod(), pod(exists("a", "")), fwk.Queue)
	fixture.CheckHint(t, hint, pod(), nil, nil, fwk.Queue)
}
