// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"context"
	"fmt"
	"time"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/simulate"
)

// Replaying a scenario from a file.
func ExampleRun() {
	input, err := simulate.Load([]string{"../testdata/scenarios/node-label-wakes-pod.yaml"}, simulate.LoadOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := simulate.Run(context.Background(), input, simulate.Options{
		Observer: func(entry simulate.TraceEntry) { fmt.Println(entry) },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("expectations that failed:", len(report.Failures))
	// Output:
	// 0s        attempt   default/web
	// 0s        rejected  default/web by NodeAffinity: 0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector. preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.
	// 20s       woken     default/web by NodeUpdateNodeLabel (NodeAffinity) to active
	// 20s       attempt   default/web
	// 20s       bound     default/web on n1
	// expectations that failed: 0
}

// A mistake in the input is reported with its place.
func ExampleLoad_mistake() {
	_, err := simulate.Load([]string{"../testdata/broken/scenarios/unknown-field.yaml"}, simulate.LoadOptions{})
	fmt.Println(err)
	// Output:
	// ../testdata/broken/scenarios/unknown-field.yaml:7:5: spec.steps[0].delte: unknown field; did you mean "delete"?
}

// A cluster step by step, as in a test of a plugin.
func ExampleCluster() {
	cluster, err := simulate.NewCluster(context.Background(), simulate.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer cluster.Close()
	show := func(err error) {
		state, _ := cluster.Pod("default", "web")
		fmt.Printf("%v: %s node=%q rejectedBy=%v err=%v\n", cluster.Now(), state.Pool, state.Node, state.RejectedBy, err)
	}
	node := objects.Node("n1").Unschedulable().Build()
	pod := objects.Pod("web").Build()
	show(cluster.Create(node, pod))
	show(cluster.Settle())
	show(cluster.Patch(node, `{"spec": {"unschedulable": null}}`))
	show(cluster.Advance(time.Second))
	// Output:
	// 0s: active node="" rejectedBy=[] err=<nil>
	// 0s: unschedulable node="" rejectedBy=[NodeUnschedulable] err=<nil>
	// 0s: backoff node="" rejectedBy=[NodeUnschedulable] err=<nil>
	// 1s: bound node="n1" rejectedBy=[] err=<nil>
}
