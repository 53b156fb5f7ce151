// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package consolidation_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"example.com/whatif/consolidation"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/whatif"
)

func TestFind(t *testing.T) {
	nodes := []*v1.Node{
		objects.Node("a").Capacity("cpu", "4").Build(),
		objects.Node("b").Capacity("cpu", "4").Build(),
		objects.Node("c").Capacity("cpu", "4").Label("disk", "ssd").Build(),
	}
	cluster, err := whatif.New(t.Context(), whatif.Options{Objects: []apiruntime.Object{
		nodes[0], nodes[1], nodes[2],
		objects.Pod("web").Requests("cpu", "1").Node("a").Build(),
		objects.Pod("shop").Requests("cpu", "2").Node("b").Build(),
		objects.Pod("db").Requests("cpu", "1").NodeSelector("disk", "ssd").Node("c").Build(),
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	removable, moves, err := consolidation.Find(t.Context(), cluster, nodes)
	if err != nil {
		t.Fatal(err)
	}
	// Without a, its pod is on c, where there is least; without b, the rest of c is just enough; and db can be nowhere else.
	want := []consolidation.Move{{Pod: "web", From: "a", To: "c"}, {Pod: "shop", From: "b", To: "c"}}
	if diff := cmp.Diff(want, moves); diff != "" {
		t.Errorf("other moves (-want +got):\n%s", diff)
	}
	if len(removable) != 2 {
		t.Errorf("%d nodes can be removed, want 2", len(removable))
	}
	if got := len(cluster.Objects()); got != 6 {
		t.Errorf("the cluster has %d objects, want 6", got)
	}
}
