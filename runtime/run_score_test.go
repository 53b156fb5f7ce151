// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/sets"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/runtime"
)

func TestRunPreScorePlugins(t *testing.T) {
	skipping := func(name string) *fake { return returning(name, runtime.MethodPreScore, fwk.Skip) }
	tests := map[string]struct {
		plugins []*fake
		skipped []string
		want    result
		calls   int
	}{
		"no plugins":  {},
		"all succeed": {plugins: []*fake{{name: "A"}, {name: "B"}}, calls: 2},
		"one skips":   {plugins: []*fake{{name: "A"}, skipping("B")}, skipped: []string{"B"}, calls: 2},
		"all skip":    {plugins: []*fake{skipping("A"), skipping("B")}, skipped: []string{"A", "B"}, calls: 2},
		"error stops": {
			plugins: []*fake{skipping("A"), returning("B", runtime.MethodPreScore, fwk.Error, "broken"), skipping("C")},
			skipped: []string{"A"},
			want:    result{fwk.Error, `running PreScore plugin "B": broken`, "B"}, calls: 2,
		},
		"rejection is an error": {
			plugins: []*fake{returning("A", runtime.MethodPreScore, fwk.Unschedulable, "no")},
			want:    result{fwk.Error, `running PreScore plugin "A": no`, "A"}, calls: 1,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var calls journal
			plugins, names := fakes(&calls, test.plugins)
			f := build(t, runtime.Options{}, func(p *configv1.Plugins) { p.PreScore = enabled(names...) }, plugins...)
			state := newState()
			status := f.RunPreScorePlugins(t.Context(), state, objects.Pod("p").Build(), newNodes("n1"))
			if diff := cmp.Diff(test.want, resultOf(status)); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.skipped, sets.List(state.GetSkipScorePlugins()), emptyIsNil()); diff != "" {
				t.Errorf("skipped at Score (-want +got):\n%s", diff)
			}
			if got := len(calls.list()); got != test.calls {
				t.Errorf("%d plugins were called, want %d", got, test.calls)
			}
		})
	}
}

// scorer is a fake that scores the nodes n1 and n2.
func scorer(name string, n1, n2 int64) *fake {
	return &fake{name: name, score: func(node string) int64 {
		if node == "n1" {
			return n1
		}
		return n2
	}}
}

func normalizing(plugin *fake, normalize func(fwk.NodeScoreList)) *fake {
	plugin.normalize = normalize
	return plugin
}

func addTen(scores fwk.NodeScoreList) {
	for i := range scores {
		scores[i].Score += 10
	}
}

// cell is the score of a plugin.
type cell struct {
	plugin string
	score  int64
}

type scores []cell

func (s scores) pluginScores() []fwk.PluginScore {
	converted := make([]fwk.PluginScore, 0, len(s))
	for _, c := range s {
		converted = append(converted, fwk.PluginScore{Name: c.plugin, Score: c.score})
	}
	return converted
}

// row is the scores of a node.
func row(node string, total int64, raw, final scores) fwk.NodePluginScores {
	return fwk.NodePluginScores{Name: node, RawScores: raw.pluginScores(), Scores: final.pluginScores(), TotalScore: total}
}

type scoreTest struct {
	plugins    []*fake
	weights    map[string]int32
	multiPoint []string
	skipped    []string
	want       []fwk.NodePluginScores
	wantStatus result
}

