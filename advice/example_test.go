// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package advice_test

import (
	"context"
	"fmt"
	"log"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/rouse-scheduler/rouse/advice"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/whatif"
)

// What would let a pod be scheduled that asks for more than is free, and does not tolerate a taint.
func Example() {
	ctx := context.Background()
	cluster, err := whatif.New(ctx, whatif.Options{Objects: []apiruntime.Object{
		objects.Node("gpu").Capacity("cpu", "8").Taint("gpu", "true", v1.TaintEffectNoSchedule).Build(),
		objects.Node("small").Capacity("cpu", "4").Build(),
		objects.Pod("low").Requests("cpu", "2").Node("small").Build(),
	}})
	if err != nil {
		log.Fatal(err)
	}
	defer cluster.Close()
	suggestions, err := advice.For(ctx, cluster, objects.Pod("web").Requests("cpu", "3500m").Build(), advice.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, suggestion := range suggestions {
		for _, change := range suggestion.Changes {
			fmt.Println(change.Text, change.Pods)
		}
	}
	// Output:
	// tolerate gpu=true:NoSchedule []
	// free 1.5 cpu on small [default/low]
	// remove the taint gpu=true:NoSchedule from gpu []
}
