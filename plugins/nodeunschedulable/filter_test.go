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

// ofCordon is a toleration of cordoned nodes.
func ofCordon() v1.Toleration {
	return v1.Toleration{Key: v1.TaintNodeUnschedulable, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoSchedule}
}

func TestFilter(t *testing.T) {
	cordoned := fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "node(s) were unschedulable")
	otherEffect, withValue := ofCordon(), ofCordon()
	otherEffect.Effect = v1.TaintEffectNoExecute
	withValue.Operator, withValue.Value = v1.TolerationOpEqual, "true"
	tests := []struct {
		name string
		pod  *v1.Pod
		node *v1.Node
		want *fwk.Status
	}{
		{"unschedulable node", objects.Pod("p").Build(), objects.Node("n").Unschedulable().Build(), cordoned},
		{"normal node", objects.Pod("p").Build(), objects.Node("n").Build(), nil},
		{"tolerated", objects.Pod("p").Toleration(ofCordon()).Build(), objects.Node("n").Unschedulable().Build(), nil},
		{
			"tolerates everything",
			objects.Pod("p").Toleration(v1.Toleration{Operator: v1.TolerationOpExists}).Build(),
			objects.Node("n").Unschedulable().Build(), nil,
		},
		{"tolerates another effect", objects.Pod("p").Toleration(otherEffect).Build(), objects.Node("n").Unschedulable().Build(), cordoned},
		{"tolerates another value", objects.Pod("p").Toleration(withValue).Build(), objects.Node("n").Unschedulable().Build(), cordoned},
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
