// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"context"
	"fmt"

	"k8s.io/client-go/informers"

	"github.com/rouse-scheduler/rouse/inspect"
	"github.com/rouse-scheduler/rouse/plugins"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/runtime"
	"github.com/rouse-scheduler/rouse/simulate"
)

// What wakes the pods that NodeAffinity rejected?
func ExampleNewEvents() {
	profile := profiles.DefaultProfile("default-scheduler")
	framework, err := runtime.NewFramework(context.Background(), plugins.NewInTreeRegistry(), profile, runtime.Options{
		Clients: runtime.Clients{InformerFactory: informers.NewSharedInformerFactory(nil, 0)}, // the cluster is not read
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer framework.Close()

	for _, event := range inspect.NewEvents(framework).Profiles[0].PluginEvents("NodeAffinity") {
		fmt.Println(event.Event, "with a hint:", event.Hint)
	}
	// Output:
	// NodeAdd with a hint: true
	// NodeUpdateNodeLabel with a hint: true
}

func ExampleCountWakeups() {
	trace := []simulate.TraceEntry{
		{Pod: "default/a", What: simulate.WhatWoken, Event: "NodeAdd", Plugin: "NodeResourcesFit", Queue: simulate.PoolActive},
		{Pod: "default/a", What: simulate.WhatBound, Node: "n1"},
		{Pod: "default/b", What: simulate.WhatWoken, Event: "NodeAdd", Plugin: "NodeResourcesFit", Queue: simulate.PoolActive},
		{Pod: "default/b", What: simulate.WhatRejected, Plugin: "NodeResourcesFit"},
	}
	for _, wakeups := range inspect.CountWakeups(trace) {
		fmt.Printf("%s: %d woken, %d bound, %d in vain\n", wakeups.Event, wakeups.Woken, wakeups.Bound, wakeups.Wasted)
	}
	// Output: NodeAdd: 2 woken, 1 bound, 1 in vain
}
