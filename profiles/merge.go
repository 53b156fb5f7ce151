// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package profiles

import (
	"slices"

	configv1 "k8s.io/kube-scheduler/config/v1"
)

// everyPlugin in a disabled list disables all plugins that are not enabled in the
// same set.
const everyPlugin = "*"

// mergeWithDefaults merges the plugin sets of a profile with the default ones. Only
// MultiPoint has default plugins, so that the other sets are taken as they are.
func mergeWithDefaults(plugins configv1.Plugins) configv1.Plugins {
	plugins = *plugins.DeepCopy()
	for _, point := range allSets() {
		set := setAt(&plugins, point)
		set.Disabled = withoutWeights(set.Disabled)
	}
	plugins.MultiPoint.Enabled = mergeEnabled(DefaultPlugins(), plugins.MultiPoint)
	return plugins
}

func withoutWeights(disabled []configv1.Plugin) []configv1.Plugin {
	for i := range disabled {
		disabled[i].Weight = nil
	}
	return disabled
}

// mergeEnabled returns the default plugins that the user's set keeps, followed by
// the plugins that it adds. A default plugin that the user enables again keeps its
// place and gets the user's weight; one that is also disabled moves to the end.
// Names that the user gives twice stay, to be reported when the profile is resolved.
func mergeEnabled(defaults []configv1.Plugin, user configv1.PluginSet) []configv1.Plugin {
	lastEntry := make(map[string]int, len(user.Enabled))
	for i, plugin := range user.Enabled {
		lastEntry[plugin.Name] = i
	}
	var merged []configv1.Plugin
	placed := make(map[int]bool)
	for _, plugin := range defaults {
		if hasPlugin(user.Disabled, everyPlugin) || hasPlugin(user.Disabled, plugin.Name) {
			continue
		}
		if i, found := lastEntry[plugin.Name]; found {
			plugin = user.Enabled[i]
			placed[i] = true
		}
		merged = append(merged, plugin)
	}
	for i, plugin := range user.Enabled {
		if !placed[i] {
			merged = append(merged, plugin)
		}
	}
	return merged
}

func hasPlugin(plugins []configv1.Plugin, name string) bool {
	return slices.ContainsFunc(plugins, func(p configv1.Plugin) bool { return p.Name == name })
}
