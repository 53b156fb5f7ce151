// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"errors"
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/rouse-scheduler/rouse/profiles"
)

// Configuration shows a scheduler configuration as it takes effect: with every default, and every plugin at the
// extension points where it runs.
type Configuration struct {
	// Source is the file that the configuration comes from, empty for the default one.
	Source string `json:"source,omitempty"`
	// Settings is what all profiles share, in the form of the configuration file.
	Settings  map[string]any `json:"settings"`
	Profiles  []Profile      `json:"profiles"`
	Extenders []any          `json:"extenders,omitempty"`
}

// Profile is a profile with its plugins in the order in which they are called.
type Profile struct {
	SchedulerName string `json:"schedulerName"`
	// PercentageOfNodesToScore is the profile's own; nil uses that of the settings.
	PercentageOfNodesToScore *int32 `json:"percentageOfNodesToScore,omitempty"`
	// ExtensionPoints has every point, in the order in which a pod passes them.
	ExtensionPoints []ExtensionPoint `json:"extensionPoints"`
	// PluginConfig is the arguments of the plugins: those of the file first, then the missing ones by name.
	PluginConfig []PluginArguments `json:"pluginConfig"`
}

// ExtensionPoint is the plugins that run at an extension point.
type ExtensionPoint struct {
	Name    string        `json:"name"`
	Plugins []PointPlugin `json:"plugins"`
}

// PointPlugin is a plugin at an extension point.
type PointPlugin struct {
	Name string `json:"name"`
	// Weight is what its scores are multiplied by; zero where it does not score.
	Weight int32 `json:"weight,omitempty"`
	// From is why it is there: default, multiPoint or named, which is at the very extension point.
	From profiles.Origin `json:"from"`
}

// PluginArguments is the arguments of a plugin, in the form of the configuration file.
type PluginArguments struct {
	Name string `json:"name"`
	// Args is what JSON decodes to; nil if the plugin has none.
	Args any `json:"args"`
}

// NewConfiguration shows a configuration. resolved has the plugins of each profile in the order of the configuration,
// as runtime.Framework.Resolved returns them.
func NewConfiguration(config *profiles.Configuration, resolved []*profiles.Resolved) (*Configuration, error) {
	if len(resolved) != len(config.Profiles) {
		return nil, fmt.Errorf("showing %d profiles of which %d are resolved", len(config.Profiles), len(resolved))
	}
	text, err := config.YAML()
	if err != nil {
		return nil, err
	}
	view := &Configuration{Source: config.Source}
	written := struct {
		Profiles []struct {
			PluginConfig []PluginArguments `json:"pluginConfig"`
		} `json:"profiles"`
		Extenders []any `json:"extenders"`
	}{}
	if err := errors.Join(yaml.Unmarshal(text, &view.Settings), yaml.Unmarshal(text, &written)); err != nil {
		return nil, fmt.Errorf("reading the configuration as written: %w", err)
	}
	for _, name := range []string{"apiVersion", "kind", "profiles", "extenders"} {
		delete(view.Settings, name)
	}
	view.Extenders = written.Extenders
	for i, profile := range config.Profiles {
		view.Profiles = append(view.Profiles, Profile{
			SchedulerName:            profile.SchedulerName,
			PercentageOfNodesToScore: profile.PercentageOfNodesToScore,
			ExtensionPoints:          extensionPoints(resolved[i]),
			PluginConfig:             withoutKinds(written.Profiles[i].PluginConfig),
		})
	}
	return view, nil
}

func extensionPoints(resolved *profiles.Resolved) []ExtensionPoint {
	points := []ExtensionPoint{}
	for _, name := range profiles.AllExtensionPoints() {
		point := ExtensionPoint{Name: string(name), Plugins: []PointPlugin{}}
		for _, plugin := range resolved.Points[name] {
			point.Plugins = append(point.Plugins, PointPlugin{Name: plugin.Name, Weight: plugin.Weight, From: plugin.From})
		}
		points = append(points, point)
	}
	return points
}

// withoutKinds leaves out the kinds of arguments, which follow from the plugins.
func withoutKinds(configs []PluginArguments) []PluginArguments {
	kept := []PluginArguments{}
	for _, config := range configs {
		if fields, ok := config.Args.(map[string]any); ok {
			delete(fields, "kind")
			delete(fields, "apiVersion")
		}
		kept = append(kept, config)
	}
	return kept
}
