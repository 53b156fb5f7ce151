// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rouse-scheduler/rouse/inspect"
)

func TestPluginsGolden(t *testing.T) {
	view := &inspect.Plugins{Plugins: []inspect.Plugin{
		{
			Name: "NodeAffinity", InTree: true, EnabledByDefault: true, DefaultWeight: 2,
			ExtensionPoints: []string{"preFilter", "filter", "preScore", "score"},
			Events:          []inspect.PluginEvent{{Event: "NodeAdd", Hint: true}, {Event: "NodeUpdateNodeLabel", Hint: true}},
		},
		{
			Name: "DynamicResources", InTree: true, EnabledByDefault: true, DefaultWeight: 2,
			ExtensionPoints: []string{"preEnqueue", "preFilter", "filter", "postFilter", "score", "reserve", "preBind", "podGroupPostFilter"},
			Events:          []inspect.PluginEvent{},
		},
		{Name: "PodState", ExtensionPoints: []string{"score"}, Events: []inspect.PluginEvent{}},
		{Name: "NeedsArguments", ExtensionPoints: []string{}, Events: []inspect.PluginEvent{}, Problem: "the address is missing"},
	}}
	golden(t, "plugins.json", view)
}

func TestPluginEvents(t *testing.T) {
	profile := inspect.NewEvents(usualProfile()).Profiles[0]
	want := []inspect.PluginEvent{{Event: "AssignedPodDelete", Hint: true}, {Event: "NodeAdd", Hint: false}}
	if diff := cmp.Diff(want, profile.PluginEvents("NodePorts")); diff != "" {
		t.Errorf("events of NodePorts (-want +got):\n%s", diff)
	}
	if got := profile.PluginEvents("PrioritySort"); got == nil || len(got) > 0 {
		t.Errorf("events of a plugin that waits for none: %#v, want an empty list", got)
	}
}
