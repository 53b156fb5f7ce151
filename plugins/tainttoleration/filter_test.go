// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package tainttoleration

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func taint(key, value string, effect v1.TaintEffect) v1.Taint {
	return v1.Taint{Key: key, Value: value, Effect: effect}
}

func equal(key, value string, effect v1.TaintEffect) v1.Toleration {
	return v1.Toleration{Key: key, Operator: v1.TolerationOpEqual, Value: value, Effect: effect}
}

func exists(key string, effect v1.TaintEffect) v1.Toleration {
	return v1.Toleration{Key: key, Operator: v1.TolerationOpExists, Effect: effect}
}

func pod(tolerations ...v1.Toleration) *v1.Pod {
	return objects.Pod("p").Toleration(tolerations...).Build()
}

func node(taints ...v1.Taint) *v1.Node {
	return objects.Node("n").With(func(node *v1.Node) { node.Spec.Taints = append(node.Spec.Taints, taints...) }).Build()
}

func TestFilter(t *testing.T) {
	rejected := fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "node(s) had untolerated taint(s)")
	const noSchedule, noExecute, prefer = v1.TaintEffectNoSchedule, v1.TaintEffectNoExecute, v1.TaintEffectPreferNoSchedule
	tests := []struct {
		name string
		pod  *v1.Pod
		node *v1.Node
		want *fwk.Status
	}{
		{"no taints, no tolerations", pod(), node(), nil},
		{"no taints, one toleration", pod(equal("a", "1", noSchedule)), node(), nil},
		{"one taint, no tolerations", pod(), node(taint("a", "1", noSchedule)), rejected},
		{"NoExecute taint, no tolerations", pod(), node(taint("a", "1", noExecute)), rejected},
		{"PreferNoSchedule taint, no tolerations", pod(), node(taint("a", "1", prefer)), nil},
		{"one taint, tolerated", pod(equal("a", "1", noSchedule)), node(taint("a", "1", noSchedule)), nil},
		{"no operator is Equal", pod(v1.Toleration{Key: "a", Value: "1"}), node(taint("a", "1", noSchedule)), nil},
		{"operator Exists", pod(exists("a", noSchedule)), node(taint("a", "1", noSchedule)), nil},
		{"operator Exists without key", pod(exists("", "")), node(taint("a", "1", noSchedule), taint("b", "", noExecute)), nil},
		{"effect empty", pod(equal("a", "1", "")), node(taint("a", "1", noSchedule), taint("a", "1", noExecute)), nil},
		{"effect mismatched", pod(equal("a", "1", noExecute)), node(taint("a", "1", noSchedule)), rejected},
		{"key mismatched", pod(equal("b", "1", noSchedule)), node(taint("a", "1", noSchedule)), rejected},
		{"value mismatched", pod(equal("a", "2", noSchedule)), node(taint("a", "1", noSchedule)), rejected},
		{
			"many taints, all tolerated", pod(equal("a", "1", noSchedule), exists("b", noExecute)),
			node(taint("a", "1", noSchedule), taint("b", "2", noExecute)), nil,
		},
		{
			"many taints, one not tolerated", pod(equal("a", "1", noSchedule)),
			node(taint("a", "1", noSchedule), taint("b", "2", noSchedule)), rejected,
		},
		{
			"many tolerations, one fits", pod(equal("x", "1", noSchedule), equal("a", "2", noSchedule), equal("a", "1", noSchedule)),
			node(taint("a", "1", noSchedule)), nil,
		},
		{
			"comparison operators are off", pod(v1.Toleration{Key: "a", Operator: v1.TolerationOpGt, Value: "1", Effect: noSchedule}),
			node(taint("a", "5", noSchedule)), rejected,
		},
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

func TestFilterDoesNotAllocate(t *testing.T) {
	pl, state := &plugin{}, framework.NewCycleState()
	ctx, plain, free := t.Context(), pod(), fixture.NodeInfo(node())
	if allocs := testing.AllocsPerRun(100, func() { pl.Filter(ctx, state, plain, free) }); allocs != 0 {
		t.Errorf("a passing filter allocates %v times", allocs)
	}
}

func BenchmarkFilter(b *testing.B) {
	pl, state := &plugin{}, framework.NewCycleState()
	ctx := b.Context()
	for name, nodeInfo := range map[string]*framework.NodeInfo{
		"untainted": fixture.NodeInfo(node()),
		"tolerated": fixture.NodeInfo(node(taint("a", "1", v1.TaintEffectNoSchedule))),
		"rejected":  fixture.NodeInfo(node(taint("b", "1", v1.TaintEffectNoSchedule))),
	} {
		tolerating := pod(equal("a", "1", ""))
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				pl.Filter(ctx, state, tolerating, nodeInfo)
			}
		})
	}
}
