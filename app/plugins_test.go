// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/app"
	"github.com/rouse-scheduler/rouse/plugins"
	"github.com/rouse-scheduler/rouse/runtime"
)

// listedPlugins is the form of rouse plugins -o json.
type listedPlugins struct {
	Plugins []listedPlugin `json:"plugins"`
}

type listedPlugin struct {
	Name             string   `json:"name"`
	InTree           bool     `json:"inTree"`
	ExtensionPoints  []string `json:"extensionPoints"`
	EnabledByDefault bool     `json:"enabledByDefault"`
	DefaultWeight    int32    `json:"defaultWeight"`
	Events           []struct {
		Event string `json:"event"`
		Hint  bool   `json:"hint"`
	} `json:"events"`
	Problem string `json:"problem"`
}

func listPlugins(t *testing.T, args []string, options ...app.Option) map[string]listedPlugin {
	t.Helper()
	listed := map[string]listedPlugin{}
	for _, plugin := range decode[listedPlugins](t, succeed(t, append([]string{"plugins", "-o", "json"}, args...), options...)).Plugins {
		listed[plugin.Name] = plugin
	}
	return listed
}

func TestPluginsInTheTree(t *testing.T) {
	listed := listPlugins(t, nil)
	for name := range plugins.NewInTreeRegistry() {
		if plugin := listed[name]; !plugin.InTree || len(plugin.ExtensionPoints) == 0 || plugin.Problem != "" {
			t.Errorf("%s: %+v", name, plugin)
		}
	}
	affinity := listed["NodeAffinity"]
	if diff := cmp.Diff([]string{"preFilter", "filter", "preScore", "score"}, affinity.ExtensionPoints); diff != "" {
		t.Errorf("extension points of NodeAffinity (-want +got):\n%s", diff)
	}
	if !affinity.EnabledByDefault || affinity.DefaultWeight != 2 || len(affinity.Events) != 2 {
		t.Errorf("NodeAffinity: %+v", affinity)
	}
	if !slices.Equal(listed["PrioritySort"].ExtensionPoints, []string{"queueSort"}) {
		t.Errorf("PrioritySort: %+v", listed["PrioritySort"])
	}
}

// sorter is a queue sort plugin, of which a profile can have only one.
type sorter struct{}

func (sorter) Name() string                        { return "Sorter" }
func (sorter) Less(a, b fwk.QueuedEntityInfo) bool { return a.GetTimestamp().Before(b.GetTimestamp()) }

func TestPluginsOutOfTheTree(t *testing.T) {
	build := func(plugin fwk.Plugin, err error) runtime.PluginFactory {
		return func(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) { return plugin, err }
	}
	options := []app.Option{
		withPodState(),
		app.WithPlugin("Sorter", build(sorter{}, nil)),
		app.WithPlugin("Broken", build(nil, errors.New("the moon is full"))),
	}
	listed := listPlugins(t, nil, options...)
	state := listed["PodState"]
	if state.InTree || state.EnabledByDefault || !slices.Equal(state.ExtensionPoints, []string{"filter", "score"}) {
		t.Errorf("PodState: %+v", state)
	}
	var events []string
	for _, event := range state.Events {
		events = append(events, event.Event)
	}
	if diff := cmp.Diff([]string{"NodeAdd", "NodeUpdateNodeLabel", "states.v1.example.comUpdate"}, events); diff != "" {
		t.Errorf("events of PodState (-want +got):\n%s", diff)
	}
	if got := listed["Sorter"]; !slices.Equal(got.ExtensionPoints, []string{"queueSort"}) || got.Problem != "" {
		t.Errorf("Sorter: %+v", got)
	}
	if got := listed["Broken"]; got.Problem != "the moon is full" {
		t.Errorf("Broken: %+v", got)
	}
	text := succeed(t, []string{"plugins"}, options...)
	for _, want := range []string{"PodState (out-of-tree)", "Broken cannot be created: the moon is full"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text does not say %q:\n%s", want, text)
		}
	}
}

// TestPluginsThatNeedArguments checks that the arguments of a configuration are used.
func TestPluginsThatNeedArguments(t *testing.T) {
	strict := func(ctx context.Context, args apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
		if args == nil {
			return nil, errors.New("arguments are missing")
		}
		return newPodState(ctx, args, handle)
	}
	if got := listPlugins(t, nil, app.WithPlugin("PodState", strict))["PodState"]; got.Problem != "arguments are missing" {
		t.Errorf("without arguments: %+v", got)
	}
	config := write(t, t.TempDir(), "scheduler.yaml", podStateConfiguration+"  pluginConfig: [{name: PodState, args: {ready: here}}]\n")
	if got := listPlugins(t, []string{"--config", config}, app.WithPlugin("PodState", strict))["PodState"]; got.Problem != "" || len(got.Events) != 3 {
		t.Errorf("with arguments: %+v", got)
	}
}

// TestPluginThatPanics checks that a plugin cannot take a command down.
func TestPluginThatPanics(t *testing.T) {
	panics := app.WithPlugin("PodState", func(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) { panic("out of beans") })
	if got := listPlugins(t, nil, panics)["PodState"]; !strings.Contains(got.Problem, "out of beans") {
		t.Errorf("PodState: %+v", got)
	}
	config := write(t, t.TempDir(), "scheduler.yaml", podStateConfiguration)
	for _, args := range [][]string{{"events", "--config", config}, {"simulate", "--config", config, scenario(t)}} {
		got := rouse(t, args, panics)
		if got.code != 2 || !strings.HasPrefix(got.stderr, config+":6:28: profiles[0].plugins.multiPoint.enabled[0]: ") || !strings.Contains(got.stderr, "out of beans") {
			t.Errorf("%v: exit code %d, standard error:\n%s", args, got.code, got.stderr)
		}
	}
}
