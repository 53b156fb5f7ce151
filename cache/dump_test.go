// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/rouse-scheduler/rouse/framework"
)

func TestDump(t *testing.T) {
	c := New(Options{})
	must(t, c.AddNode(makeNode("b", allocatable("cpu", "4", "pods", "10"))))
	must(t, c.AddNode(makeNode("gone")))
	running := makePod("running", "b", requests("cpu", "1", "example.com/foo", "2"))
	running.Status.Phase = v1.PodRunning
	must(t, c.AddPod(running))
	assumed := makePod("assumed", "b", requests("cpu", "2"))
	assumed.Status.NominatedNodeName = "b"
	must(t, c.AssumePod(assumed))
	must(t, c.AddPod(makePod("orphan", "gone")))
	must(t, c.RemoveNode(makeNode("gone")))

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
				Name: "b", HasNode: true, Slot: 0,
				Requested:   framework.Resource{MilliCPU: 3000, ScalarResources: map[v1.ResourceName]int64{"example.com/foo": 2}},
				Allocatable: framework.Resource{MilliCPU: 4000, AllowedPodNumber: 10},
				Pods: []PodDump{
					{PodReference: PodReference{"default", "assumed", "assumed"}, NominatedNode: "b", Assumed: true},
					{PodReference: PodReference{"default", "running", "running"}, Phase: v1.PodRunning},
				},
			},
			{
				Name: "gone", Slot: -1,
				Pods: []PodDump{{PodReference: PodReference{"default", "orphan", "orphan"}}},
			},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Dump (-want +got):\n%s", diff)
	}
	must(t, c.AddPod(makePod("later", "b", requests("example.com/foo", "5"))))
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
