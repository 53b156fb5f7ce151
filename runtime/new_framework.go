// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"

	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/profiles"
)

// NewFramework builds the plugins of a profile and puts them at their extension points. Plugins are built once each,
// in the order of their names, and only if the profile names them. The context is the one that their factories get.
//
// Without a profile the framework has no plugins. The error holds everything that is wrong with the plugins; those
// that were built are closed then.
func NewFramework(ctx context.Context, registry Registry, profile *profiles.Profile, options Options) (*Framework, error) {
	f := newFramework(profile, options)
	err := f.instantiate(ctx, registry)
	if err == nil && profile != nil {
		err = f.arrange()
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// newFramework returns a framework whose plugins are yet to be built.
func newFramework(profile *profiles.Profile, options Options) *Framework {
	f := &Framework{
		profile:       profile,
		instances:     map[string]fwk.Plugin{},
		identities:    map[string]*identity{},
		eventMap:      framework.EventMap{},
		registrations: map[string][]fwk.ClusterEventWithHint{},
		parallelizer:  NewParallelizer(options.Parallelism, options.Metrics),
	}
	f.options = options.withDefaults(f.ProfileName())
	return f
}

// arrange puts the instances at the points where the profile wants them.
func (f *Framework) arrange() error {
	points := extensionPoints()
	resolved, err := f.profile.Resolve(func(plugin string, point profiles.ExtensionPoint) bool {
		return points.extendedBy(f.instances[plugin], point)
	}, f.has)
	if err != nil {
		return err
	}
	f.resolved = resolved
	for _, row := range points {
		for _, plugin := range resolved.Points[row.point] {
			if row.add != nil {
				row.add(f, f.instances[plugin.Name])
			}
		}
	}
	f.arrangeSigning()
	f.arrangeSearch()
	return f.weigh(resolved.Points[profiles.Score])
}

// has tells whether a plugin was built; its name is that in the registry.
func (f *Framework) has(plugin string) bool { return f.instances[plugin] != nil }

// weigh looks up the weights of the score plugins. They are configured by the name in the registry, and found by the
// name that the plugin gives itself.
func (f *Framework) weigh(resolved []profiles.ResolvedPlugin) error {
	var faults []error
	for i := range f.score {
		plugin := &f.score[i]
		configured := slices.IndexFunc(resolved, func(r profiles.ResolvedPlugin) bool { return r.Name == plugin.name })
		if configured < 0 {
			faults = append(faults, fmt.Errorf("score plugin %q is not configured with weight", plugin.name))
			continue
		}
		plugin.weight = int64(resolved[configured].Weight)
	}
	return errors.Join(faults...)
}
