// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package plugins_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rouse-scheduler/rouse/plugins"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/profiles"
)

func TestRegistryHasTheDefaultProfile(t *testing.T) {
	var want []string
	for _, plugin := range profiles.DefaultPlugins() {
		want = append(want, plugin.Name)
	}
	want = append(want, "GangScheduling", "DeferredPodScheduling", "PodGroupPodsCount", "TopologyPlacementGenerator")
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(plugins.NewInTreeRegistry()))); diff != "" {
		t.Errorf("registry differs from the default profile and the plugins whose gates are off (-want +got):\n%s", diff)
	}
}

func TestRegistriesAreIndependent(t *testing.T) {
	first := plugins.NewInTreeRegistry()
	if err := first.Unregister("NodeName"); err != nil {
		t.Fatal(err)
	}
	if plugins.NewInTreeRegistry()["NodeName"] == nil {
		t.Error("a change of one registry shows in the next")
	}
}

func TestFactoriesAcceptNoArgs(t *testing.T) {
	for name, factory := range plugins.NewInTreeRegistry() {
		t.Run(name, func(t *testing.T) {
			plugin, err := factory(t.Context(), nil, &fixture.Handle{Informers: fixture.Informers(t)})
			if err != nil {
				t.Fatal(err)
			}
			if plugin.Name() != name {
				t.Errorf("the plugin calls itself %q", plugin.Name())
			}
		})
	}
}

func TestFactoriesAcceptDefaultArgs(t *testing.T) {
	for name, factory := range plugins.NewInTreeRegistry() {
		if _, err := factory(t.Context(), profiles.DefaultArgs(name), &fixture.Handle{Informers: fixture.Informers(t)}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
