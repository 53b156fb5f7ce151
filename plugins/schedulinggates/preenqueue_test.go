// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package schedulinggates

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func gated(names ...string) *v1.Pod {
	return objects.Pod("p").With(func(pod *v1.Pod) {
		for _, name := range names {
			pod.Spec.SchedulingGates = append(pod.Spec.SchedulingGates, v1.PodSchedulingGate{Name: name})
		}
	}).Build()
}

func TestPreEnqueue(t *testing.T) {
	tests := []struct {
		name string
		pod  *v1.Pod
		want *fwk.Status
	}{
		{"pod without gates passes", gated(), nil},
		{
			"one gate", gated("a.example.com/quota"),
			fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "waiting for scheduling gates: [a.example.com/quota]"),
		},
		{
			"gates are listed in the order of the spec", gated("foo", "bar"),
			fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "waiting for scheduling gates: [foo bar]"),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pl := &plugin{}
			fixture.CheckStatus(t, pl.PreEnqueue(t.Context(), tt.pod), tt.want)
		})
	}
}

func TestHintQueues(t *testing.T) {
	hint := fixture.Hint(t, &plugin{}, fwk.TargetPod, fwk.UpdatePodSchedulingGatesEliminated)
	fixture.CheckHint(t, hint, gated(), gated("foo"), gated(), fwk.Queue)
	fixture.CheckHint(t, hint, gated(), nil, nil, fwk.Queue)
}
