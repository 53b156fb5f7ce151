// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	configv1 "k8s.io/kube-scheduler/config/v1"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/profiles"
)

// ListPlugins returns what runs at every extension point as a configuration would list it, in order, with the weights
// of those that score. MultiPoint is empty, because it is expanded.
func (f *Framework) ListPlugins() *configv1.Plugins {
	return &configv1.Plugins{
		PreEnqueue:         f.pluginSet(profiles.PreEnqueue),
		QueueSort:          f.pluginSet(profiles.QueueSort),
		PreFilter:          f.pluginSet(profiles.PreFilter),
		Filter:             f.pluginSet(profiles.Filter),
		PostFilter:         f.pluginSet(profiles.PostFilter),
		PreScore:           f.pluginSet(profiles.PreScore),
		Score:              f.pluginSet(profiles.Score),
		Reserve:            f.pluginSet(profiles.Reserve),
		Permit:             f.pluginSet(profiles.Permit),
		PreBind:            f.pluginSet(profiles.PreBind),
		Bind:               f.pluginSet(profiles.Bind),
		PostBind:           f.pluginSet(profiles.PostBind),
		PlacementGenerate:  f.pluginSet(profiles.PlacementGenerate),
		PlacementScore:     f.pluginSet(profiles.PlacementScore),
		PodGroupPostFilter: f.pluginSet(profiles.PodGroupPostFilter),
	}
}

func (f *Framework) pluginSet(point profiles.ExtensionPoint) configv1.PluginSet {
	var set configv1.PluginSet
	if f.resolved == nil {
		return set
	}
	for _, resolved := range f.resolved.Points[point] {
		plugin := configv1.Plugin{Name: resolved.Name}
		if point.IsScore() {
			plugin.Weight = ptr.To(resolved.Weight)
		}
		set.Enabled = append(set.Enabled, plugin)
	}
	return set
}
