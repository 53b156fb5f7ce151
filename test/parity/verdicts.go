// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// verdicts is what one side says, in a form that can be compared.
type verdicts map[subject]string

// subject is what something is said about: which comparison it is, of which pod, and on which node if on one.
type subject struct {
	kind
	pod, node string
}

// count returns how many comparisons of each kind it takes to compare all of v.
func (v verdicts) count() counts {
	n := counts{}
	for subject := range v {
		n[subject.kind]++
	}
	return n
}

// difference lists what the two sides say differently, those of the first side with a minus, those of the second with
// a plus; empty if they agree.
func difference(first, second verdicts) string {
	all := maps.Clone(first)
	maps.Copy(all, second)
	var lines []string
	for subject := range all {
		a, inFirst := first[subject]
		b, inSecond := second[subject]
		about := strings.TrimSpace(fmt.Sprintf("%s of %s %s", subject.kind, subject.pod, subject.node))
		if inFirst == inSecond && a == b {
			continue
		}
		if inFirst {
			lines = append(lines, fmt.Sprintf("%s\n  - %s", about, a))
		}
		if inSecond {
			lines = append(lines, fmt.Sprintf("%s\n  + %s", about, b))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func describe(status *fwk.Status) string {
	if status == nil {
		return "Success"
	}
	reasons := slices.Clone(status.Reasons())
	slices.Sort(reasons)
	text := status.Code().String()
	if status.IsRejected() && status.Plugin() != "" {
		text += " by " + status.Plugin()
	}
	if status.Code() == fwk.Error {
		return text // how errors are worded is not compared
	}
	return strings.TrimSpace(text + " " + strings.Join(reasons, "; "))
}

// trial is a cluster, a profile and the pods that are tried.
type trial struct {
	cluster
	profile
	pending []*v1.Pod
	// label says which sort of profile it is.
	label string
}

// verdicts returns everything that a side says about the pods, plugin by plugin and in whole cycles.
func (s *side) verdicts(ctx context.Context, t trial) (verdicts, error) {
	v := verdicts{}
	nodes, err := s.nodes()
	if err != nil {
		return nil, err
	}
	for _, pod := range t.pending {
		for _, name := range slices.Sorted(maps.Keys(s.plugins)) {
			judge := judge{side: s, plugin: s.plugins[name], pod: pod, pending: t.pending, nodes: nodes, v: v}
			judge.beforeCycles(ctx)
			judge.filter(ctx)
		}
		v[subject{kind: kind{what: t.label + ", whole cycle: signature of a pod"}, pod: pod.Name}] = string(s.framework.SignPod(ctx, pod))
		s.cycle(ctx, pod, nodes, t.label, v)
	}
	return v, nil
}

// nodes returns the nodes sorted by name.
func (s *side) nodes() ([]fwk.NodeInfo, error) {
	nodes, err := s.lister.List()
	nodes = slices.Clone(nodes)
	slices.SortFunc(nodes, func(a, b fwk.NodeInfo) int { return strings.Compare(a.Node().Name, b.Node().Name) })
	return nodes, err
}

// judge asks one plugin about one pod, without the others.
type judge struct {
	*side
	plugin  fwk.Plugin
	pod     *v1.Pod
	pending []*v1.Pod // all of them
	nodes   []fwk.NodeInfo
	v       verdicts
}

func (j judge) say(what, node, verdict string) {
	j.v[subject{kind: kind{what, j.plugin.Name()}, pod: j.pod.Name, node: node}] = verdict
}

func (j judge) beforeCycles(ctx context.Context) {
	if plugin, ok := j.plugin.(fwk.SignPlugin); ok {
		fragments, status := plugin.SignPod(ctx, j.pod)
		text, _ := json.Marshal(fragments)
		j.say("signature", "", fmt.Sprintf("%s %s", describe(status), text))
	}
	if plugin, ok := j.plugin.(fwk.PreEnqueuePlugin); ok {
		j.say("PreEnqueue", "", describe(plugin.PreEnqueue(ctx, j.pod)))
	}
	if plugin, ok := j.plugin.(fwk.QueueSortPlugin); ok {
		for i, other := range j.pending {
			// The first pods came at the same time.
			own, later := framework.NewQueuedPodInfo(j.pod, time.Unix(9, 0)), framework.NewQueuedPodInfo(other, time.Unix(8+int64(i+1)/2, 0))
			j.say("Less", other.Name, fmt.Sprint(plugin.Less(own, later), plugin.Less(later, own)))
		}
	}
	if plugin, ok := j.plugin.(fwk.BindPlugin); ok {
		before := len(j.client.Actions())
		status := plugin.Bind(ctx, j.newState(), j.pod, "node-0")
		j.say("Bind", "node-0", fmt.Sprint(status.Code(), requests(j.client.Actions()[before:])))
	}
}

// filter asks PreFilter, and Filter on every node: as it is, with one of its pods less, and with a pod more.
func (j judge) filter(ctx context.Context) {
	state := j.newState()
	var extensions fwk.PreFilterExtensions
	if plugin, ok := j.plugin.(fwk.PreFilterPlugin); ok {
		result, status := plugin.PreFilter(ctx, state, j.pod, j.nodes)
		j.say("PreFilter", "", describe(status)+" nodes "+nodeSet(result))
		if !status.IsSuccess() {
			return
		}
		extensions = plugin.PreFilterExtensions()
	}
	plugin, ok := j.plugin.(fwk.FilterPlugin)
	if !ok {
		return
	}
	for i, node := range j.nodes {
		j.say("Filter", node.Node().Name, describe(plugin.Filter(ctx, state, j.pod, node)))
		if extensions == nil {
			continue
		}
		for _, moved := range node.GetPods() {
			j.move(ctx, extensions, state, moved, node, j.nodes[(i+1)%len(j.nodes)])
		}
	}
}

// move asks about a node without one of its pods, and then about another one that has it.
func (j judge) move(ctx context.Context, extensions fwk.PreFilterExtensions, state fwk.CycleState, moved fwk.PodInfo, from, to fwk.NodeInfo) {
	plugin, about := j.plugin.(fwk.FilterPlugin), from.Node().Name+" "+moved.GetPod().Name
	less, fewer := state.Clone(), from.Snapshot()
	if err := fewer.RemovePod(discard, moved.GetPod()); err != nil {
		j.say("RemovePod", about, "an error of the node")
		return
	}
	status := extensions.RemovePod(ctx, less, j.pod, moved, fewer)
	j.say("RemovePod", about, describe(status)+", then "+describe(plugin.Filter(ctx, less, j.pod, fewer)))
	more, fuller := less.Clone(), to.Snapshot()
	if from == to {
		fuller = fewer
	}
	fuller.AddPodInfo(moved)
	status = extensions.AddPod(ctx, more, j.pod, moved, fuller)
	j.say("AddPod", about, describe(status)+", then "+describe(plugin.Filter(ctx, more, j.pod, fuller)))
}

// cycle runs the plugins together, as a scheduling cycle does.
func (s *side) cycle(ctx context.Context, pod *v1.Pod, nodes []fwk.NodeInfo, label string, v verdicts) {
	say := func(what, plugin, node, verdict string) {
		v[subject{kind: kind{what, plugin}, pod: pod.Name, node: node}] = verdict
	}
	whole := func(what, node, verdict string) { say(label+", whole cycle: "+what, "", node, verdict) }
	state := s.newState()
	result, status, narrowing := s.framework.RunPreFilterPlugins(ctx, state, pod)
	whole("result of PreFilter", "", fmt.Sprintf("%s nodes %s by %v", describe(status), nodeSet(result), sets.List(narrowing)))
	if !status.IsSuccess() {
		return
	}
	var feasible []fwk.NodeInfo
	for _, node := range nodes {
		name := node.Node().Name
		status := s.framework.RunFilterPluginsWithNominatedPods(ctx, state, pod, node)
		whole("verdict of a node", name, describe(status))
		if status.IsSuccess() && (result.AllNodes() || result.NodeNames.Has(name)) {
			feasible = append(feasible, node)
		}
	}
	if len(feasible) == 0 {
		return
	}
	status = s.framework.RunPreScorePlugins(ctx, state, pod, feasible)
	if !status.IsSuccess() {
		whole("total score", "", "PreScore: "+describe(status))
		return
	}
	scores, status := s.framework.RunScorePlugins(ctx, state, pod, feasible)
	if !status.IsSuccess() {
		whole("total score", "", "Score: "+describe(status))
		return
	}
	for _, node := range scores {
		whole("total score", node.Name, fmt.Sprint(node.TotalScore))
		for _, score := range node.RawScores {
			say("raw score", score.Name, node.Name, fmt.Sprint(score.Score))
		}
		for _, score := range node.Scores {
			say("normalized score", score.Name, node.Name, fmt.Sprint(score.Score))
		}
	}
}

func nodeSet(result *fwk.PreFilterResult) string {
	if result.AllNodes() {
		return "all"
	}
	return fmt.Sprint(sets.List(result.NodeNames))
}
