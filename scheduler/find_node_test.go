// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func TestNominatedNodeComesFirst(t *testing.T) {
	asked := map[string]int{}
	fits := true
	counting := &scripted{name: "Counting", filter: func(_ *v1.Pod, node fwk.NodeInfo) *fwk.Status {
		asked[node.Node().Name]++
		if node.Node().Name == "n2" && !fits {
			return fwk.NewStatus(fwk.Unschedulable, "no")
		}
		return nil
	}}
	for _, test := range []struct {
		name      string
		fits      bool
		nominated string
		want      map[string]int
	}{
		{"it fits and no other node is asked about", true, "n2", map[string]int{"n2": 1}},
		{"it does not fit and all are asked", false, "n2", map[string]int{"n1": 1, "n2": 2, "n3": 1}},
		{"it is gone and all are asked", true, "gone", map[string]int{"n1": 1, "n2": 1, "n3": 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, counting)
			for i := 1; i <= 3; i++ {
				f.nodeAdded(objects.Node(fmt.Sprintf("n%d", i)).Capacity("cpu", "4", "memory", "8Gi").Build())
			}
			clear(asked)
			fits = test.fits
			f.add(objects.Pod("a").Requests("cpu", "1").NominatedNode(test.nominated).Build())
			f.attempt()
			if diff := cmp.Diff(test.want, asked); diff != "" {
				t.Errorf("nodes that were asked (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPreFilterNarrowsTheNodes(t *testing.T) {
	tests := []struct {
		name    string
		result  *fwk.PreFilterResult
		status  *fwk.Status
		want    string
		message string
	}{
		{name: "to one", result: nodeNames("n2"), want: "n2"},
		{name: "to one of those that exist", result: nodeNames("n3", "no-such-node"), want: "n3"},
		{name: "to one that does not exist", result: nodeNames("no-such-node"), message: "0/3 nodes are available: 3 node(s) didn't satisfy plugin(s) [Narrow]."},
		{name: "to none", result: nodeNames(), message: "0/3 nodes are available: node(s) didn't satisfy plugin Narrow."},
		{name: "by a rejection", status: fwk.NewStatus(fwk.Unschedulable, "go away"), message: "0/3 nodes are available: go away."},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, &scripted{name: "Narrow", pre: func(*v1.Pod) (*fwk.PreFilterResult, *fwk.Status) {
				return test.result, test.status
			}})
			for i := 1; i <= 3; i++ {
				f.nodeAdded(objects.Node(fmt.Sprintf("n%d", i)).Capacity("cpu", "4", "memory", "8Gi").Build())
			}
			f.add(objects.Pod("a").Requests("cpu", "1").Build())
			f.attempt()
			if got := f.seen.bound["a"]; got != test.want {
				t.Errorf("bound to %q, want %q", got, test.want)
			}
			if test.message == "" {
				return
			}
			if got := f.event(); !strings.HasPrefix(got, "Warning FailedScheduling "+test.message) {
				t.Errorf("event %q, want message %q", got, test.message)
			}
			status, _ := f.Queue().Lookup("default", "a")
			if diff := cmp.Diff([]string{"Narrow"}, status.UnschedulablePlugins); diff != "" {
				t.Errorf("rejectors (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNodesToFind(t *testing.T) {
	tests := []struct{ percentage, nodes, want int }{
		{0, 10, 10}, {0, 99, 99}, {0, 100, 100}, {0, 1000, 1000}, {0, 15000, 15000},
		{40, 1000, 400}, {40, 100, 100}, {1, 50000, 500}, {100, 1000, 1000}, {100, 50, 50},
	}
	for _, test := range tests {
		if got := nodesToFind(test.percentage, test.nodes); got != test.want {
			t.Errorf("nodesToFind(%d %%, %d nodes) = %d, want %d", test.percentage, test.nodes, got, test.want)
		}
	}
}

func TestSearchRotatesOverTheNodes(t *testing.T) {
	asked := map[string]int{}
	f := newFixture(t, &scripted{name: "Counting", filter: func(_ *v1.Pod, node fwk.NodeInfo) *fwk.Status {
		asked[node.Node().Name]++
		return nil
	}})
	const nodes = 400
	f.options.Configuration.PercentageOfNodesToScore = 25
	for i := range nodes {
		f.nodeAdded(objects.Node(fmt.Sprintf("n%d", i)).Capacity("cpu", "4", "memory", "8Gi").Build())
	}
	for i := range 4 {
		f.add(objects.Pod(fmt.Sprintf("p%d", i)).Requests("cpu", "1").Build())
		f.attempt()
	}
	if len(asked) < nodes*9/10 {
		t.Errorf("four attempts, each over a quarter of the nodes, asked about %d of %d", len(asked), nodes)
	}
}

// A node that is kept for another pod must take the pod both with and without it.
func TestNominatedPodsAreReckonedWith(t *testing.T) {
	tests := []struct {
		name     string
		priority int32
		want     map[string][]int // how many pods Filter saw on the node in each call
	}{
		{"of higher priority", 1, map[string][]int{"n1": {1, 0}, "n2": {0}}},
		{"of the same priority", 10, map[string][]int{"n1": {1, 0}, "n2": {0}}},
		{"of lower priority", 11, map[string][]int{"n1": {0}, "n2": {0}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			seen := map[string][]int{}
			f := newFixtureWith(t, bare, filters(func(pod *v1.Pod, node fwk.NodeInfo) *fwk.Status {
				if pod.Name == "holder" {
					return fwk.NewStatus(fwk.Unschedulable, "not yet")
				}
				name := node.Node().Name
				seen[name] = append(seen[name], len(node.GetPods()))
				return nil
			}), &scripted{name: "Scores"})
			f.addNodes("n1", "n2")
			f.add(objects.Pod("holder").Requests("cpu", "1").Priority(10).Build())
			f.attempt()
			info, err := framework.NewPodInfo(objects.Pod("holder").Requests("cpu", "1").Priority(10).Build())
			if err != nil {
				t.Fatal(err)
			}
			f.Queue().AddNominatedPod(f.options.Logger, info, nominate("n1").NominatingInfo)
			f.add(objects.Pod("a").Requests("cpu", "1").Priority(test.priority).Build())
			f.attempt()
			if diff := cmp.Diff(test.want, seen); diff != "" {
				t.Errorf("pods on the nodes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOneNodeIsEnoughWhenNothingComparesThem(t *testing.T) {
	tests := []struct {
		name     string
		plugin   fwk.Plugin
		extender *extender
		want     int
	}{
		{name: "nothing does", want: 1},
		{name: "a Score plugin", plugin: &scripted{name: "Scores"}, want: 5},
		{name: "an extender that filters", extender: &extender{name: "E", filter: keep()}, want: 5},
		{name: "an extender that prioritizes", extender: &extender{name: "E", scores: map[string]int64{}}, want: 5},
		{name: "an extender that binds", extender: &extender{name: "E", bind: func(*v1.Binding) error { return nil }}, want: 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			asked := 0
			plugins := []fwk.Plugin{filters(func(*v1.Pod, fwk.NodeInfo) *fwk.Status { asked++; return nil })}
			if test.plugin != nil {
				plugins = append(plugins, test.plugin)
			}
			f := newFixtureWith(t, func(options *Options) {
				bare(options)
				if test.extender != nil {
					options.Extenders = []fwk.Extender{test.extender}
				}
			}, plugins...)
			f.addNodes("n1", "n2", "n3", "n4", "n5")
			f.add(objects.Pod("a").Requests("cpu", "1").Build())
			f.attempt()
			if asked != test.want {
				t.Errorf("%d nodes were asked, want %d", asked, test.want)
			}
		})
	}
}

func TestShareOfNodesIsOfThoseThatPreFilterLeaves(t *testing.T) {
	asked := 0
	var names []string
	for i := range 400 {
		names = append(names, fmt.Sprintf("n%d", i))
	}
	narrow := &scripted{
		name:   "Narrow",
		pre:    func(*v1.Pod) (*fwk.PreFilterResult, *fwk.Status) { return nodeNames(names[:240]...), nil },
		filter: func(*v1.Pod, fwk.NodeInfo) *fwk.Status { asked++; return nil },
	}
	own := int32(50)
	f := newFixtureWith(t, func(options *Options) {
		bare(options)
		options.Configuration.PercentageOfNodesToScore = 100
		options.Configuration.Profiles[0].PercentageOfNodesToScore = &own
	}, narrow)
	f.addNodes(names...)
	f.add(objects.Pod("a").Requests("cpu", "1").Build())
	f.attempt()
	if asked != 120 {
		t.Errorf("%d nodes were asked, want half of 240", asked)
	}
}

// Nodes may be deleted while a pod is being tried; plugins must not see half of one.
func TestNodesThatGoDuringAnAttempt(t *testing.T) {
	var f *fixture
	seen := 0
	f = newFixtureWith(t, bare, &scripted{
		name: "P",
		filter: func(_ *v1.Pod, node fwk.NodeInfo) *fwk.Status {
			if node.Node() == nil {
				t.Error("a node info has no node")
				return nil
			}
			seen++
			f.nodeDeleted(node.Node())
			return nil
		},
		score: func(string) int64 { return 1 },
	})
	f.addNodes("n1", "n2", "n3")
	f.add(objects.Pod("a").Requests("cpu", "1").Build())
	f.attempt()
	if seen != 3 {
		t.Errorf("%d nodes were seen, want 3", seen)
	}
	if f.seen.bound["a"] == "" {
		t.Error("the pod was not bound; whether the node still exists is for the API to say")
	}
}

// A plugin that looks at its context must not make an attempt fail that has found enough nodes.
func TestPluginsThatHeedTheContext(t *testing.T) {
	var calls atomic.Int64
	another := make(chan struct{})
	heeds := contextFilter(func(ctx context.Context) *fwk.Status {
		switch calls.Add(1) {
		case 1:
			<-another
			return nil // enough, as nothing compares nodes
		case 2:
			close(another)
		}
		<-ctx.Done()
		return fwk.AsStatus(ctx.Err())
	})
	f := newFixtureWith(t, func(options *Options) {
		bare(options)
		options.Features.DisableVerdictCaches = true // with them nodes are asked about in parallel only if they are many
		options.Configuration.Parallelism = 4
	}, heeds)
	for i := range 16 {
		f.addNodes(fmt.Sprintf("n%d", i))
	}
	f.add(objects.Pod("a").Requests("cpu", "1").Build())
	f.attempt()
	if len(f.seen.failures) > 0 {
		t.Errorf("the attempt failed: %v", f.seen.failures[0].Status)
	}
}

// Nodes that were not looked at because the scheduler ends are not rejected: no pod may be evicted for that.
func TestSearchThatIsCutShort(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := newFixtureWith(t, bare, filters(func(*v1.Pod, fwk.NodeInfo) *fwk.Status {
		cancel()
		return fwk.NewStatus(fwk.Unschedulable, "full")
	}), makesRoom(func(fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
		t.Error("PostFilter was called")
		return nil, nil
	}))
	f.addNodes("n1", "n2")
	f.add(objects.Pod("a").Requests("cpu", "1").Build())
	f.TryScheduleOne(ctx)
	if len(f.seen.failures) != 1 || !errors.Is(f.seen.failures[0].Status.AsError(), context.Canceled) {
		t.Errorf("failures are %v, want one because of the context", f.seen.failures)
	}
}

func TestNominationEndsWhenThePodIsAssumed(t *testing.T) {
	f := newFixtureWith(t, bare)
	f.addNodes("n1", "n2")
	f.add(objects.Pod("a").Requests("cpu", "1").NominatedNode("n1").Build())
	if got := len(f.Queue().NominatedPodsForNode("n1")); got != 1 {
		t.Fatalf("%d pods are nominated, want 1", got)
	}
	f.TryScheduleOne(f.ctx)
	if got := len(f.Queue().NominatedPodsForNode("n1")); got != 0 {
		t.Errorf("%d pods are nominated and counted a second time, want none", got)
	}
}

type contextFilter func(context.Context) *fwk.Status

func (contextFilter) Name() string { return "ContextFilter" }

func (p contextFilter) Filter(ctx context.Context, _ fwk.CycleState, _ *v1.Pod, _ fwk.NodeInfo) *fwk.Status {
	return p(ctx)
}
