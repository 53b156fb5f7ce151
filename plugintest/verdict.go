// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/runtime"
)

// Filter returns what the plugin says about a pod on a node, as a scheduling cycle would ask it: PreFilter and then
// Filter, with pods that are nominated for the node. It is nil if the plugin accepts the pod.
//
// The status does not name the plugin, so that it is equal, for cmp.Diff too, to one of fwk.NewStatus with the same code
// and reasons.
func (f *Framework) Filter(pod *v1.Pod, node string) *fwk.Status {
	f.t.Helper()
	info := f.NodeInfo(node)
	return f.judge(framework.NewCycleState(), pod, info)[node]
}

// FilterAll is [Framework.Filter] for all nodes, by name. Nodes that the plugin accepts have a nil status.
func (f *Framework) FilterAll(pod *v1.Pod) map[string]*fwk.Status {
	f.t.Helper()
	return f.judge(framework.NewCycleState(), pod, f.nodeInfos()...)
}

func (f *Framework) judge(state fwk.CycleState, pod *v1.Pod, nodes ...fwk.NodeInfo) map[string]*fwk.Status {
	statuses := judge(f.context, f.Framework, state, pod, nodes)
	for node, status := range statuses {
		if status.IsSuccess() {
			statuses[node] = nil
		} else {
			statuses[node] = status.Clone().WithPlugin("")
		}
	}
	return statuses
}

// judge runs PreFilter once and Filter for every node, and returns the status of each by name.
func judge(ctx context.Context, f *runtime.Framework, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) map[string]*fwk.Status {
	statuses := make(map[string]*fwk.Status, len(nodes))
	var narrowed *fwk.PreFilterResult
	prefiltered := f.Contain(pod, func() (status *fwk.Status) {
		narrowed, status, _ = f.RunPreFilterPlugins(ctx, state, pod)
		return status
	})
	for _, node := range nodes {
		name := node.Node().Name
		switch {
		case !prefiltered.IsSuccess():
			statuses[name] = prefiltered
		case !narrowed.AllNodes() && !narrowed.NodeNames.Has(name):
			statuses[name] = fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "PreFilter left the node out")
		default:
			statuses[name] = f.Contain(pod, func() *fwk.Status { return f.RunFilterPluginsWithNominatedPods(ctx, state, pod, node) })
		}
	}
	return statuses
}

// Score is what a plugin gives a node.
type Score struct {
	// Raw is what Score returned, Normalized what NormalizeScore made of it, or the same if there is no such method.
	// The weight of the plugin is not in it.
	Raw, Normalized int64
}

// Scores returns the scores that the plugin gives to nodes for a pod, by name of the node. As in a scheduling cycle,
// nodes that the plugin filters out have none, and no node has one if PreScore returns Skip. Where scoring fails the
// test ends.
func (f *Framework) Scores(pod *v1.Pod) map[string]Score {
	f.t.Helper()
	scores, err := f.scores(pod)
	if err != nil {
		f.t.Fatalf("scoring the nodes for pod %s/%s: %v", pod.Namespace, pod.Name, err)
	}
	return scores
}

func (f *Framework) scores(pod *v1.Pod) (map[string]Score, error) {
	if _, scores := f.Plugin(f.name).(fwk.ScorePlugin); !scores {
		return nil, fmt.Errorf("plugin %q does not implement fwk.ScorePlugin", f.name)
	}
	state := framework.NewCycleState()
	var feasible []fwk.NodeInfo
	nodes := f.nodeInfos()
	statuses := f.judge(state, pod, nodes...)
	for _, node := range nodes {
		status := statuses[node.Node().Name]
		if status.IsError() {
			return nil, fmt.Errorf("filtering node %q: %w", node.Node().Name, status.AsError())
		}
		if status.IsSuccess() {
			feasible = append(feasible, node)
		}
	}
	var rows []fwk.NodePluginScores
	status := f.Contain(pod, func() *fwk.Status {
		if status := f.RunPreScorePlugins(f.context, state, pod, feasible); !status.IsSuccess() {
			return status
		}
		var status *fwk.Status
		rows, status = f.RunScorePlugins(f.context, state, pod, feasible)
		return status
	})
	if !status.IsSuccess() {
		return nil, status.AsError()
	}
	scores := make(map[string]Score, len(rows))
	for _, row := range rows {
		for i := range row.RawScores { // one, or none if PreScore returned Skip
			scores[row.Name] = Score{Raw: row.RawScores[i].Score, Normalized: row.Scores[i].Score}
		}
	}
	return scores, nil
}
