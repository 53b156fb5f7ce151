// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func TestDump(t *testing.T) {
	c := New(Options{})
	must(t, c.AddNode(objects.Node("b").Allocatable("cpu", "4", "pods", "10").Build()))
	must(t, c.AddNode(objects.Node("gone").Build()))
	running := objects.Pod("running").Node("b").Requests("cpu", "1", "example.com/foo", "2").Build()
	running.Status.Phase = v1.PodRunning
	must(t, c.AddPod(running))
	assumed := objects.Pod("assumed").Node("b").Requests("cpu", "2").Build()
	assumed.Status.NominatedNodeName = "b"
	must(t, c.AssumePod(assumed))
	must(t, c.AddPod(objects.Pod("orphan").Node("gone").Build()))
	must(t, c.RemoveNode(objects.Node("gone").Build()))

	got := c.Dump()
	for i := range got.Nodes {
		if got.Nodes[i].Generation <= 0 {
			t.Errorf("node %s has generation %d", got.Nodes[i].Name, got.Nodes[i].Generation)
		}
		got.Nodes[i].Generation = 0
	}
	want := Dump{
		Counts: Counts{Nodes: 2, Pods: 3, AssumedPods: 1},
		Nodes: []NodeDump{
			{
				Name: "b", HasNode: true, NodeIndex: 0,
				Requested:   framework.Resource{MilliCPU: 3000, ScalarResources: map[v1.ResourceName]int64{"example.com/foo": 2}},
				Allocatable: framework.Resource{MilliCPU: 4000, AllowedPodNumber: 10},
				Pods: []PodDump{
					{PodReference: PodReference{"default", "assumed", "default/assumed"}, NominatedNode: "b", Assumed: true},
					{PodReference: PodReference{"default", "running", "default/running"}, Phase: v1.PodRunning},
				},
			},
			{
				Name: "gone", NodeIndex: -1,
				Pods: []PodDump{{PodReference: PodReference{"default", "orphan", "default/orphan"}}},
			},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Dump (-want +got):\n%s", diff)
	}
	must(t, c.AddPod(objects.Pod("later").Node("b").Requests("example.com/foo", "5").Build()))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a dump changed with the cache (-want +got):\n%s", diff)
	}

	encoded, err := json.Marshal(got)
	must(t, err)
	var decoded Dump
	must(t, json.Unmarshal(encoded, &decoded))
	if diff := cmp.Diff(got, decoded); diff != "" {
		t.Errorf("after a round trip through JSON (-want +got):\n%s", diff)
	}
}
