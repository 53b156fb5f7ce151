// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/rouse-scheduler/rouse/cache"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// A scheduler assumes a pod, sees it in its next snapshot, and is confirmed by an informer.
func Example() {
	clusterView := cache.New(cache.Options{})
	for _, name := range []string{"node-1", "node-2"} {
		if err := clusterView.AddNode(objects.Node(name).Build()); err != nil {
			fmt.Println(err)
		}
	}
	var snapshot cache.Snapshot
	show := func(when string) {
		if err := clusterView.UpdateSnapshot(&snapshot); err != nil {
			fmt.Println(err)
		}
		nodeInfos, _ := snapshot.List()
		for _, nodeInfo := range nodeInfos {
			fmt.Printf("%s: %s has %d pods, %dm CPU requested\n",
				when, nodeInfo.Node().Name, len(nodeInfo.GetPods()), nodeInfo.GetRequested().GetMilliCPU())
		}
	}

	pod := objects.Pod("web").Node("node-2").Requests("cpu", "250m").Build()
	if err := clusterView.AssumePod(pod); err != nil {
		fmt.Println(err)
	}
	show("assumed")

	if err := clusterView.AddPod(pod); err != nil {
		fmt.Println(err)
	}
	fmt.Printf("confirmed: %+v\n", clusterView.Counts())

	// Output:
	// assumed: node-1 has 0 pods, 0m CPU requested
	// assumed: node-2 has 1 pods, 250m CPU requested
	// confirmed: {Nodes:2 Pods:1 AssumedPods:0}
}

// A snapshot of plain lists is enough to run plugins against.
func ExampleNewSnapshot() {
	pods := []*v1.Pod{objects.Pod("web").Node("node-1").Requests("cpu", "250m").Build()}
	nodes := []*v1.Node{objects.Node("node-1").Build(), objects.Node("node-2").Build()}
	snapshot := cache.NewSnapshot(pods, nodes)

	nodeInfo, err := snapshot.Get("node-1")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(snapshot.NodeCount(), "nodes,", len(nodeInfo.GetPods()), "pod on node-1")
	// Output: 2 nodes, 1 pod on node-1
}

// Code that keeps something per node keeps it by node index, and looks only at node indexes that changed.
func ExampleSnapshot_ChangedSince() {
	clusterView := cache.New(cache.Options{})
	for _, name := range []string{"node-1", "node-2", "node-3"} {
		if err := clusterView.AddNode(objects.Node(name).Build()); err != nil {
			fmt.Println(err)
		}
	}
	var snapshot cache.Snapshot
	var seen int64
	look := func() {
		if err := clusterView.UpdateSnapshot(&snapshot); err != nil {
			fmt.Println(err)
		}
		for index := range snapshot.ChangedSince(seen) {
			if nodeInfo := snapshot.NodeAt(index); nodeInfo != nil {
				fmt.Printf("node index %d: %s with %d pods\n", index, nodeInfo.Node().Name, len(nodeInfo.GetPods()))
			} else {
				fmt.Printf("node index %d: free\n", index)
			}
		}
		seen = snapshot.Generation()
	}
	look()

	fmt.Println("a pod is assumed and a node removed")
	if err := clusterView.AssumePod(objects.Pod("web").Node("node-2").Requests("cpu", "250m").Build()); err != nil {
		fmt.Println(err)
	}
	if err := clusterView.RemoveNode(objects.Node("node-1").Build()); err != nil {
		fmt.Println(err)
	}
	look()

	// Output:
	// node index 2: node-3 with 0 pods
	// node index 1: node-2 with 0 pods
	// node index 0: node-1 with 0 pods
	// a pod is assumed and a node removed
	// node index 0: free
	// node index 1: node-2 with 1 pods
}
