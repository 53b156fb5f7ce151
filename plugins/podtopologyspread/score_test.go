// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package podtopologyspread

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
)

// score runs PreScore, Score and NormalizeScore on candidates and returns the scores before and after normalising.
func score(t *testing.T, pl *plugin, pod *v1.Pod, candidates []*framework.NodeInfo) (raw, final []int64) {
	t.Helper()
	state := framework.NewCycleState()
	fixture.CheckStatus(t, pl.PreScore(t.Context(), state, pod, asLister(candidates)), nil)
	var scores fwk.NodeScoreList
	for _, info := range candidates {
		score, status := pl.Score(t.Context(), state.Clone(), pod, info)
		fixture.CheckStatus(t, status, nil)
		scores, raw = append(scores, fwk.NodeScore{Name: info.Node().Name, Score: score}), append(raw, score)
	}
	fixture.CheckStatus(t, pl.ScoreExtensions().NormalizeScore(t.Context(), state, pod, scores), nil)
	for _, score := range scores {
		final = append(final, score.Score)
	}
	return raw, final
}

type scoreTest struct {
	name       string
	pod        *v1.Pod
	nodes      []*framework.NodeInfo
	candidates []int // indices into nodes; nil for all
	raw, final []int64
}

// TestScore has numbers worked out by hand. A pod in one of n domains is counted as ln(n+2): ln 3 = 1.099, ln 4 = 1.386,
// ln 5 = 1.609, ln 6 = 1.792. Every constraint adds maxSkew-1.
func TestScore(t *testing.T) {
	three := func() []*framework.NodeInfo {
		return []*framework.NodeInfo{node("n1", "z1", "web", "web"), node("n2", "z1", "web"), node("n3", "z2")}
	}
	tainted := func() []*framework.NodeInfo {
		nodes := three()
		changed(nodes[0], tainted(v1.Taint{Key: "k", Effect: v1.TaintEffectNoSchedule}))
		return nodes
	}
	hostConstraint := func(maxSkew int32, changes ...func(*v1.TopologySpreadConstraint)) *v1.Pod {
		return web(constraintOn(maxSkew, host, soft, changes...))
	}
	zoneConstraint := func(maxSkew int32, changes ...func(*v1.TopologySpreadConstraint)) *v1.Pod {
		return web(constraintOn(maxSkew, zone, soft, changes...))
	}
	tests := []scoreTest{
		{name: "no pods: all are best", pod: hostConstraint(1), nodes: fourNodes("|||"), raw: []int64{0, 0, 0, 0}, final: []int64{100, 100, 100, 100}},
		{name: "nodes, maxSkew 1: 3.219, 1.609, 0", pod: hostConstraint(1), nodes: three(), raw: []int64{3, 2, 0}, final: []int64{0, 33, 100}},
		{name: "nodes, maxSkew 2: one more", pod: hostConstraint(2), nodes: three(), raw: []int64{4, 3, 1}, final: []int64{25, 50, 100}},
		{name: "nodes, maxSkew 3: two more", pod: hostConstraint(3), nodes: three(), raw: []int64{5, 4, 2}, final: []int64{40, 60, 100}},
		{name: "zones: 4.159, 4.159, 0", pod: zoneConstraint(1), nodes: three(), raw: []int64{4, 4, 0}, final: []int64{0, 0, 100}},
		{
			name: "zones and nodes: 4.159+3.219, 4.159+1.609, 0", pod: web(constraintOn(1, zone, soft), constraintOn(1, host, soft)),
			nodes: three(), raw: []int64{7, 6, 0}, final: []int64{0, 14, 100},
		},
		{name: "all equal", pod: zoneConstraint(1), nodes: fourNodes("web | web | web web |"), raw: []int64{3, 3, 3, 3}, final: []int64{100, 100, 100, 100}},
		{name: "maxSkew alone, no pods", pod: hostConstraint(5), nodes: fourNodes("|||"), raw: []int64{4, 4, 4, 4}, final: []int64{100, 100, 100, 100}},
		{
			name: "pods on nodes that are no candidates count in their zone", pod: zoneConstraint(1),
			nodes: three(), candidates: []int{1, 2}, raw: []int64{4, 0}, final: []int64{0, 100},
		},
		{
			name: "zones and nodes without candidates are no domains: 1.099 each", pod: zoneConstraint(1),
			nodes: three(), candidates: []int{0, 1}, raw: []int64{3, 3}, final: []int64{100, 100},
		},
		{
			name: "nodes that are no candidates are no domains: 2.773 and 1.386", pod: hostConstraint(1),
			nodes: three(), candidates: []int{0, 1}, raw: []int64{3, 1}, final: []int64{33, 100},
		},
		{name: "other pods don't count", pod: hostConstraint(1, selecting("app", "db")), nodes: three(), raw: []int64{0, 0, 0}, final: []int64{100, 100, 100}},
		{name: "empty selector counts nothing", pod: hostConstraint(1, selecting()), nodes: three(), raw: []int64{0, 0, 0}, final: []int64{100, 100, 100}},
		{name: "null selector matches nothing", pod: zoneConstraint(1, selectingNothing), nodes: three(), raw: []int64{0, 0, 0}, final: []int64{100, 100, 100}},
		{name: "soft minDomains has no effect", pod: zoneConstraint(1, minDomains(9)), nodes: three(), raw: []int64{4, 4, 0}, final: []int64{0, 0, 100}},
		{
			name: "zones: a node that is not included does not count: 1.386", pod: zoneConstraint(1, taintsPolicy(honor)),
			nodes: tainted(), raw: []int64{1, 1, 0}, final: []int64{0, 0, 100},
		},
		{
			name: "nodes: pods count on any node", pod: hostConstraint(1, taintsPolicy(honor)),
			nodes: tainted(), raw: []int64{3, 2, 0}, final: []int64{0, 33, 100},
		},
		{
			name: "zones: node affinity is honored", pod: with(zoneConstraint(1), nodeSelector(host, "n2")),
			nodes: three(), raw: []int64{1, 1, 0}, final: []int64{0, 0, 100},
		},
		{
			name: "hard constraints don't score", pod: web(constraintOn(1, zone, hard), constraintOn(1, host, soft)),
			nodes: three(), raw: []int64{3, 2, 0}, final: []int64{0, 33, 100},
		},
	}
	runScoreTests(t, nil, tests)
}

