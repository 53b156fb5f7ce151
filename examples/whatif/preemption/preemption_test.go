// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package preemption_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"example.com/whatif/preemption"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/whatif"
)

func workload(name, queue, node, cpu string) preemption.Workload {
	return preemption.Workload{Name: name, Queue: queue, Pods: []*v1.Pod{objects.Pod(name).Requests("cpu", cpu).Node(node).Build()}}
}

func TestFind(t *testing.T) {
	candidates := []preemption.Workload{
		workload("small", "research", "a", "1"),
		workload("medium", "research", "b", "2"),
		workload("other", "research", "a", "1"),
		workload("large", "sales", "b", "2"),
	}
	all := []apiruntime.Object{objects.Node("a").Capacity("cpu", "2").Build(), objects.Node("b").Capacity("cpu", "4").Build()}
	for _, candidate := range candidates {
		all = append(all, candidate.Pods[0])
	}
	cluster, err := whatif.New(t.Context(), whatif.Options{Objects: all})
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	for _, test := range []struct {
		cpu     string
		budgets map[string]int
		want    []string
		enough  bool
	}{
		{cpu: "1", budgets: map[string]int{"research": 3}, want: []string{"small"}, enough: true},
		{cpu: "2", budgets: map[string]int{"research": 3}, want: []string{"medium"}, enough: true}, // small comes back
		{cpu: "4", budgets: map[string]int{"research": 3}},                                         // sales loses nothing
		{cpu: "4", budgets: map[string]int{"research": 3, "sales": 1}, want: []string{"large", "medium"}, enough: true},
	} {
		victims, enough, err := preemption.Find(t.Context(), cluster, []*v1.Pod{objects.Pod("new").Requests("cpu", test.cpu).Build()}, candidates, test.budgets)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, victim := range victims {
			got = append(got, victim.Name)
		}
		if diff := cmp.Diff(test.want, got); diff != "" || enough != test.enough {
			t.Errorf("%s CPUs, budgets %v: enough is %v; victims (-want +got):\n%s", test.cpu, test.budgets, enough, diff)
		}
	}
}
