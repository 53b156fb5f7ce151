// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package capacity_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"example.com/whatif/capacity"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/whatif"
)

func TestFind(t *testing.T) {
	cluster, err := whatif.New(t.Context(), whatif.Options{Objects: []apiruntime.Object{
		objects.Node("small").Capacity("cpu", "2").Build(),
		objects.Node("large").Capacity("cpu", "100").Build(),
		objects.Pod("running").Requests("cpu", "1").Node("small").Build(),
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	pod := objects.Pod("web").UID("the original").Requests("cpu", "500m").Build()
	room, err := capacity.Find(t.Context(), cluster, pod, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"small": 2, "large": 110}, room.OnNode); diff != "" {
		t.Errorf("other nodes have room (-want +got):\n%s", diff)
	}
	if got := fmt.Sprint(room.Reason); room.Pods != 112 || got != "0/2 nodes are available: 1 Insufficient cpu, 1 Too many pods." {
		t.Errorf("there is room for %d pods, then: %v", room.Pods, got)
	}
	if room, err = capacity.Find(t.Context(), cluster, pod, 7); err != nil || room.Pods != 7 || room.Reason != nil {
		t.Errorf("with a limit: %+v, %v", room, err)
	}
}
