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
)

func TestPreScore(t *testing.T) {
	invalid := fixture.Pod("p", prefers(preferred(1, expr("a", "Near", "1"))))
	preferNothing := &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{}}
	preferZone := &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{preferred(1, in("zone", "x"))}}
	tests := []struct {
		name  string
		pod   *v1.Pod
		added *v1.NodeAffinity
		want  fwk.Code
	}{
		{"nothing preferred: skip", fixture.Pod("p"), nil, fwk.Skip},
		{"only required terms: skip", requiring(term(in("a", "1"))), nil, fwk.Skip},
		{"empty list of the profile: skip", fixture.Pod("p"), preferNothing, fwk.Skip},
		{"empty list of the pod: no skip", fixture.Pod("p", prefers([]v1.PreferredSchedulingTerm{}...)), nil, fwk.Success},
		{"pod prefers", fixture.Pod("p", prefers(preferred(1, in("a", "1")))), nil, fwk.Success},
		{"profile prefers", fixture.Pod("p"), preferZone, fwk.Success},
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
	onePreference := fixture.Pod("p", prefers(preferred(2, in("a", "1"))))
	several := fixture.Pod("p", prefers(
		preferred(5, in("a", "1")), preferred(3, in("b", "2")), preferred(4, in("a", "1"), in("c", "3")),
	))
	worthless := fixture.Pod("p", prefers(
		preferred(0, in("a", "1")), v1.PreferredSchedulingTerm{Weight: 7}, preferred(1, in("b", "2")),
	))
	profile := &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{preferred(6, in("zone", "x"))}}
	nodes := []*v1.Node{
		fixture.Node("n1", fixture.NodeLabels(labels("a", "1"))),
		fixture.Node("n2", fixture.NodeLabels(labels("b", "2", "zone", "x"))),
		fixture.Node("n3", fixture.NodeLabels(labels("a", "1", "b", "2", "c", "3"))),
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
		{"no node matches", fixture.Pod("p", prefers(preferred(1, in("a", "9")))), nil, []int64{0, 0, 0}, []int64{0, 0, 0}},
		{"added affinity only", fixture.Pod("p"), profile, []int64{0, 6, 0}, []int64{0, 100, 0}},
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
	invalid := fixture.Pod("p", prefers(preferred(1, expr("a", "Near", "1"))))
	_, status := newPlugin(t, nil).Score(t.Context(), framework.NewCycleState(), invalid, fixture.NodeInfo(fixture.Node("n")))
	if !status.IsError() {
		t.Errorf("got status %v, want Error", status.Code())
	}
}
