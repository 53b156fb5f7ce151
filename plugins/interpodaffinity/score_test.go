// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package interpodaffinity

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// regions are n1 and n2 in two zones of one region, and n3 in another, each with pods.
func regions(on1, on2, on3 []*v1.Pod) []*framework.NodeInfo {
	return []*framework.NodeInfo{
		node("n1", "region=r1 zone=z1", on1...), node("n2", "region=r1 zone=z2", on2...), node("n3", "region=r2 zone=z3", on3...),
	}
}

func pods(pods ...*v1.Pod) []*v1.Pod { return pods }

func normalise(t *testing.T, pl *plugin, state fwk.CycleState, raw []int64) []int64 {
	t.Helper()
	var scores fwk.NodeScoreList
	for _, score := range raw {
		scores = append(scores, fwk.NodeScore{Score: score})
	}
	fixture.CheckStatus(t, pl.ScoreExtensions().NormalizeScore(t.Context(), state, nil, scores), nil)
	var final []int64
	for _, score := range scores {
		final = append(final, score.Score)
	}
	return final
}

type scoreTest struct {
	name       string
	args       apiruntime.Object
	pod        *v1.Pod
	nodes      []*framework.NodeInfo
	raw, final []int64 // nil if PreScore skips
}

func runScoreTests(t *testing.T, tests []scoreTest) {
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pl, state := newPlugin(t, tt.args, tt.nodes, namespaces()...), framework.NewCycleState()
			status := pl.PreScore(t.Context(), state, tt.pod, asLister(tt.nodes))
			if tt.raw == nil {
				fixture.CheckStatus(t, status, fwk.NewStatus(fwk.Skip))
				return
			}
			fixture.CheckStatus(t, status, nil)
			var raw []int64
			for _, info := range tt.nodes {
				score, status := pl.Score(t.Context(), state.Clone(), tt.pod, info)
				fixture.CheckStatus(t, status, nil)
				raw = append(raw, score)
			}
			if diff := cmp.Diff([][]int64{tt.raw, tt.final}, [][]int64{raw, normalise(t, pl, state, raw)}); diff != "" {
				t.Errorf("raw and normalised scores differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestScoreOwnPreferences(t *testing.T) {
	db := func() *v1.Pod { return objects.Pod("e").Label("app", "db").Build() }
	const exists = "Exists"
	runScoreTests(t, []scoreTest{
		{name: "no preferences anywhere: skip", pod: objects.Pod("p").Label("app", "web").Build(), nodes: regions(pods(db()), nil, nil)},
		{name: "required affinity does not score: skip", pod: objects.Pod("p").Label("app", "web").With(to(term("zone", "db"))).With(from(term("zone", "x"))).Build(), nodes: regions(pods(db()), nil, nil)},
		{name: "no pod to prefer: skip", pod: objects.Pod("p").Label("app", "web").With(rather(weighted(5, term("zone", "cache")))).Build(), nodes: regions(pods(db()), nil, nil)},
		{
			name: "affinity in regions", pod: objects.Pod("p").Label("app", "web").With(rather(weighted(5, term("region", "db")))).Build(),
			nodes: regions(pods(db()), nil, nil), raw: []int64{5, 5, 0}, final: []int64{100, 100, 0},
		},
		{
			name: "affinity in zones", pod: objects.Pod("p").Label("app", "web").With(rather(weighted(5, term("zone", "db")))).Build(),
			nodes: regions(pods(db()), nil, nil), raw: []int64{5, 0, 0}, final: []int64{100, 0, 0},
		},
		{
			name: "anti-affinity in zones", pod: objects.Pod("p").Label("app", "web").With(rarely(weighted(5, term("zone", "db")))).Build(),
			nodes: regions(pods(db()), nil, nil), raw: []int64{-5, 0, 0}, final: []int64{0, 100, 100},
		},
		{
			name:  "affinity in regions, anti-affinity in zones",
			pod:   objects.Pod("p").Label("app", "web").With(rather(weighted(8, term("region", "db")))).With(rarely(weighted(3, term("zone", "db")))).Build(),
			nodes: regions(pods(db()), nil, nil), raw: []int64{5, 8, 0}, final: []int64{62, 100, 0},
		},
		{
			name: "every pod counts", pod: objects.Pod("p").Label("app", "web").With(rather(weighted(5, term("zone", "db")))).Build(),
			nodes: regions(pods(db(), db()), nil, pods(db())), raw: []int64{10, 0, 5}, final: []int64{100, 0, 50},
		},
		{
			name: "every term counts", pod: objects.Pod("p").Label("app", "web").With(rather(weighted(5, term("zone", "db")), weighted(2, term("zone", "", matching("app", exists))))).Build(),
			nodes: regions(pods(db(), objects.Pod("f").Label("app", "cache").Build()), nil, nil), raw: []int64{9, 0, 0}, final: []int64{100, 0, 0},
		},
		{
			name: "all equal: all get nothing", pod: objects.Pod("p").Label("app", "web").With(rather(weighted(5, term("zone", "db")))).Build(),
			nodes: regions(pods(db()), pods(db()), pods(db())), raw: []int64{5, 5, 5}, final: []int64{0, 0, 0},
		},
		{
			name:  "preferences that cancel each other don't skip",
			pod:   objects.Pod("p").Label("app", "web").With(rather(weighted(5, term("zone", "db")))).With(rarely(weighted(5, term("zone", "db")))).Build(),
			nodes: regions(pods(db()), nil, nil), raw: []int64{0, 0, 0}, final: []int64{0, 0, 0},
		},
		{
			name:  "namespaces",
			pod:   objects.Pod("p").Label("app", "web").With(rather(weighted(5, term("zone", "db")), weighted(7, term("zone", "db", of("a1"))), weighted(11, term("zone", "db", ofTeam("b"))))).Build(),
			nodes: regions(pods(db()), pods(objects.Pod("f").Label("app", "db").With(inNamespace("a1")).Build()), pods(objects.Pod("g").Label("app", "db").With(inNamespace("b1")).Build())),
			raw:   []int64{5, 7, 11}, final: []int64{0, 33, 100},
		},
		{
			name: "all namespaces", pod: objects.Pod("p").Label("app", "web").With(rather(weighted(5, term("zone", "db", ofAll)))).Build(),
			nodes: regions(pods(db()), pods(objects.Pod("f").Label("app", "db").With(inNamespace("a1")).Build()), nil), raw: []int64{5, 5, 0}, final: []int64{100, 100, 0},
		},
	})
}

func TestScorePartialTopologies(t *testing.T) {
	prefers := objects.Pod("p").Label("app", "web").With(rather(weighted(5, term("region", "db")), weighted(1, term("zone", "db")))).Build()
	runScoreTests(t, []scoreTest{
		{
			name: "a node without one of the keys", pod: prefers,
			nodes: []*framework.NodeInfo{node("n1", "region=r1 zone=z1", objects.Pod("e").Label("app", "db").Build()), node("n2", "region=r1"), node("n3", "zone=z1")},
			raw:   []int64{6, 5, 1}, final: []int64{100, 80, 0},
		},
		{
			name: "the pod is on a node without one of the keys", pod: prefers,
			nodes: []*framework.NodeInfo{node("n1", "region=r1", objects.Pod("e").Label("app", "db").Build()), node("n2", "region=r1 zone=z1"), node("n3", "zone=z1")},
			raw:   []int64{5, 5, 0}, final: []int64{100, 100, 0},
		},
		{
			name: "a node without labels", pod: prefers,
			nodes: []*framework.NodeInfo{node("n1", "region=r1", objects.Pod("e").Label("app", "db").Build()), node("n2", "")},
			raw:   []int64{5, 0}, final: []int64{100, 0},
		},
		{name: "the pod is on a node without labels: skip", pod: prefers, nodes: []*framework.NodeInfo{node("n1", "", objects.Pod("e").Label("app", "db").Build()), node("n2", "region=r1")}},
		{name: "the pod is on a node without the keys: skip", pod: prefers, nodes: []*framework.NodeInfo{node("n1", "host=n1", objects.Pod("e").Label("app", "db").Build()), node("n2", "region=r1")}},
	})
}

// TestScoreSymmetry has preferences of pods on nodes.
func TestScoreSymmetry(t *testing.T) {
	likes, dislikes := rather(weighted(4, term("zone", "web"))), rarely(weighted(4, term("zone", "web")))
	needs := to(term("zone", "web"))
	ignoring := &configv1.InterPodAffinityArgs{HardPodAffinityWeight: ptr.To[int32](1), IgnorePreferredTermsOfExistingPods: true}
	runScoreTests(t, []scoreTest{
		{name: "preferred affinity", pod: objects.Pod("p").Label("app", "web").Build(), nodes: regions(pods(objects.Pod("e").Label("app", "db").With(likes).Build()), nil, nil), raw: []int64{4, 0, 0}, final: []int64{100, 0, 0}},
		{name: "preferred anti-affinity", pod: objects.Pod("p").Label("app", "web").Build(), nodes: regions(pods(objects.Pod("e").Label("app", "db").With(dislikes).Build()), nil, nil), raw: []int64{-4, 0, 0}, final: []int64{0, 100, 100}},
		{name: "about other pods: skip", pod: objects.Pod("p").Label("app", "cache").Build(), nodes: regions(pods(objects.Pod("e").Label("app", "db").With(likes).Build()), nil, nil)},
		{name: "required affinity, weight by default", pod: objects.Pod("p").Label("app", "web").Build(), nodes: regions(pods(objects.Pod("e").Label("app", "db").With(needs).Build()), nil, nil), raw: []int64{1, 0, 0}, final: []int64{100, 0, 0}},
		{name: "required affinity, weight 0: skip", args: weighing(0), pod: objects.Pod("p").Label("app", "web").Build(), nodes: regions(pods(objects.Pod("e").Label("app", "db").With(needs).Build()), nil, nil)},
		{name: "required affinity, weight 50", args: weighing(50), pod: objects.Pod("p").Label("app", "web").Build(), nodes: regions(pods(objects.Pod("e").Label("app", "db").With(needs).Build()), nil, nil), raw: []int64{50, 0, 0}, final: []int64{100, 0, 0}},
		{name: "required anti-affinity does not score: skip", pod: objects.Pod("p").Label("app", "web").Build(), nodes: regions(pods(objects.Pod("e").Label("app", "db").With(from(term("zone", "web"))).Build()), nil, nil)},
		{
			name: "everything together", args: weighing(10), pod: objects.Pod("p").Label("app", "web").With(rather(weighted(3, term("zone", "db")))).Build(),
			nodes: regions(pods(objects.Pod("e").Label("app", "db").With(likes).With(needs).Build()), pods(objects.Pod("f").Label("app", "db").With(dislikes).Build()), pods(objects.Pod("g").Label("app", "x").With(likes).Build())),
			raw:   []int64{17, -1, 4}, final: []int64{100, 0, 27},
		},
		{name: "namespaces: unmatched: skip", pod: objects.Pod("p").Label("app", "web").With(inNamespace("a1")).Build(), nodes: regions(pods(objects.Pod("e").Label("app", "db").With(likes).Build()), nil, nil)},
		{
			name: "namespaces: selected", pod: objects.Pod("p").Label("app", "web").With(inNamespace("a1")).Build(),
			nodes: regions(pods(objects.Pod("e").Label("app", "db").With(rather(weighted(4, term("zone", "web", ofTeam("a"))))).Build()), pods(objects.Pod("f").Label("app", "db").With(rather(weighted(4, term("zone", "web", ofTeam("b"))))).Build()), nil),
			raw:   []int64{4, 0, 0}, final: []int64{100, 0, 0},
		},
		{
			name: "namespaces: selected by a required term", pod: objects.Pod("p").Label("app", "web").With(inNamespace("a1")).Build(),
			nodes: regions(nil, pods(objects.Pod("e").Label("app", "db").With(to(term("zone", "web", ofTeam("a")))).Build()), nil), raw: []int64{0, 1, 0}, final: []int64{0, 100, 0},
		},
		{name: "ignored for a pod without preferences: skip", args: ignoring, pod: objects.Pod("p").Label("app", "web").Build(), nodes: regions(pods(objects.Pod("e").Label("app", "db").With(likes).With(needs).Build()), nil, nil)},
		{
			name: "not ignored for a pod with preferences", args: ignoring, pod: objects.Pod("p").Label("app", "web").With(rather(weighted(3, term("zone", "db")))).Build(),
			nodes: regions(pods(objects.Pod("e").Label("app", "db").With(likes).Build()), nil, nil), raw: []int64{7, 0, 0}, final: []int64{100, 0, 0},
		},
	})
}

func TestNormalizeScore(t *testing.T) {
	tests := []struct {
		name      string
		raw, want []int64
	}{
		{"none", nil, nil},
		{"one node", []int64{7}, []int64{0}},
		{"all equal and negative", []int64{-3, -3}, []int64{0, 0}},
		{"all positive: the worst gets nothing", []int64{10, 20, 30}, []int64{0, 50, 100}},
		{"all negative", []int64{-10, -20, -30}, []int64{100, 50, 0}},
		{"fractions are cut off", []int64{0, 1, 2, 3}, []int64{0, 33, 66, 100}},
		{"29 of 100 is 28.999...", []int64{0, 29, 100}, []int64{0, 28, 100}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, normalise(t, newPlugin(t, nil, nil), framework.NewCycleState(), tt.raw)); diff != "" {
				t.Errorf("scores differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPreScoreFailures(t *testing.T) {
	some := regions(pods(objects.Pod("e").Label("app", "db").Build()), nil, nil)
	prefers := objects.Pod("p").Label("app", "web").With(rather(weighted(5, term("zone", "db")))).Build()
	for name, invalid := range map[string]*v1.Pod{
		"preferred affinity":      objects.Pod("p").Label("app", "web").With(rather(weighted(5, term("zone", "db", badSelector)))).Build(),
		"preferred anti-affinity": objects.Pod("p").Label("app", "web").With(rarely(weighted(5, term("zone", "db", badSelector)))).Build(),
		"required affinity":       objects.Pod("p").Label("app", "web").With(to(term("zone", "db", badSelector))).Build(),
	} {
		t.Run("parse error: "+name, func(t *testing.T) {
			if status := newPlugin(t, nil, some).PreScore(t.Context(), framework.NewCycleState(), invalid, nil); !status.IsError() {
				t.Errorf("got %v, want Error", status.Code())
			}
		})
	}
	t.Run("canceled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if status := newPlugin(t, nil, some).PreScore(ctx, framework.NewCycleState(), prefers, nil); !status.IsError() {
			t.Errorf("got %v, want Error", status.Code())
		}
	})
	t.Run("snapshot fails", func(t *testing.T) {
		handle := &fixture.Handle{Nodes: fixture.Nodes{Err: errors.New("broken")}, Informers: fixture.Informers(t)}
		built, err := New(t.Context(), nil, handle)
		if err != nil {
			t.Fatal(err)
		}
		for _, pod := range []*v1.Pod{prefers, objects.Pod("p").Label("app", "web").Build()} {
			if status := built.(fwk.PreScorePlugin).PreScore(t.Context(), framework.NewCycleState(), pod, nil); !status.IsError() {
				t.Errorf("got %v, want Error", status.Code())
			}
		}
	})
	t.Run("state missing", func(t *testing.T) {
		if _, status := newPlugin(t, nil, nil).Score(t.Context(), framework.NewCycleState(), prefers, some[0]); !status.IsError() {
			t.Errorf("got %v, want Error", status.Code())
		}
	})
}
