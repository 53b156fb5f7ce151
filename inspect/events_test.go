// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/inspect"
)

func TestEventsGolden(t *testing.T) {
	events := inspect.NewEvents(usualProfile())
	golden(t, "events.json", events)
	golden(t, "events_of_event.json", events.Narrow(inspect.EventFilter{Event: "NodeAdd"}))
	golden(t, "events_of_plugin.json", events.Narrow(inspect.EventFilter{Plugin: "NodePorts"}))
	golden(t, "events_of_resource.json", events.Narrow(inspect.EventFilter{Event: "AssignedPod", Plugin: "NodeResourcesFit"}))
}

func TestEventPlugins(t *testing.T) {
	tests := map[string]struct {
		registers []fwk.ClusterEventWithHint
		event     string // looked up in the atomic rows
		want      *bool  // the hint, nil: not waited for
	}{
		"with a hint":                  {[]fwk.ClusterEventWithHint{hints(fwk.Node, fwk.Add)}, "NodeAdd", new(true)},
		"without":                      {[]fwk.ClusterEventWithHint{wakes(fwk.Node, fwk.Add)}, "NodeAdd", new(false)},
		"one of two without":           {[]fwk.ClusterEventWithHint{hints(fwk.Node, fwk.Add), wakes(fwk.Node, fwk.Add|fwk.Delete)}, "NodeAdd", new(false)},
		"without for another action":   {[]fwk.ClusterEventWithHint{hints(fwk.Node, fwk.Add), wakes(fwk.Node, fwk.Delete)}, "NodeAdd", new(true)},
		"pods in general":              {[]fwk.ClusterEventWithHint{hints(fwk.Pod, fwk.Delete)}, "AssignedPodDelete", new(true)},
		"other waiting pods":           {[]fwk.ClusterEventWithHint{hints(fwk.Pod, fwk.All)}, "UnscheduledPodAdd", nil},
		"the waiting pod is added":     {[]fwk.ClusterEventWithHint{hints(fwk.Pod, fwk.All)}, "TargetPodAdd", nil},
		"a kind that is not watched":   {[]fwk.ClusterEventWithHint{hints(fwk.PodGroup, fwk.All)}, "scheduling.k8s.io/PodGroupAdd", nil},
		"everything":                   {[]fwk.ClusterEventWithHint{wakes(fwk.WildCard, fwk.All)}, "storage.k8s.io/CSINodeUpdate", new(false)},
		"updates in general":           {[]fwk.ClusterEventWithHint{hints(fwk.TargetPod, fwk.Update)}, "TargetPodUpdate", new(true)},
		"a specific update of them":    {[]fwk.ClusterEventWithHint{hints(fwk.TargetPod, fwk.Update)}, "TargetPodUpdatePodLabel", new(true)},
		"only a specific update":       {[]fwk.ClusterEventWithHint{hints(fwk.TargetPod, fwk.UpdatePodLabel)}, "TargetPodUpdate", nil},
		"a custom resource":            {[]fwk.ClusterEventWithHint{hints("foos.v1.example.com", fwk.Add)}, "foos.v1.example.comAdd", new(true)},
		"another action of it":         {[]fwk.ClusterEventWithHint{hints("foos.v1.example.com", fwk.Add)}, "foos.v1.example.comDelete", nil},
		"an update that cannot happen": {[]fwk.ClusterEventWithHint{hints(fwk.Node, fwk.UpdatePodLabel)}, "NodeUpdatePodLabel", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			source := registered{"p", map[string][]fwk.ClusterEventWithHint{"Foo": test.registers}}
			var got *bool
			for _, row := range inspect.NewEvents(source).Profiles[0].Atomic {
				if row.Event == test.event {
					got = &row.Plugins[0].Hint
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("hint of %s (-want +got):\n%s", test.event, diff)
			}
		})
	}
}

// TestRegisteredIsTheMap checks that the rows of registered are the keys of the event map, no more and no less.
func TestRegisteredIsTheMap(t *testing.T) {
	source := usualProfile()
	rebuilt := framework.EventMap{}
	for _, row := range inspect.NewEvents(source).Profiles[0].Registered {
		event := fwk.ClusterEvent{Resource: fwk.EventResource(row.Resource)}
		for _, name := range row.Actions {
			for _, action := range append(framework.Actions(), framework.EventAction{Name: "Update", Bit: fwk.Update}, framework.EventAction{Name: "All", Bit: fwk.All}) {
				if action.Name == name {
					event.ActionType |= action.Bit
				}
			}
		}
		for _, plugin := range row.Plugins {
			rebuilt.Register(plugin.Name, event)
		}
	}
	if diff := cmp.Diff(source.EventMap(), rebuilt); diff != "" {
		t.Errorf("the event map differs (-map +rows):\n%s", diff)
	}
}

func TestNarrow(t *testing.T) {
	events := inspect.NewEvents(usualProfile())
	tests := map[string]struct {
		filter             inspect.EventFilter
		atomic, registered int
	}{
		"nothing":          {inspect.EventFilter{}, 16, 12},
		"event":            {inspect.EventFilter{Event: "TargetPodUpdatePodToleration"}, 1, 2},
		"resource":         {inspect.EventFilter{Event: "TargetPod"}, 7, 4},
		"plugin":           {inspect.EventFilter{Plugin: "NodePorts"}, 2, 2},
		"both":             {inspect.EventFilter{Event: "NodeAdd", Plugin: "NodePorts"}, 1, 1},
		"both, but apart":  {inspect.EventFilter{Event: "NodeUpdateNodeLabel", Plugin: "NodePorts"}, 0, 0},
		"unknown event":    {inspect.EventFilter{Event: "NodeExplode"}, 0, 0},
		"unwaited-for one": {inspect.EventFilter{Event: "NodeDelete"}, 0, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := events.Narrow(test.filter).Profiles[0]
			if len(got.Atomic) != test.atomic || len(got.Registered) != test.registered {
				t.Errorf("%d atomic and %d registered rows, want %d and %d: %+v",
					len(got.Atomic), len(got.Registered), test.atomic, test.registered, got)
			}
		})
	}
	if got := len(events.Profiles[0].Atomic); got != 16 {
		t.Errorf("narrowing changed the original: %d rows", got)
	}
}

func TestEmptyEvents(t *testing.T) {
	nothing := inspect.NewEvents(registered{name: "lonely"})
	golden(t, "events_none.json", nothing)
	golden(t, "events_of_nothing.json", nothing.Narrow(inspect.EventFilter{Event: "NodeAdd"}))
}

func TestFilterNames(t *testing.T) {
	source := registered{"p", map[string][]fwk.ClusterEventWithHint{"Foo": {hints("foos.v1.example.com", fwk.Add)}}}
	names := inspect.NewEvents(source).FilterNames()
	for _, want := range []string{"NodeAdd", "Node", "TargetPodUpdate", "foos.v1.example.com", "foos.v1.example.comAdd", "storage.k8s.io/CSINodeDelete"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is not among the names", want)
		}
	}
	if compact := slices.Compact(slices.Clone(names)); len(compact) != len(names) {
		t.Error("names are repeated")
	}
}
