// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func TestNodeWithPods(t *testing.T) {
	tests := []struct {
		name string
		pods []*v1.Pod
		want amounts
	}{
		{
			name: "one pod",
			pods: []*v1.Pod{objects.Pod("a").Node("node").Requests("cpu", "1", "memory", "50").Build()},
			want: amounts{MilliCPU: 1000, Memory: 50},
		},
		{
			name: "one pod with an extended resource",
			pods: []*v1.Pod{objects.Pod("a").Node("node").Requests("cpu", "1", "example.com/foo", "2").Build()},
			want: amounts{MilliCPU: 1000, Scalars: map[v1.ResourceName]int64{"example.com/foo": 2}},
		},
		{
			name: "two pods",
			pods: []*v1.Pod{
				objects.Pod("a").Node("node").Requests("cpu", "1", "memory", "50").Build(),
				objects.Pod("b").Node("node").Requests("cpu", "500m", "memory", "30").Build(),
			},
			want: amounts{MilliCPU: 1500, Memory: 80},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := New(Options{})
			node := objects.Node("node").Allocatable("cpu", "10", "memory", "100", "pods", "10").Image(1, "busybox").Build()
			must(t, c.AddNode(node))
			for _, pod := range test.pods {
				must(t, c.AddPod(pod))
			}
			var s Snapshot
			check := func(node *v1.Node, wantAllocatable amounts) {
				t.Helper()
				update(t, c, &s)
				checkFresh(t, c, &s)
				view := viewOf(nodeInfo(t, c, "node"))
				if diff := cmp.Diff(test.want, view.Requested); diff != "" {
					t.Errorf("requested (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(wantAllocatable, view.Allocatable); diff != "" {
					t.Errorf("allocatable (-want +got):\n%s", diff)
				}
				if view.Node != node || len(view.Pods) != len(test.pods) {
					t.Errorf("node info has node %p and %d pods, want node %p and %d pods", view.Node, len(view.Pods), node, len(test.pods))
				}
			}
			check(node, amounts{MilliCPU: 10000, Memory: 100, Pods: 10})

			larger := objects.Node("node").Allocatable("cpu", "20", "memory", "100", "pods", "20").Build()
			must(t, c.UpdateNode(larger))
			check(larger, amounts{MilliCPU: 20000, Memory: 100, Pods: 20})

			must(t, c.RemoveNode(node))
			update(t, c, &s)
			if _, err := s.Get("node"); err == nil {
				t.Error("a removed node is still in the snapshot")
			}
			wantCounts(t, c, 1, len(test.pods), 0)

			must(t, c.AddNode(node))
			check(node, amounts{MilliCPU: 10000, Memory: 100, Pods: 10})

			must(t, c.RemoveNode(node))
			for _, pod := range test.pods {
				must(t, c.RemovePod(pod))
			}
			wantCounts(t, c, 0, 0, 0)
			update(t, c, &s)
			checkFresh(t, c, &s)
		})
	}
}

func TestPodCountIncludesGhosts(t *testing.T) {
	c := New(Options{})
	must(t, c.AddNode(objects.Node("node").Build()))
	must(t, c.AddPod(objects.Pod("a").Node("node").Build()))
	must(t, c.AssumePod(objects.Pod("b").Node("node").Build()))
	must(t, c.RemoveNode(objects.Node("node").Build()))
	wantCounts(t, c, 1, 2, 1)
	pod, err := c.Pod(objects.Pod("a").Build())
	must(t, err)
	if pod.Name != "a" {
		t.Errorf("got pod %v", pod)
	}
	must(t, c.RemovePod(objects.Pod("a").Node("node").Build()))
	wantCounts(t, c, 1, 1, 1)
	must(t, c.ForgetPod(objects.Pod("b").Node("node").Build()))
	wantCounts(t, c, 0, 0, 0)
}

func TestPodAddedBeforeItsNode(t *testing.T) {
	c := New(Options{})
	must(t, c.AddPod(objects.Pod("a").Node("node").Requests("cpu", "1").Build()))
	var s Snapshot
	update(t, c, &s)
	if s.NodeCount() != 0 {
		t.Errorf("snapshot lists %v before there is a node", listedNames(t, &s))
	}
	must(t, c.UpdateNode(objects.Node("node").Build()))
	update(t, c, &s)
	if got := listedNames(t, &s); !cmp.Equal(got, []string{"node"}) {
		t.Fatalf("snapshot lists %v", got)
	}
	if got := viewOf(nodeInfo(t, c, "node")).Requested.MilliCPU; got != 1000 {
		t.Errorf("requested %dm CPU, want what the earlier pod requests", got)
	}
}

func TestRemoveUnknownNode(t *testing.T) {
	c := New(Options{})
	wantError(t, c.RemoveNode(objects.Node("node").Build()), "node node is not found")
	must(t, c.AddPod(objects.Pod("a").Node("node").Build()))
	wantError(t, c.RemoveNode(objects.Node("node").Label(v1.LabelTopologyZone, "z").Build()), `node "node" in group ":\x00:z" was not found`)
	wantCounts(t, c, 1, 1, 0)
}

func TestNodesWithoutName(t *testing.T) {
	c := New(Options{})
	for _, node := range []*v1.Node{nil, objects.Node("").Build()} {
		wantError(t, c.AddNode(node), "adding a node to the scheduler cache: the node has no name")
		wantError(t, c.UpdateNode(node), "updating a node in the scheduler cache: the node has no name")
	}
	wantError(t, c.RemoveNode(nil), "removing a node from the scheduler cache: the node is nil")
	wantCounts(t, c, 0, 0, 0)
}
