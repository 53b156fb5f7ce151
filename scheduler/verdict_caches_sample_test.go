// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/runtime"
)

// sample checks the choices of searches that compare only some of the nodes that take the pod; totals has all of these.
func (c *comparison) sample(pod *v1.Pod, totals map[string]int64) {
	c.t.Helper()
	nodes, _ := c.snapshot.NodeInfos().List()
	start, enough := c.random.IntN(len(nodes)), 1+c.random.IntN(4)
	var sample []fwk.NodeInfo
	checked := 0
	for ; checked < len(nodes) && len(sample) < enough; checked++ {
		node := nodes[(start+checked)%len(nodes)]
		if _, feasible := totals[node.Node().Name]; feasible {
			sample = append(sample, node)
		}
	}
	choice := c.search(pod, runtime.SearchOptions{Sample: enough, Start: start})
	if best := c.bestOf(pod, sample); !slices.Contains(best, choice.Node) || choice.Feasible != len(sample) || choice.Checked != checked {
		c.t.Errorf("pod %s: with a sample of %d from %d on the choice is %+v, want one of %v after %d nodes", pod.Name, enough, start, choice, best, checked)
	}
	limit := 1 + c.random.IntN(len(nodes))
	switch choice := c.search(pod, runtime.SearchOptions{Limit: limit}); {
	case choice.Feasible > len(totals) || choice.Feasible < min(limit, len(totals), 2):
		c.t.Errorf("pod %s: with a limit of %d the choice is %+v, of %d nodes that take the pod", pod.Name, limit, choice, len(totals))
	case choice.Feasible == len(totals) && !slices.Contains(c.bestOf(pod, c.named(totals)), choice.Node):
		c.t.Errorf("pod %s: the choice among all is %+v, want the best of %v", pod.Name, choice, totals)
	}
	if _, feasible := totals[choice.Node]; !feasible {
		c.t.Errorf("pod %s: the choice is %+v, which does not take the pod", pod.Name, choice)
	}
}

// picky is a Filter plugin with a key that fails on nodes without the label that it is about.
type picky struct{}

var _ framework.FilterKeyPlugin = picky{}

func (picky) Name() string { return "Picky" }

func (picky) Filter(_ context.Context, _ fwk.CycleState, _ *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	if _, ok := node.Node().Labels["level"]; !ok {
		return fwk.AsStatus(errors.New("the node has no level"))
	}
	return nil
}

func (picky) AppendFilterKey(key []byte, _ fwk.CycleState, _ *v1.Pod) ([]byte, bool) {
	return key, true
}

// TestPluginsThatFailOnNodesThatOthersReject has a plugin without a key before one with a key: what the latter makes of nodes that
// the former rejects must not fail the pod, however often such pods come.
func TestPluginsThatFailOnNodesThatOthersReject(t *testing.T) {
	f := newFixtureWith(t, bare, filters(func(_ *v1.Pod, node fwk.NodeInfo) *fwk.Status {
		if _, ok := node.Node().Labels["level"]; !ok {
			return fwk.NewStatus(fwk.Unschedulable, "no level")
		}
		return nil
	}), picky{})
	f.addNodes("n1", "n2")
	for i := range 4 {
		f.add(objects.Pod(fmt.Sprint("hopeless", i)).Build())
		f.attempt()
		if got := f.seen.failures[i]; !got.Status.IsRejected() || !got.Diagnosis.UnschedulablePlugins.Equal(sets.New("Filters")) {
			t.Fatalf("attempt %d: the status is %v, want a rejection by the first plugin", i, got.Status)
		}
	}
	f.nodeAdded(objects.Node("n3").Label("level", "1").Build())
	for i := range 4 {
		name := fmt.Sprint("p", i)
		f.add(objects.Pod(name).Build())
		f.attempt()
		if f.seen.bound[name] != "n3" {
			t.Fatalf("pod %s is bound to %q, want n3", name, f.seen.bound[name])
		}
	}
}

// TestPluginsThatFailOnNodesWithNominatedPods has a plugin that fails on a node which a nominated pod leaves no room on.
func TestPluginsThatFailOnNodesWithNominatedPods(t *testing.T) {
	f := newFixtureWith(t, func(*Options) {}, picky{})
	f.nodeAdded(objects.Node("n1").Capacity("cpu", "1", "memory", "8Gi").Build())
	f.add(objects.Pod("important").Requests("cpu", "1").Priority(10).NominatedNode("n1").SchedulingGate("wait").Build())
	f.nodeAdded(objects.Node("n2").Label("level", "1").Capacity("cpu", "1", "memory", "8Gi").Build())
	for i := range 4 {
		name := fmt.Sprint("p", i)
		f.add(objects.Pod(name).Requests("cpu", "100m").Build())
		f.attempt()
		if f.seen.bound[name] != "n2" {
			t.Fatalf("pod %s is bound to %q, want n2", name, f.seen.bound[name])
		}
	}
}

