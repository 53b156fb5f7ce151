// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func TestHighestScoreWins(t *testing.T) {
	f := newFixture(t, &scripted{name: "Prefer", score: func(node string) int64 {
		return map[string]int64{"n2": 100}[node]
	}})
	for i := 1; i <= 3; i++ {
		f.nodeAdded(objects.Node(fmt.Sprintf("n%d", i)).Capacity("cpu", "4", "memory", "8Gi").Build())
	}
	f.add(objects.Pod("a").Requests("cpu", "1").Build())
	f.attempt()
	if got := f.seen.bound["a"]; got != "n2" {
		t.Errorf("bound to %q, want n2", got)
	}
}

func TestEqualNodesAreChosenEvenly(t *testing.T) {
	f := newFixture(t)
	const nodes, pods = 4, 400
	for i := range nodes {
		f.nodeAdded(objects.Node(fmt.Sprintf("n%d", i)).Capacity("cpu", "4", "memory", "8Gi").Build())
	}
	counts := map[string]int{}
	for i := range pods {
		pod := objects.Pod(fmt.Sprintf("p%d", i)).Requests("cpu", "1").Build()
		f.add(pod)
		f.attempt()
		counts[f.seen.bound[pod.Name]]++
		f.forget(pod)
		f.podDeleted(pod) // every pod finds an empty cluster
		for f.event() != "" {
		}
	}
	for node, count := range counts {
		if count < pods/nodes/2 || count > pods/nodes*2 {
			t.Errorf("node %s got %d of %d pods; all: %v", node, count, pods, counts)
		}
	}
}

func TestSeedDecidesBetweenEquals(t *testing.T) {
	choose := func(seed uint64) string {
		f := newFixtureWith(t, func(options *Options) { bare(options); options.Execution.Seed = seed }, &scripted{name: "Scores"})
		f.addNodes("n1", "n2", "n3", "n4")
		var chosen []string
		for i := range 8 {
			pod := objects.Pod(fmt.Sprintf("p%d", i)).Requests("cpu", "1").Build()
			f.add(pod)
			f.attempt()
			chosen = append(chosen, f.seen.bound[pod.Name])
		}
		return strings.Join(chosen, " ")
	}
	if first, second := choose(1), choose(1); first != second {
		t.Errorf("equal seeds chose %s and %s", first, second)
	}
	if first, second := choose(1), choose(2); first == second {
		t.Errorf("different seeds both chose %s", first)
	}
}

func TestWeightsOfPluginsAndExtendersAddUp(t *testing.T) {
	tests := []struct {
		name    string
		weight  int64
		scores  map[string]int64
		ignores bool
		err     error
		want    string
	}{
		{name: "the plugin's 60 beat 5 of 10", weight: 1, scores: map[string]int64{"n1": 5}, want: "n2"},
		{name: "7 of 10 beat the plugin's 60", weight: 1, scores: map[string]int64{"n1": 7}, want: "n1"},
		{name: "a weight of two makes 5 of 10 enough", weight: 2, scores: map[string]int64{"n1": 5}, want: "n1"},
		{name: "scores of other nodes are ignored", weight: 1, scores: map[string]int64{"n3": 10}, want: "n2"},
		{name: "an extender that is not interested", weight: 1, scores: map[string]int64{"n1": 10}, ignores: true, want: "n2"},
		{name: "an extender that fails", weight: 1, scores: map[string]int64{"n1": 10}, err: errors.New("down"), want: "n2"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFixtureWith(t, func(options *Options) {
				bare(options)
				options.Extenders = []fwk.Extender{&extender{
					name: "E", scores: test.scores, weight: test.weight, err: test.err,
					ignores: func(*v1.Pod) bool { return test.ignores },
				}}
			}, &scripted{name: "Scores", score: func(node string) int64 { return map[string]int64{"n2": 60}[node] }})
			f.addNodes("n1", "n2")
			f.add(objects.Pod("a").Requests("cpu", "1").Build())
			f.attempt()
			if got := f.seen.bound["a"]; got != test.want {
				t.Errorf("bound to %q, want %s", got, test.want)
			}
		})
	}
}
