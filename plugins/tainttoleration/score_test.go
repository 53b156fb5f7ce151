// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package tainttoleration

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
)

func TestScore(t *testing.T) {
	const prefer = v1.TaintEffectPreferNoSchedule
	soft := func(keys ...string) *v1.Node {
		var taints []v1.Taint
		for _, key := range keys {
			taints = append(taints, taint(key, "1", prefer))
		}
		return node(taints...)
	}
	tests := []struct {
		name       string
		pod        *v1.Pod
		nodes      []*v1.Node
		raw, final []int64
	}{
		{
			name: "the node whose taints are tolerated wins", pod: pod(equal("a", "1", prefer)),
			nodes: []*v1.Node{soft("a"), soft("b")}, raw: []int64{0, 1}, final: []int64{100, 0},
		},
		{
			name: "all tolerated: equal", pod: pod(equal("a", "1", prefer), equal("b", "1", prefer)),
			nodes: []*v1.Node{soft(), soft("a"), soft("a", "b")}, raw: []int64{0, 0, 0}, final: []int64{100, 100, 100},
		},
		{
			name: "fewer untolerated taints win", pod: pod(equal("a", "1", prefer)),
			nodes: []*v1.Node{soft(), soft("a", "b"), soft("b", "c", "d")}, raw: []int64{0, 1, 3}, final: []int64{100, 67, 0},
		},
		{
			name: "only PreferNoSchedule counts", pod: pod(),
			nodes: []*v1.Node{node(taint("a", "1", v1.TaintEffectNoSchedule), taint("b", "1", v1.TaintEffectNoExecute)), soft("a")},
			raw:   []int64{0, 1}, final: []int64{100, 0},
		},
		{
			name: "tolerations of other effects don't count", pod: pod(equal("a", "1", v1.TaintEffectNoSchedule)),
			nodes: []*v1.Node{soft(), soft("a")}, raw: []int64{0, 1}, final: []int64{100, 0},
		},
		{
			name: "a toleration without effect counts", pod: pod(exists("a", "")),
			nodes: []*v1.Node{soft("a"), soft("b")}, raw: []int64{0, 1}, final: []int64{100, 0},
		},
		{
			name: "comparison operators are off", pod: pod(v1.Toleration{Key: "a", Operator: v1.TolerationOpLt, Value: "9", Effect: prefer}),
			nodes: []*v1.Node{soft("a")}, raw: []int64{1}, final: []int64{0},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pl, state := &plugin{}, framework.NewCycleState()
			fixture.CheckStatus(t, pl.PreScore(t.Context(), state, tt.pod, nil), nil)
			var scores fwk.NodeScoreList
			var raw, final []int64
			for _, node := range tt.nodes {
				score, status := pl.Score(t.Context(), state, tt.pod, fixture.NodeInfo(node))
				fixture.CheckStatus(t, status, nil)
				raw = append(raw, score)
				scores = append(scores, fwk.NodeScore{Name: node.Name, Score: score})
			}
			fixture.CheckStatus(t, pl.ScoreExtensions().NormalizeScore(t.Context(), state, tt.pod, scores), nil)
			for _, score := range scores {
				final = append(final, score.Score)
			}
			if diff := cmp.Diff(tt.raw, raw); diff != "" {
				t.Errorf("raw scores differ (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.final, final); diff != "" {
				t.Errorf("normalised scores differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestScoreWithoutPreScore(t *testing.T) {
	_, status := (&plugin{}).Score(t.Context(), framework.NewCycleState(), pod(), fixture.NodeInfo(node()))
	if !status.IsError() {
		t.Errorf("got status %v, want Error", status.Code())
	}
}
