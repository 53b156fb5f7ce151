// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func TestCompareNodes(t *testing.T) {
	tests := []struct {
		name           string
		cluster, cache []string
		want           Comparison
	}{
		{name: "none"},
		{name: "the same", cluster: []string{"a", "b"}, cache: []string{"b", "a"}},
		{name: "redundant", cluster: []string{"a"}, cache: []string{"c", "a", "b"}, want: Comparison{RedundantNodes: []string{"b", "c"}}},
		{name: "missed", cluster: []string{"c", "a", "b"}, cache: []string{"a"}, want: Comparison{MissedNodes: []string{"b", "c"}}},
		{name: "both", cluster: []string{"a", "b"}, cache: []string{"b", "c"}, want: Comparison{MissedNodes: []string{"a"}, RedundantNodes: []string{"c"}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := New(Options{})
			for _, name := range test.cache {
				must(t, c.AddNode(objects.Node(name).Build()))
			}
			var nodes []*v1.Node
			for _, name := range test.cluster {
				nodes = append(nodes, objects.Node(name).Build())
			}
			checkComparison(t, test.want, c.Dump().Compare(nodes, nil, nil))
		})
	}
}

func TestComparePods(t *testing.T) {
	reference := func(name string) PodReference {
		return PodReference{Namespace: "default", Name: name, UID: objects.Pod(name).Build().UID}
	}
	tests := []struct {
		name                   string
		cluster, cache, queued []string
		want                   Comparison
	}{
		{name: "none"},
		{name: "the same", cluster: []string{"a", "b"}, cache: []string{"b", "a"}},
		{name: "the same, one queued", cluster: []string{"a", "b"}, cache: []string{"b"}, queued: []string{"a"}},
		{name: "redundant", cluster: []string{"a"}, cache: []string{"b", "a"}, want: Comparison{RedundantPods: []PodReference{reference("b")}}},
		{
			name:    "redundant, one queued",
			cluster: []string{"a"}, cache: []string{"a", "c"}, queued: []string{"b"},
			want: Comparison{RedundantPods: []PodReference{reference("b"), reference("c")}},
		},
		{name: "missed", cluster: []string{"c", "a", "b"}, cache: []string{"a"}, want: Comparison{MissedPods: []PodReference{reference("b"), reference("c")}}},
		{
			name:    "missed, one queued",
			cluster: []string{"a", "b", "c"}, cache: []string{"a"}, queued: []string{"b"},
			want: Comparison{MissedPods: []PodReference{reference("c")}},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := New(Options{})
			node := objects.Node("node").Build()
			must(t, c.AddNode(node))
			for _, name := range test.cache {
				must(t, c.AddPod(objects.Pod(name).Node("node").Build()))
			}
			checkComparison(t, test.want, c.Dump().Compare([]*v1.Node{node}, makePods(test.cluster), makePods(test.queued)))
		})
	}
}

func TestComparePodsByUID(t *testing.T) {
	c := New(Options{})
	must(t, c.AssumePod(objects.Pod("a").Node("node").UID("old").Build()))
	want := Comparison{
		MissedNodes:   []string{"node"},
		MissedPods:    []PodReference{{Namespace: "default", Name: "a", UID: "new"}},
		RedundantPods: []PodReference{{Namespace: "default", Name: "a", UID: "old"}},
	}
	checkComparison(t, want, c.Dump().Compare([]*v1.Node{objects.Node("node").Build()}, []*v1.Pod{objects.Pod("a").Node("node").UID("new").Build()}, nil))
}

func makePods(names []string) []*v1.Pod {
	var pods []*v1.Pod
	for _, name := range names {
		pods = append(pods, objects.Pod(name).Build())
	}
	return pods
}

func checkComparison(t *testing.T, want, got Comparison) {
	t.Helper()
	nothing := func(c Comparison) bool {
		return len(c.MissedNodes)+len(c.MissedPods)+len(c.RedundantNodes)+len(c.RedundantPods) == 0
	}
	if got.Same() != nothing(want) {
		t.Errorf("Same() = %v", got.Same())
	}
	if nothing(want) && nothing(got) {
		return
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("comparison (-want +got):\n%s", diff)
	}
}