func runScoreTests(t *testing.T, args apiruntime.Object, tests []scoreTest, objects ...apiruntime.Object) {
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			candidates := tt.nodes
			if tt.candidates != nil {
				candidates = nil
				for _, i := range tt.candidates {
					candidates = append(candidates, tt.nodes[i])
				}
			}
			raw, final := score(t, newPlugin(t, args, tt.nodes, objects...), tt.pod, candidates)
			if diff := cmp.Diff([][]int64{tt.raw, tt.final}, [][]int64{raw, final}); diff != "" {
				t.Errorf("raw and normalised scores differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestScoreMissingKeys(t *testing.T) {
	noHost := nodeWith("n9", labelMap(zone, "z1"), "web", "web", "web")
	noZone := node("n8", "", "web")
	runScoreTests(t, nil, []scoreTest{
		{
			// n1 and n2 are two domains of each kind: 3*1.386 + 3*1.386 = 8.318.
			name: "a node that lacks a key gets nothing and does not count", pod: web(constraintOn(1, zone, soft), constraintOn(1, host, soft)),
			nodes: []*framework.NodeInfo{node("n1", "z1", "web", "web", "web"), noHost, node("n2", "z2")},
			raw:   []int64{8, 0, 0}, final: []int64{0, 0, 100},
		},
		{
			name: "all nodes lack the key", pod: web(constraintOn(1, "rack", soft)), nodes: fourNodes("web |||"),
			raw: []int64{0, 0, 0, 0}, final: []int64{0, 0, 0, 0},
		},
		{
			name: "the best of those that have it gets all", pod: web(constraintOn(2, zone, soft)),
			nodes: []*framework.NodeInfo{noZone, node("n1", "z1"), node("n2", "z2", "web")},
			raw:   []int64{0, 1, 2}, final: []int64{0, 100, 50},
		},
	})
}

// TestScoreSystemDefaults has the constraints of the system: nodes with maxSkew 3, zones with maxSkew 5.
func TestScoreSystemDefaults(t *testing.T) {
	ofWeb := service("s", labelMap("app", "web"))
	runScoreTests(t, nil, []scoreTest{
		{
			// Two domains of each kind: 2*1.386+2 + 2*1.386+4 = 11.545, and 2+4.
			name: "nodes and zones", pod: web(), nodes: []*framework.NodeInfo{node("n1", "z1", "web", "web"), node("n2", "z2")},
			raw: []int64{12, 6}, final: []int64{50, 100},
		},
		{
			// 2*1.386+2 = 4.773, and 2.
			name: "without zone labels only nodes count", pod: web(), nodes: []*framework.NodeInfo{node("n1", "", "web", "web"), node("n2", "")},
			raw: []int64{5, 2}, final: []int64{40, 100},
		},
		{
			// Three nodes, ln 5; zones z1 and none, ln 4. n1: 1.609+2 + 1.386+4 = 8.996; n2: 1.609+2; n3: 2 + 1.386+4 = 7.386.
			name: "some nodes without zone labels", pod: web(),
			nodes: []*framework.NodeInfo{node("n1", "z1", "web"), node("n2", "", "web"), node("n3", "z1")},
			raw:   []int64{9, 4, 7}, final: []int64{44, 100, 66},
		},
		{
			// Three nodes, ln 5; zones "" and z1, ln 4. The pods of n2 count for the zone of n1: 2 + 2*1.386+4 = 8.773;
			// n2: 2*1.609+2 = 5.219; n3: 2 + 4.
			name: "nodes without a zone label count as one zone with the empty name", pod: web(),
			nodes: []*framework.NodeInfo{nodeWith("n1", labelMap(host, "n1", zone, "")), node("n2", "", "web", "web"), node("n3", "z1")},
			raw:   []int64{9, 5, 6}, final: []int64{55, 100, 88},
		},
	}, ofWeb)
	t.Run("of the profile, nodes without a key get nothing", func(t *testing.T) {
		runScoreTests(t, list(constraintOn(1, zone, soft, selectingNothing)), []scoreTest{{
			name: "list", pod: web(), nodes: []*framework.NodeInfo{node("n1", ""), node("n2", "z1", "web"), node("n3", "z2")},
			raw: []int64{0, 1, 0}, final: []int64{0, 0, 100},
		}}, ofWeb)
	})
}

func TestPreScore(t *testing.T) {
	some := fourNodes("|||")
	tests := []struct {
		name  string
		pod   *v1.Pod
		nodes []*framework.NodeInfo
		want  fwk.Code
	}{
		{"no nodes: skip", web(constraintOn(1, zone, soft)), nil, fwk.Skip},
		{"no constraints and no owner: skip", web(), some, fwk.Skip},
		{"only hard constraints: skip", web(constraintOn(1, zone, hard)), some, fwk.Skip},
		{"a soft constraint", web(constraintOn(1, zone, soft)), some, fwk.Success},
		{"a selector that does not parse", web(constraintOn(1, zone, soft, selectingInvalid)), some, fwk.Error},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			status := newPlugin(t, nil, tt.nodes).PreScore(t.Context(), framework.NewCycleState(), tt.pod, asLister(tt.nodes))
			if status.Code() != tt.want {
				t.Errorf("got %v %q, want %v", status.Code(), status.Message(), tt.want)
			}
		})
	}
	t.Run("canceled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		status := newPlugin(t, nil, some).PreScore(ctx, framework.NewCycleState(), web(constraintOn(1, zone, soft)), asLister(some))
		if !status.IsError() {
			t.Errorf("got %v, want Error", status.Code())
		}
	})
	t.Run("snapshot fails", func(t *testing.T) {
		handle := &fixture.Handle{Nodes: fixture.Nodes{Err: errors.New("broken")}, Informers: fixture.Informers(t)}
		built, err := New(t.Context(), nil, handle)
		if err != nil {
			t.Fatal(err)
		}
		status := built.(fwk.PreScorePlugin).PreScore(t.Context(), framework.NewCycleState(), web(constraintOn(1, zone, soft)), nil)
		if !status.IsError() {
			t.Errorf("got %v, want Error", status.Code())
		}
	})
}

func TestScoreStateMissing(t *testing.T) {
	pl, state, pod := newPlugin(t, nil, nil), framework.NewCycleState(), web(constraintOn(1, zone, soft))
	if _, status := pl.Score(t.Context(), state, pod, node("n1", "z1")); !status.IsError() {
		t.Errorf("Score: got %v, want Error", status.Code())
	}
	if status := pl.NormalizeScore(t.Context(), state, pod, nil); !status.IsError() {
		t.Errorf("NormalizeScore: got %v, want Error", status.Code())
	}
}
