// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package plugins_test

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
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

// TestChecklistNamesFiles reads the list of places to which a new plugin is added: the files that it names exist.
func TestChecklistNamesFiles(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), "# Adding an in-tree plugin")
	list, _, _ = strings.Cut(list, "\n// #")
	named := regexp.MustCompile(`[a-z_./]+/[a-z_.]+\.(go|md)`).FindAllString(list, -1)
	if len(named) < 9 {
		t.Errorf("the list names %q only", named)
	}
	for _, file := range named {
		if found, _ := filepath.Glob(filepath.Join("..", strings.ReplaceAll(file, "...", "*"))); len(found) == 0 {
			t.Errorf("%s does not exist", file)
		}
	}
	for _, folder := range []string{"plugins", "plugins/internal/gatedoff", "profiles", "inspect", "test/parity"} {
		if !slices.ContainsFunc(named, func(file string) bool { return path.Dir(file) == folder }) {
			t.Errorf("the list names no file in %s", folder)
		}
	}
}
