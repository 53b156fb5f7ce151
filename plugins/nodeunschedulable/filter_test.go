// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeunschedulable

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// toleratingCordon lets a pod go to cordoned nodes.
func toleratingCordon(pod *v1.Pod) {
	fixture.Tolerating(v1.Toleration{
		Key: v1.TaintNodeUnschedulable, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoSchedule,
	})(pod)
}

func TestFilter(t *testing.T) {
	cordoned := fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "node(s) were unschedulable")
	otherEffect := fixture.Tolerating(v1.Toleration{
		Key: v1.TaintNodeUnschedulable, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute,
	})
	withValue := fixture.Tolerating(v1.Toleration{
		Key: v1.TaintNodeUnschedulable, Operator: v1.TolerationOpEqual, Value: "true", Effect: v1.TaintEffectNoSchedule,
	})
	tests := []struct {
		name string
		pod  *v1.Pod
		node *v1.Node
		want *fwk.Status
	}{
		{"unschedulable node", objects.Pod("p").Build(), objects.Node("n").Unschedulable().Build(), cordoned},
		{"normal node", objects.Pod("p").Build(), objects.Node("n").Build(), nil},
		{"tolerated", objects.Pod("p").With(toleratingCordon).Build(), objects.Node("n").Unschedulable().Build(), nil},
		{
			"tolerates everything",
			objects.Pod("p").Toleration(v1.Toleration{Operator: v1.TolerationOpExists}).Build(),
			objects.Node("n").Unschedulable().Build(), nil,
		},
		{"tolerates another effect", objects.Pod("p").With(otherEffect).Build(), objects.Node("n").Unschedulable().Build(), cordoned},
		{"tolerates another value", objects.Pod("p").With(withValue).Build(), objects.Node("n").Unschedulable().Build(), cordoned},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pl, state := &plugin{}, framework.NewCycleState()
			result, status := pl.PreFilter(t.Context(), state, tt.pod, nil)
			if result != nil || status != nil {
				t.Errorf("PreFilter: got %v, %v, want nothing", result, status)
			}
			fixture.CheckStatus(t, pl.Filter(t.Context(), state, tt.pod, fixture.NodeInfo(tt.node)), tt.want)
		})
	}
}
