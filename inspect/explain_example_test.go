// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"context"
	"fmt"
	"time"

	"github.com/rouse-scheduler/rouse/inspect"
	"github.com/rouse-scheduler/rouse/simulate"
)

// What blocks a pod at some moment of a scenario?
func ExampleExplainer() {
	input, err := simulate.Load([]string{"../testdata/scenarios/resources-freed.yaml"}, simulate.LoadOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	var options simulate.Options
	explainer := inspect.NewExplainer(context.Background(), "default", "large")
	explainer.Observe(&options)
	cluster, err := simulate.NewCluster(context.Background(), options)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer cluster.Close()
	explainer.Watch(cluster)
	if err := cluster.ReplayUntil(input, simulate.Time(15*time.Second)); err != nil {
		fmt.Println(err)
		return
	}
	explanation, err := explainer.Explain(inspect.DefaultNodes)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(explanation.Pool, "since", explanation.Since)
	for _, node := range explanation.Nodes {
		for _, blocker := range node.Blockers {
			fmt.Println(node.Name, blocker.Plugin, blocker.Details)
		}
	}
	// Output:
	// unschedulable since 10s
	// n1 NodeResourcesFit [cpu: asks 3, free 1 of 4]
}
