// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rouse-scheduler/rouse/inspect"
	"github.com/rouse-scheduler/rouse/simulate"
)

func TestCountWakeups(t *testing.T) {
	trace := []simulate.TraceEntry{
		{Pod: "a", What: simulate.WhatRejected, Plugin: "NodeAffinity"},
		{Pod: "b", What: simulate.WhatRejected, Plugin: "NodeAffinity,NodePorts"},
		{Pod: "b", What: simulate.WhatSkipped, Event: "NodeUpdateNodeLabel", Plugin: "NodeAffinity"},
		{Pod: "a", What: simulate.WhatWoken, Event: "NodeUpdateNodeLabel", Plugin: "NodeAffinity", Queue: simulate.PoolActive},
		{Pod: "a", What: simulate.WhatBound, Node: "n1"},
		{Pod: "b", What: simulate.WhatWoken, Event: "AssignedPodDelete", Plugin: "NodePorts", Queue: simulate.PoolBackoff},
		{Pod: "b", What: simulate.WhatRejected, Plugin: "NodeAffinity"},
	}
	want := []inspect.Wakeups{
		{Event: "AssignedPodDelete", Plugin: "NodePorts", Woken: 1, Wasted: 1},
		{Event: "NodeUpdateNodeLabel", Plugin: "NodeAffinity", Woken: 1, Bound: 1, Skipped: 1},
	}
	got := inspect.CountWakeups(trace)
	if diff := cmp.Diff(want, got, cmp.Transformer("byEvent", func(all []inspect.Wakeups) map[string]inspect.Wakeups {
		byEvent := map[string]inspect.Wakeups{}
		for _, wakeups := range all {
			byEvent[wakeups.Event+wakeups.Plugin] = wakeups
		}
		return byEvent
	})); diff != "" {
		t.Errorf("wake-ups (-want +got):\n%s", diff)
	}

	again := []simulate.TraceEntry{
		{Pod: "a", What: simulate.WhatWoken, Event: "E", Plugin: "P", Queue: simulate.PoolBackoff},
		{Pod: "b", What: simulate.WhatWoken, Event: "E", Plugin: "P", Queue: simulate.PoolBackoff},
		{Pod: "c", What: simulate.WhatBound, Node: "n"}, // was never woken
		{Pod: "a", What: simulate.WhatDeleted},
		{Pod: "a", What: simulate.WhatBound, Node: "n"}, // another pod of the name
		{Pod: "b", What: simulate.WhatSkipped, Event: "F", Plugin: "P"},
	}
	want = []inspect.Wakeups{{Event: "E", Plugin: "P", Woken: 2}, {Event: "F", Plugin: "P", Skipped: 1}}
	if diff := cmp.Diff(want, inspect.CountWakeups(again)); diff != "" {
		t.Errorf("wake-ups (-want +got):\n%s", diff)
	}
}
