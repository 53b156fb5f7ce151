// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeaffinity

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func TestPreScore(t *testing.T) {
	invalid := objects.Pod("p").With(prefers(preferred(1, expr("a", "Near", "1")))).Build()
	preferNothing := &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{}}
	preferZone := &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{preferred(1, in("zone", "x"))}}
	tests := []struct {
		name  string
		pod   *v1.Pod
		added *v1.NodeAffinity
		want  fwk.Code
	}{
		{"nothing preferred: skip", objects.Pod("p").Build(), nil, fwk.Skip},
		{"only required terms: skip", requiring(term(in("a", "1"))), nil, fwk.Skip},
		{"empty list of the profile: skip", objects.Pod("p").Build(), preferNothing, fwk.Skip},
		{"empty list of the pod: no skip", objects.Pod("p").With(prefers([]v1.PreferredSchedulingTerm{}...)).Build(), nil, fwk.Success},
		{"pod prefers", objects.Pod("p").With(prefers(preferred(1, in("a", "1")))).Build(), nil, fwk.Success},
		{"profile prefers", objects.Pod("p").Build(), preferZone, fwk.Success},
		{"parse error", invalid, nil, fwk.Error},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			status := newPlugin(t, tt.added).PreScore(t.Context(), framework.NewCycleState(), tt.pod, nil)
			if status.Code() != tt.want {
				t.Errorf("got %v %q, want %v", status.Code(), status.Message(), tt.want)
			}
		})
	}
}

func TestScore(t *testing.T) {
	onePreference := objects.Pod("p").With(prefers(preferred(2, in("a", "1")))).Build()
	several := objects.Pod("p").With(prefers(
		preferred(5, in("a", "1")), preferred(3, in("b", "2")), preferred(4, in("a", "1"), in("c", "3")),
	)).Build()
	worthless := objects.Pod("p").With(prefers(
		preferred(0, in("a", "1")), v1.PreferredSchedulingTerm{Weight: 7}, preferred(1, in("b", "2")),
	)).Build()
	profile := &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{preferred(6, in("zone", "x"))}}
	nodes := []*v1.Node{
		objects.Node("n1").Label("a", "1").Build(),
		objects.Node("n2").Label("b", "2").Label("zone", "x").Build(),
		objects.Node("n3").Label("a", "1").Label("b", "2").Label("c", "3").Build(),
	}
	tests := []struct {
		name       string
		pod        *v1.Pod
		added      *v1.NodeAffinity
		raw, final []int64
	}{
		{"one preference", onePreference, nil, []int64{2, 0, 2}, []int64{100, 0, 100}},
		{"weights of matching terms add up", several, nil, []int64{5, 3, 12}, []int64{41, 25, 100}},
		{"zero weights and empty terms count nothing", worthless, nil, []int64{0, 1, 1}, []int64{0, 100, 100}},
		{"no node matches", objects.Pod("p").With(prefers(preferred(1, in("a", "9")))).Build(), nil, []int64{0, 0, 0}, []int64{0, 0, 0}},
		{"added affinity only", objects.Pod("p").Build(), profile, []int64{0, 6, 0}, []int64{0, 100, 0}},
		{"added affinity and the pod's", several, profile, []int64{5, 9, 12}, []int64{41, 75, 100}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pl, state := newPlugin(t, tt.added), framework.NewCycleState()
			score := func() (fwk.NodeScoreList, []int64) {
				var list fwk.NodeScoreList
				var raw []int64
				for _, node := range nodes {
					score, status := pl.Score(t.Context(), state, tt.pod, fixture.NodeInfo(node))
					fixture.CheckStatus(t, status, nil)
					list, raw = append(list, fwk.NodeScore{Name: node.Name, Score: score}), append(raw, score)
				}
				return list, raw
			}
			_, without := score()
			fixture.CheckStatus(t, pl.PreScore(t.Context(), state, tt.pod, nil), nil)
			list, raw := score()
			if diff := cmp.Diff(without, raw); diff != "" {
				t.Errorf("scores with and without PreScore differ:\n%s", diff)
			}
			fixture.CheckStatus(t, pl.ScoreExtensions().NormalizeScore(t.Context(), state, tt.pod, list), nil)
			final := make([]int64, len(list))
			for i := range list {
				final[i] = list[i].Score
			}
			if diff := cmp.Diff([][]int64{tt.raw, tt.final}, [][]int64{raw, final}); diff != "" {
				t.Errorf("raw and normalised scores differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestScoreParseErrorWithoutPreScore(t *testing.T) {
	invalid := objects.Pod("p").With(prefers(preferred(1, expr("a", "Near", "1")))).Build()
	_, status := newPlugin(t, nil).Score(t.Context(), framework.NewCycleState(), invalid, fixture.NodeInfo(objects.Node("n").Build()))
	if !status.IsError() {
		t.Errorf("got status %v, want Error", status.Code())
	}
}
