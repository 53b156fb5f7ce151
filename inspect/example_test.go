// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"context"
	"fmt"
	"os"
	"time"

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
		InformerFactory: informers.NewSharedInformerFactory(nil, 0), // nobody asks what is in the cluster
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer framework.Close()

	events := inspect.NewEvents(framework).Narrow(inspect.EventFilter{Plugin: "NodeAffinity"})
	if err := events.WriteText(os.Stdout, inspect.Style{}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// Profile default-scheduler
	//
	//   EVENT                PLUGIN        WAKES ITS PODS
	//   NodeAdd              NodeAffinity  if its hint says so
	//   NodeUpdateNodeLabel  NodeAffinity  if its hint says so
}

func ExampleTraceLine() {
	fmt.Println(inspect.TraceLine(simulate.TraceEntry{
		At:     simulate.Time(10 * time.Second),
		Pod:    "default/web-1",
		What:   simulate.WhatWoken,
		Event:  "NodeUpdateNodeLabel",
		Plugin: "NodeAffinity",
		Queue:  simulate.PoolActive,
	}, inspect.Style{}))
	// Output: 10s  woken      default/web-1         by NodeUpdateNodeLabel for NodeAffinity  to active
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