func scoreTests() map[string]scoreTest {
	outOfRange := func(name, score string) result {
		return result{fwk.Error, "applying score defaultWeights on Score plugins: plugin \"" + name +
			"\" returns an invalid score " + score + ", it should in the range of [0, 100] after normalizing", name}
	}
	return map[string]scoreTest{
		"no plugins": {
			want: []fwk.NodePluginScores{row("n1", 0, scores{}, scores{}), row("n2", 0, scores{}, scores{})},
		},
		"without normalising": {
			plugins: []*fake{scorer("A", 1, 2)},
			want: []fwk.NodePluginScores{
				row("n1", 1, scores{{"A", 1}}, scores{{"A", 1}}),
				row("n2", 2, scores{{"A", 2}}, scores{{"A", 2}}),
			},
		},
		"weights and normalising": {
			plugins: []*fake{scorer("A", 1, 2), normalizing(scorer("B", 5, 6), addTen)},
			weights: map[string]int32{"A": 3, "B": 2},
			want: []fwk.NodePluginScores{
				row("n1", 33, scores{{"A", 1}, {"B", 5}}, scores{{"A", 3}, {"B", 30}}),
				row("n2", 38, scores{{"A", 2}, {"B", 6}}, scores{{"A", 6}, {"B", 32}}),
			},
		},
		"MultiPoint": {
			plugins:    []*fake{scorer("A", 1, 2), scorer("B", 3, 4)},
			multiPoint: []string{"B"},
			want: []fwk.NodePluginScores{
				row("n1", 4, scores{{"B", 3}, {"A", 1}}, scores{{"B", 3}, {"A", 1}}),
				row("n2", 6, scores{{"B", 4}, {"A", 2}}, scores{{"B", 4}, {"A", 2}}),
			},
		},
		"one skipped": {
			plugins: []*fake{scorer("A", 1, 2), scorer("B", 3, 4)}, skipped: []string{"A"},
			want: []fwk.NodePluginScores{
				row("n1", 3, scores{{"B", 3}}, scores{{"B", 3}}),
				row("n2", 4, scores{{"B", 4}}, scores{{"B", 4}}),
			},
		},
		"more skipped than there are": {
			plugins: []*fake{scorer("A", 1, 2)}, skipped: []string{"A", "B", "C"},
			want: []fwk.NodePluginScores{row("n1", 0, scores{}, scores{}), row("n2", 0, scores{}, scores{})},
		},
		"score fails": {
			plugins:    []*fake{scorer("A", 1, 2), returning("B", runtime.MethodScore, fwk.Error, "broken")},
			wantStatus: result{fwk.Error, `running Score plugins: plugin "B" failed with: broken`, "B"},
		},
		"score rejects": {
			plugins:    []*fake{returning("A", runtime.MethodScore, fwk.Unschedulable, "no")},
			wantStatus: result{fwk.Error, `running Score plugins: plugin "A" failed with: no`, "A"},
		},
		"normalise fails": {
			plugins:    []*fake{returning("A", runtime.MethodNormalizeScore, fwk.Error, "broken")},
			wantStatus: result{fwk.Error, `running Normalize on Score plugins: plugin "A" failed with: broken`, "A"},
		},
		"too high":                   {plugins: []*fake{scorer("A", 101, 0)}, wantStatus: outOfRange("A", "101")},
		"too low":                    {plugins: []*fake{scorer("A", 0, -1)}, wantStatus: outOfRange("A", "-1")},
		"too high after normalising": {plugins: []*fake{normalizing(scorer("A", 95, 0), addTen)}, wantStatus: outOfRange("A", "105")},
		"too low after normalising": {
			plugins: []*fake{normalizing(scorer("A", 5, 0), func(scores fwk.NodeScoreList) {
				for i := range scores {
					scores[i].Score = -scores[i].Score
				}
			})},
			wantStatus: outOfRange("A", "-5"),
		},
		"out of range before normalising is fine": {
			plugins: []*fake{normalizing(scorer("A", 1000, -7), func(scores fwk.NodeScoreList) {
				for i := range scores {
					scores[i].Score = 50
				}
			})},
			want: []fwk.NodePluginScores{
				row("n1", 50, scores{{"A", 1000}}, scores{{"A", 50}}),
				row("n2", 50, scores{{"A", -7}}, scores{{"A", 50}}),
			},
		},
	}
}

func TestRunScorePlugins(t *testing.T) {
	for name, test := range scoreTests() {
		for _, parallelism := range []int{1, 4} {
			t.Run(name, func(t *testing.T) {
				plugins, names := fakes(nil, test.plugins)
				f := build(t, runtime.Options{Parallelism: parallelism}, func(p *configv1.Plugins) {
					p.MultiPoint = enabled(test.multiPoint...)
					for _, point := range []*configv1.PluginSet{&p.QueueSort, &p.Bind} {
						point.Disabled = []configv1.Plugin{{Name: "*"}}
					}
					for _, name := range names {
						if !sets.New(test.multiPoint...).Has(name) {
							p.Score.Enabled = append(p.Score.Enabled, weighted(name, test.weights[name]))
						}
					}
				}, plugins...)
				state := newState()
				state.SetSkipScorePlugins(sets.New(test.skipped...))
				got, status := f.RunScorePlugins(t.Context(), state, objects.Pod("p").Build(), newNodes("n1", "n2"))
				if diff := cmp.Diff(test.wantStatus, resultOf(status)); diff != "" {
					t.Errorf("status (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("scores (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestScoringEndsWithItsContext(t *testing.T) {
	f := build(t, runtime.Options{}, func(p *configv1.Plugins) { p.Score = enabled("A") }, scorer("A", 1, 2))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, status := f.RunScorePlugins(ctx, newState(), objects.Pod("p").Build(), newNodes("n1", "n2"))
	want := result{Code: fwk.Error, Message: "running Score plugins: context canceled"}
	if diff := cmp.Diff(want, resultOf(status)); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

func TestScoreDoesNotAllocatePerNode(t *testing.T) {
	f := build(t, runtime.Options{Parallelism: 1}, func(p *configv1.Plugins) { p.Score = enabled("A", "B") },
		scoreOnly{"A", 1}, scoreOnly{"B", 2})
	allocs := func(nodes []fwk.NodeInfo) float64 {
		ctx, state, pod := t.Context(), newState(), objects.Pod("p").Build()
		return testing.AllocsPerRun(20, func() {
			if _, status := f.RunScorePlugins(ctx, state, pod, nodes); status != nil {
				t.Error(status)
			}
		})
	}
	few, many := allocs(newNodes("n1")), allocs(newNodes(make([]string, 200)...))
	if many != few {
		t.Errorf("scoring 1 node allocates %v times and 200 nodes %v times, want the same", few, many)
	}
}
