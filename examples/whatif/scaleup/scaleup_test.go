// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scaleup_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"example.com/whatif/scaleup"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/whatif"
)

func TestFind(t *testing.T) {
	cluster, err := whatif.New(t.Context(), whatif.Options{Objects: []apiruntime.Object{
		objects.Node("there").Capacity("cpu", "2").Build(),
		objects.Pod("running").Requests("cpu", "1").Node("there").Build(),
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	templates := []*v1.Node{
		objects.Node("small").Capacity("cpu", "2").Build(),
		objects.Node("large").Capacity("cpu", "8").Build(),
		objects.Node("gpu").Capacity("cpu", "8").Label("gpu", "yes").Taint("gpu", "only", v1.TaintEffectNoSchedule).Build(),
	}
	var pods []*v1.Pod
	for i := range 10 {
		pods = append(pods, objects.Pod(fmt.Sprint("web-", i)).Requests("cpu", "1").Build())
	}
	pods = append(pods,
		objects.Pod("train").Requests("cpu", "4").NodeSelector("gpu", "yes").Tolerates("gpu", "only", v1.TaintEffectNoSchedule).Build(),
		objects.Pod("huge").Requests("cpu", "100").Build(),
	)
	plan, err := scaleup.Find(t.Context(), cluster, templates, pods, 10)
	if err != nil {
		t.Fatal(err)
	}
	// One of the web pods fits as it is, eight get a large node, and for the last one the smallest is as good as any.
	if diff := cmp.Diff([]string{"large-0", "small-1", "gpu-2"}, names(plan.Nodes)); diff != "" {
		t.Errorf("other nodes are to be added (-want +got):\n%s", diff)
	}
	if len(plan.Waiting) != 1 || plan.Waiting[0].Name != "huge" {
		t.Errorf("pods %v would wait", plan.Waiting)
	}
	if got := len(cluster.Objects()); got != 2 {
		t.Errorf("the cluster has %d objects", got)
	}
}

func names(nodes []*v1.Node) (names []string) {
	for _, node := range nodes {
		names = append(names, node.Name)
	}
	return names
}