// forgetful is a Filter plugin with a key that rejects nodes by name, and says once which nodes it has changed its mind about.
type forgetful struct {
	rejected map[string]bool
	changed  []string
	panics   bool
}

var _ framework.ChangedNodesPlugin = &forgetful{}

func (*forgetful) Name() string { return "Forgetful" }

func (p *forgetful) Filter(_ context.Context, _ fwk.CycleState, _ *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	if p.rejected[node.Node().Name] {
		return fwk.NewStatus(fwk.Unschedulable, "rejected by name")
	}
	return nil
}

func (*forgetful) AppendFilterKey(key []byte, _ fwk.CycleState, _ *v1.Pod) ([]byte, bool) {
	return key, true
}

func (p *forgetful) AppendChangedNodes(indexes []int, nodes framework.IndexedSnapshot) []int {
	for _, name := range p.changed {
		if index, ok := nodes.NodeIndex(name); ok {
			indexes = append(indexes, index)
		}
	}
	p.changed = nil
	if p.panics {
		p.panics = false
		panic("the list is lost")
	}
	return indexes
}

// TestPanicsThatLoseChanges has a plugin that panics when it has taken its list of changes.
func TestPanicsThatLoseChanges(t *testing.T) {
	plugin := &forgetful{rejected: map[string]bool{"n2": true}}
	f := newFixtureWith(t, bare, plugin)
	f.addNodes("n1", "n2")
	for i := range 4 { // until verdicts are cached
		f.add(objects.Pod(fmt.Sprint("p", i)).Build())
		f.attempt()
	}
	plugin.rejected, plugin.changed, plugin.panics = map[string]bool{"n1": true}, []string{"n1", "n2"}, true
	f.add(objects.Pod("unlucky").Build())
	f.attempt()
	f.add(objects.Pod("late").Build())
	f.attempt()
	if f.seen.bound["late"] != "n2" {
		t.Errorf("the pod is bound to %q, want n2, the only node that takes it now", f.seen.bound["late"])
	}
}

func (c *comparison) search(pod *v1.Pod, options runtime.SearchOptions) runtime.Choice {
	c.t.Helper()
	ctx, state := c.t.Context(), framework.NewCycleState()
	c.profile.RunPreFilterPlugins(ctx, state, pod)
	options.Pick = c.random.IntN
	choice, status := c.profile.Search(ctx, state, pod, options)
	if !status.IsSuccess() {
		c.t.Fatal(status)
	}
	return choice
}

func (c *comparison) named(totals map[string]int64) []fwk.NodeInfo {
	all, _ := c.snapshot.NodeInfos().List()
	return slices.DeleteFunc(slices.Clone(all), func(node fwk.NodeInfo) bool {
		_, ok := totals[node.Node().Name]
		return !ok
	})
}

// bestOf asks the plugins which of the nodes are the best.
func (c *comparison) bestOf(pod *v1.Pod, nodes []fwk.NodeInfo) []string {
	c.t.Helper()
	if len(nodes) == 1 {
		return []string{nodes[0].Node().Name}
	}
	ctx, state := c.t.Context(), framework.NewCycleState()
	c.profile.RunPreFilterPlugins(ctx, state, pod)
	for _, node := range nodes { // Score may need what Filter found
		c.profile.RunFilterPlugins(ctx, state, pod, node)
	}
	if status := c.profile.RunPreScorePlugins(ctx, state, pod, nodes); !status.IsSuccess() {
		c.t.Fatal(status)
	}
	scores, status := c.profile.RunScorePlugins(ctx, state, pod, nodes)
	if !status.IsSuccess() {
		c.t.Fatal(status)
	}
	var best []string
	highest := int64(-1)
	for _, score := range scores {
		if score.TotalScore > highest {
			best, highest = nil, score.TotalScore
		}
		if score.TotalScore == highest {
			best = append(best, score.Name)
		}
	}
	return best
}

// withoutKeys returns plugins whose verdicts are not kept.
func withoutKeys() []fwk.Plugin {
	return []fwk.Plugin{
		&scripted{name: "Odd", filter: func(pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
			if (len(node.GetPods())+len(pod.Name))%3 == 0 {
				return fwk.NewStatus(fwk.Unschedulable, "odd "+node.Node().Name)
			}
			return nil
		}},
		&crowded{},
	}
}
