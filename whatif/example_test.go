// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package whatif_test

import (
	"context"
	"fmt"
	"log"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/simulate"
	"github.com/rouse-scheduler/rouse/whatif"
)

func Example() {
	ctx := context.Background()
	cluster, err := whatif.New(ctx, whatif.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer cluster.Close()
	err = cluster.Add(
		objects.Node("small").Capacity("cpu", "2").Build(),
		objects.Pod("shop").Requests("cpu", "1500m").Node("small").Build(),
	)
	if err != nil {
		log.Fatal(err)
	}

	// Nothing that happens in a fork is seen elsewhere.
	fork := cluster.Fork()
	web := objects.Pod("web").Requests("cpu", "1").Build()
	before, err := fork.Fits(ctx, web)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("as it is:", before.Reason)
	if err := fork.Add(objects.Node("large").Capacity("cpu", "8").Build()); err != nil {
		log.Fatal(err)
	}
	after, err := fork.Fits(ctx, web)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("with another node:", after.Nodes)
	// Output:
	// as it is: 0/1 nodes are available: 1 Insufficient cpu.
	// with another node: [large]
}

// exampleCluster has two nodes, each with a pod.
func exampleCluster(ctx context.Context) *whatif.Cluster {
	cluster, err := whatif.New(ctx, whatif.Options{})
	if err == nil {
		err = cluster.Add(
			objects.Node("one").Capacity("cpu", "4").Build(),
			objects.Node("two").Capacity("cpu", "4").Build(),
			objects.Pod("batch").Requests("cpu", "3").Node("one").Build(),
			objects.Pod("shop").Requests("cpu", "2").Priority(10).Node("two").Build(),
		)
	}
	if err != nil {
		log.Fatal(err)
	}
	return cluster
}

func ExampleCluster_Best() {
	ctx := context.Background()
	cluster := exampleCluster(ctx)
	defer cluster.Close()
	choice, err := cluster.Best(ctx, objects.Pod("web").Requests("cpu", "500m").Build())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(choice.Node)
	for _, score := range choice.Scores[0].Scores {
		if score.Score > 0 {
			fmt.Println(score.Name, score.Score)
		}
	}
	// Output:
	// two
	// TaintToleration 300
	// NodeResourcesFit 37
	// NodeResourcesBalancedAllocation 75
}

func ExampleCluster_Place() {
	ctx := context.Background()
	cluster := exampleCluster(ctx)
	defer cluster.Close()
	fork := cluster.Fork()
	placements, err := fork.Place(ctx,
		objects.Pod("a").Requests("cpu", "1").Build(),
		objects.Pod("b").Requests("cpu", "2").Build(),
		objects.Pod("c").Requests("cpu", "1").Build(),
	)
	if err != nil {
		log.Fatal(err)
	}
	for _, placed := range placements {
		if placed.Node == "" {
			fmt.Printf("%s waits: %v\n", placed.Pod.Name, placed.Reason)
		} else {
			fmt.Println(placed.Pod.Name, "is on", placed.Node)
		}
	}
	if err := fork.Commit(); err != nil { // now the cluster has them
		log.Fatal(err)
	}
	// Output:
	// a is on two
	// b waits: 0/2 nodes are available: 2 Insufficient cpu.
	// c is on one
}

func ExampleCluster_Preempt() {
	ctx := context.Background()
	cluster := exampleCluster(ctx)
	defer cluster.Close()
	preemption, err := cluster.Preempt(ctx, objects.Pod("urgent").Requests("cpu", "3").Priority(100).Build())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("on", preemption.Node)
	for _, victim := range preemption.Victims {
		fmt.Println("without", victim.Name)
	}
	// Output:
	// on one
	// without batch
}

func ExampleCluster_Drain() {
	ctx := context.Background()
	cluster := exampleCluster(ctx)
	defer cluster.Close()
	for _, node := range []string{"one", "two"} {
		placements, err := cluster.Fork().Drain(ctx, node)
		if err != nil {
			log.Fatal(err)
		}
		for _, placed := range placements {
			fmt.Printf("without %s, %s goes to %q\n", node, placed.Pod.Name, placed.Node)
		}
	}
	// Output:
	// without one, batch goes to ""
	// without two, shop goes to ""
}

func ExampleCluster_Explain() {
	ctx := context.Background()
	cluster := exampleCluster(ctx)
	defer cluster.Close()
	blockers, err := cluster.Explain(ctx, objects.Pod("web").Requests("cpu", "3").NodeSelector("disk", "ssd").Build())
	if err != nil {
		log.Fatal(err)
	}
	for _, node := range blockers.Nodes {
		fmt.Println(node.Name)
		for _, blocker := range node.Blockers {
			fmt.Println(" ", blocker.Plugin, blocker.Details)
		}
	}
	// Output:
	// one
	//   NodeAffinity [node selector disk=ssd: the node has no such label]
	//   NodeResourcesFit [cpu: asks 3, free 1 of 4]
	// two
	//   NodeAffinity [node selector disk=ssd: the node has no such label]
	//   NodeResourcesFit [cpu: asks 3, free 2 of 4]
}

// From files, as rouse simulate reads them.
func ExampleNew() {
	ctx := context.Background()
	input, err := simulate.Parse("cluster.yaml", []byte(`
apiVersion: v1
kind: Node
metadata: {name: one}
status: {capacity: {cpu: "4", pods: "10"}}
---
apiVersion: v1
kind: Pod
metadata: {name: batch}
spec:
  nodeName: one
  containers: [{name: main, image: batch, resources: {limits: {cpu: "3"}}}]
`))
	if err != nil {
		log.Fatal(err)
	}
	cluster, err := whatif.New(ctx, whatif.Options{Objects: input.Objects()})
	if err != nil {
		log.Fatal(err)
	}
	defer cluster.Close()
	fit, err := cluster.Fits(ctx, objects.Pod("web").Requests("cpu", "2").Build())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(fit.Reason)
	// Output:
	// 0/1 nodes are available: 1 Insufficient cpu.
}
