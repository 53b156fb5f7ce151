// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"fmt"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
)

// RunPreScorePlugins implements fwk.PluginsRunner: it shows the PreScore plugins the nodes that may take the pod. A
// plugin that returns Skip is skipped at Score; any other status than Success is an Error.
func (f *Framework) RunPreScorePlugins(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) (status *fwk.Status) {
	calls := f.startExtensionPoint(ctx, MethodPreScore, state, pod)
	defer calls.end(&status)
	skipped := sets.New[string]()
	defer func() { state.SetSkipScorePlugins(skipped) }()
	for i := range f.preScore {
		plugin := &f.preScore[i]
		status := plugin.plugin.PreScore(calls.enter(ctx, &plugin.identity), state, pod, nodes)
		calls.leave(status)
		if status.IsSkip() {
			skipped.Insert(plugin.name)
			continue
		}
		plugin.countEvaluation()
		if !status.IsSuccess() {
			return failed(fmt.Sprintf("running PreScore plugin %q", plugin.name), plugin.name, status)
		}
	}
	return nil
}

// RunScorePlugins implements fwk.PluginsRunner: it scores nodes with the Score plugins that PreScore did not skip. The
// result has a row for each node, in the order of the nodes, and in it a score for each plugin as it came (RawScores),
// normalised and weighted (Scores), and the sum of the latter. Any failure fails the pod.
func (f *Framework) RunScorePlugins(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) (_ []fwk.NodePluginScores, status *fwk.Status) {
	calls := f.startExtensionPoint(ctx, MethodScore, state, pod)
	defer calls.end(&status)
	sheet := newScoreSheet(f.activeScorers(state), len(nodes))
	for i, node := range nodes {
		sheet.rows[i].Name = node.Node().Name
	}
	failure := f.forEach(ctx, len(nodes), func(ctx context.Context, i int) *fwk.Status {
		return f.scoreNode(ctx, state, pod, nodes[i], sheet.scorers, sheet.rows[i].RawScores)
	})
	if failure != nil {
		return nil, failedWith("running Score plugins", failure.Plugin(), failure.AsError())
	}
	if status := f.weighScores(ctx, state, pod, sheet); status != nil {
		return nil, status
	}
	return sheet.rows, nil
}

// activeScorers returns the Score plugins without those that are skipped.
func (f *Framework) activeScorers(state fwk.CycleState) stage[fwk.ScorePlugin] {
	skipped := state.GetSkipScorePlugins()
	if len(skipped) == 0 {
		return f.score
	}
	active := make(stage[fwk.ScorePlugin], 0, len(f.score))
	for _, plugin := range f.score {
		if !skipped.Has(plugin.name) {
			active = append(active, plugin)
		}
	}
	return active
}

// scoreSheet is the scores of one pod: a row for each node, a column for each plugin. The scores lie in flat arrays
// that the rows are windows into.
type scoreSheet struct {
	scorers stage[fwk.ScorePlugin]
	rows    []fwk.NodePluginScores
}

// newScoreSheet returns a sheet of zeroes with the names of the plugins.
func newScoreSheet(scorers stage[fwk.ScorePlugin], nodes int) *scoreSheet {
	width := len(scorers)
	sheet := &scoreSheet{scorers: scorers, rows: make([]fwk.NodePluginScores, nodes)}
	cells := make([]fwk.PluginScore, 2*nodes*width)
	for i := range cells {
		cells[i].Name = scorers[i%width].name
	}
	for i := range sheet.rows {
		row := cells[2*i*width : 2*(i+1)*width]
		sheet.rows[i].RawScores = row[:width:width]
		sheet.rows[i].Scores = row[width:]
	}
	return sheet
}

// scoreNode asks plugins about one node and puts what each says into raw.
func (f *Framework) scoreNode(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo, scorers stage[fwk.ScorePlugin], raw []fwk.PluginScore) (status *fwk.Status) {
	calls := f.startCalls(ctx, MethodScore, state, pod)
	defer calls.end(&status)
	for i := range scorers {
		plugin := &scorers[i]
		plugin.countEvaluation()
		score, status := plugin.plugin.Score(calls.enter(ctx, &plugin.identity), state, pod, node)
		calls.leave(status)
		if !status.IsSuccess() {
			return failed(fmt.Sprintf("plugin %q failed with", plugin.name), plugin.name, status)
		}
		raw[i].Score = score
	}
	return nil
}

// weighScores fills in the final scores of a sheet from its raw ones: normalised by each plugin over all nodes, checked,
// and multiplied by the plugin's weight.
func (f *Framework) weighScores(ctx context.Context, state fwk.CycleState, pod *v1.Pod, sheet *scoreSheet) *fwk.Status {
	nodes := len(sheet.rows)
	lists := make(fwk.NodeScoreList, nodes*len(sheet.scorers)) // plugin by plugin
	failure := f.forEach(ctx, len(sheet.scorers), func(ctx context.Context, cached int) *fwk.Status {
		list := lists[cached*nodes : (cached+1)*nodes : (cached+1)*nodes]
		for i := range list {
			list[i] = fwk.NodeScore{Name: sheet.rows[i].Name, Score: sheet.rows[i].RawScores[cached].Score}
		}
		return f.normalize(ctx, state, pod, &sheet.scorers[cached], list)
	})
	if failure != nil {
		return failedWith("running Normalize on Score plugins", failure.Plugin(), failure.AsError())
	}
	for i := range sheet.rows {
		row := &sheet.rows[i]
		for cached := range row.Scores {
			cell, score := &row.Scores[cached], lists[cached*nodes+i].Score
			if score < fwk.MinScore || score > fwk.MaxScore {
				return failedWith("applying score defaultWeights on Score plugins", cell.Name, fmt.Errorf(
					"plugin %q returns an invalid score %v, it should in the range of [%v, %v] after normalizing",
					cell.Name, score, fwk.MinScore, fwk.MaxScore))
			}
			cell.Score = score * sheet.scorers[cached].weight
			row.TotalScore += cell.Score
		}
	}
	return nil
}

// normalize lets a plugin change its scores of all nodes in place.
func (f *Framework) normalize(ctx context.Context, state fwk.CycleState, pod *v1.Pod, plugin *member[fwk.ScorePlugin], scores fwk.NodeScoreList) (status *fwk.Status) {
	calls := f.startCalls(ctx, MethodNormalizeScore, state, pod)
	defer calls.end(&status)
	ctx = calls.enter(ctx, &plugin.identity)
	extensions := plugin.plugin.ScoreExtensions()
	if extensions == nil {
		calls.endCall()
		return nil
	}
	status = extensions.NormalizeScore(ctx, state, pod, scores)
	calls.leave(status)
	if !status.IsSuccess() {
		return failed(fmt.Sprintf("plugin %q failed with", plugin.name), plugin.name, status)
	}
	return nil
}

// forEach does pieces of work of scoring in parallel and returns the first failure, which ends the context of the
// others, or an error if the context ended before all was done.
func (f *Framework) forEach(ctx context.Context, pieces int, work func(ctx context.Context, piece int) *fwk.Status) *fwk.Status {
	workCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	var first atomic.Pointer[fwk.Status]
	f.parallelizer.Until(workCtx, pieces, func(piece int) {
		if failure := work(workCtx, piece); failure != nil && first.CompareAndSwap(nil, failure) {
			cancel()
		}
	}, string(MethodScore))
	if failure := first.Load(); failure != nil {
		return failure
	}
	if err := context.Cause(ctx); err != nil {
		return fwk.AsStatus(err)
	}
	return nil
}
