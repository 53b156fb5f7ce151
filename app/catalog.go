// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"maps"
	"slices"
	"strings"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/inspect"
	"github.com/rouse-scheduler/rouse/plugins"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/runtime"
)

// catalog is what is known of every plugin of a registry, by name.
type catalog map[string]inspect.Plugin

// implements reports whether a plugin implements an extension point.
func (c catalog) implements(plugin string, point profiles.ExtensionPoint) bool {
	return slices.Contains(c[plugin].ExtensionPoints, string(point))
}

// sorted returns the plugins by name, those out of the tree last.
func (c catalog) sorted() *inspect.Plugins {
	view := &inspect.Plugins{Plugins: []inspect.Plugin{}}
	for _, name := range slices.Sorted(maps.Keys(c)) {
		view.Plugins = append(view.Plugins, c[name])
	}
	slices.SortStableFunc(view.Plugins, func(a, b inspect.Plugin) int {
		switch {
		case a.InTree == b.InTree:
			return 0
		case a.InTree:
			return -1
		default:
			return 1
		}
	})
	return view
}

// describePlugins finds out about every plugin by building each of them in a profile of its own. A plugin out of the
// tree gets the arguments that the configuration has for it.
func describePlugins(ctx context.Context, config *profiles.Configuration, registry pluginSet) (catalog, error) {
	descriptions, err := plugins.Describe(ctx)
	if err != nil {
		return nil, err
	}
	known := catalog{}
	for _, description := range descriptions {
		points := make([]string, 0, len(description.Points))
		for _, point := range description.Points {
			points = append(points, string(point))
		}
		known[description.Name] = inspect.Plugin{
			Name: description.Name, InTree: true,
			EnabledByDefault: description.EnabledByDefault, DefaultWeight: description.DefaultWeight,
			ExtensionPoints: points,
		}
	}
	for name := range registry.Registry {
		plugin, inTree := known[name]
		if !inTree {
			plugin = inspect.Plugin{Name: name, ExtensionPoints: []string{}}
		}
		plugin.Events = []inspect.PluginEvent{}
		examine(ctx, &plugin, argsOf(config, name), registry)
		known[name] = plugin
	}
	return known, nil
}

// argsOf returns the first arguments that a configuration has for a plugin, or else its default ones.
func argsOf(config *profiles.Configuration, plugin string) apiruntime.Object {
	for i := range config.Profiles {
		if args := config.Profiles[i].Args(plugin); args != nil {
			return args
		}
	}
	return profiles.DefaultArgs(plugin)
}

// examine builds a plugin alone to see what it registers and, out of the tree, what it implements.
func examine(ctx context.Context, plugin *inspect.Plugin, args apiruntime.Object, registry pluginSet) {
	var built *runtime.Framework
	options, err := emptyCluster(registry.scheme)
	if err == nil {
		built, err = runtime.NewFramework(ctx, registry.Registry, profileOf(plugin.Name, args), options)
	}
	if err != nil {
		plugin.Problem = strings.TrimPrefix(err.Error(), "initializing plugin \""+plugin.Name+"\": ")
		return
	}
	defer built.Close() // an error is of no interest: nothing ran
	instance := built.Plugin(plugin.Name)
	plugin.Events = inspect.NewEvents(built).Profiles[0].PluginEvents(instance.Name())
	if plugin.InTree {
		return
	}
	for _, point := range profiles.AllExtensionPoints() {
		_, sorts := instance.(fwk.QueueSortPlugin)
		runs := func(resolved profiles.ResolvedPlugin) bool { return resolved.Name == plugin.Name }
		if slices.ContainsFunc(built.Resolved().Points[point], runs) || point == profiles.QueueSort && sorts {
			plugin.ExtensionPoints = append(plugin.ExtensionPoints, string(point))
		}
	}
}

// profileOf returns a profile in which a plugin runs at every extension point that it implements, with no other plugins
// than a profile must have. The plugin's own queue sort does not run, as there can only be one.
func profileOf(plugin string, args apiruntime.Object) *profiles.Profile {
	const sorter, binder = "PrioritySort", "DefaultBinder"
	profile := &profiles.Profile{SchedulerName: plugin}
	profile.Plugins.QueueSort = configv1.PluginSet{
		Enabled:  []configv1.Plugin{{Name: sorter}},
		Disabled: []configv1.Plugin{{Name: "*"}},
	}
	profile.Plugins.MultiPoint.Enabled = []configv1.Plugin{{Name: plugin}}
	if plugin != binder {
		profile.Plugins.MultiPoint.Enabled = append(profile.Plugins.MultiPoint.Enabled, configv1.Plugin{Name: binder})
	}
	if args != nil {
		profile.PluginConfig = []profiles.PluginConfig{{Name: plugin, Args: args}}
	}
	return profile
}
