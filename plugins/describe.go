// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package plugins

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/client-go/informers"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/rouse-scheduler/rouse/plugins/internal/gatedoff"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/runtime"
)

// Description is what there is to say about an in-tree plugin without running it.
type Description struct {
	Name string
	// Points are the extension points that the plugin implements, in the order in which a pod passes them.
	Points []profiles.ExtensionPoint
	// EnabledByDefault reports whether the default profile has the plugin.
	EnabledByDefault bool
	// DefaultWeight is the weight of the plugin's scores in the default profile; zero for plugins that don't score.
	DefaultWeight int32
	// Gate is the feature gate of a plugin that does nothing because its gate is off; empty for all others.
	Gate string
}

// Describe returns a description of every in-tree plugin, in the order of the default profile, and then of those that
// do nothing because their feature gate is off. It builds the default profile with all of them, on an informer factory
// without a cluster, to see what they implement, and fails only if that does.
func Describe(ctx context.Context) ([]Description, error) {
	profile := profiles.DefaultProfile("")
	for _, name := range slices.Sorted(maps.Keys(gatedoff.Gates())) {
		profile.Plugins.MultiPoint.Enabled = append(profile.Plugins.MultiPoint.Enabled, configv1.Plugin{Name: name})
	}
	built, err := runtime.NewFramework(ctx, NewInTreeRegistry(), profile, runtime.Options{
		Clients: runtime.Clients{InformerFactory: informers.NewSharedInformerFactory(nil, 0)},
	})
	if err != nil {
		return nil, fmt.Errorf("building the default profile to describe its plugins: %w", err)
	}
	defer built.Close()
	return describe(profile, built.Resolved()), nil
}

func describe(profile *profiles.Profile, resolved *profiles.Resolved) []Description {
	var descriptions []Description
	for _, enabled := range profile.Plugins.MultiPoint.Enabled {
		gate := gatedoff.Gates()[enabled.Name]
		description := Description{Name: enabled.Name, EnabledByDefault: gate == "", Gate: gate}
		for _, point := range profiles.AllExtensionPoints() {
			for _, plugin := range resolved.Points[point] {
				if plugin.Name != enabled.Name {
					continue
				}
				description.Points = append(description.Points, point)
				if point == profiles.Score {
					description.DefaultWeight = plugin.Weight
				}
			}
		}
		descriptions = append(descriptions, description)
	}
	return descriptions
}
