// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/profiles"
)

// Profiles is the frameworks of a scheduler by scheduler name.
type Profiles map[string]*Framework

// NewProfiles builds a framework for every profile of a configuration. They share the waiting pods and the pods in
// PreBind. Options.Parallelism, where it is zero, is that of the configuration.
//
// The queue is ordered for all profiles by the queue sort plugin of the first, so they must all have that one, with
// the same arguments. The error holds everything that is wrong with any profile, with positions if the configuration
// came from a file; the plugins that were built are closed then.
func NewProfiles(ctx context.Context, config *profiles.Configuration, registry Registry, options Options) (Profiles, error) {
	if config == nil || len(config.Profiles) == 0 {
		return nil, errors.New("at least one profile is required")
	}
	if options.Execution.Calls == nil {
		options.Execution.Calls = &Calls{}
	}
	if options.waiting == nil {
		options.waiting = newWaitingPods()
	}
	if options.preBind == nil {
		options.preBind = newPodsInPreBind()
	}
	if options.Parallelism == 0 {
		options.Parallelism = int(config.Parallelism)
	}
	options.deferExtensionPoints = true // when all plugins are built, because the profiles are checked against each other
	built := Profiles{}
	err := built.build(ctx, config, registry, options)
	if err == nil {
		_, err = config.Resolve(built.extends, built.has) // checks all profiles, and one against the other
	}
	if err == nil {
		err = built.addToExtensionPoints()
	}
	if err != nil {
		return nil, errors.Join(err, built.Close())
	}
	return built, nil
}

// build builds the plugins of every profile.
func (p Profiles) build(ctx context.Context, config *profiles.Configuration, registry Registry, options Options) error {
	var errs []error
	for i := range config.Profiles {
		profile := &config.Profiles[i]
		name := profile.SchedulerName
		switch {
		case name == "":
			errs = append(errs, errors.New("scheduler name is needed"))
		case len(profile.EnabledPlugins()) == 0:
			errs = append(errs, fmt.Errorf("plugins required for profile with scheduler name %q", name))
		case p[name] != nil:
			errs = append(errs, fmt.Errorf("duplicate profile with scheduler name %q", name))
		default:
			f, err := NewFramework(ctx, registry, profile, options)
			if err != nil {
				errs = append(errs, fmt.Errorf("creating profile for scheduler name %s: %w", name, err))
				continue
			}
			p[name] = f
		}
	}
	return errors.Join(errs...)
}

// addToExtensionPoints puts the plugins of every profile at their extension points.
func (p Profiles) addToExtensionPoints() error {
	var errs []error
	for _, name := range p.names() {
		if err := p[name].addToExtensionPoints(); err != nil {
			errs = append(errs, fmt.Errorf("creating profile for scheduler name %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// names returns the scheduler names, sorted.
func (p Profiles) names() []string { return slices.Sorted(maps.Keys(p)) }

// has reports whether any profile has built a plugin.
func (p Profiles) has(plugin string) bool {
	for _, f := range p {
		if f.has(plugin) {
			return true
		}
	}
	return false
}

// extends reports whether a plugin, as any profile has built it, implements the interface of a point.
func (p Profiles) extends(plugin string, point profiles.ExtensionPoint) bool {
	for _, f := range p {
		if extensionPoints().extendedBy(f.instances[plugin], point) {
			return true
		}
	}
	return false
}

// EventMap merges the event maps of all profiles: what any plugin waits for.
func (p Profiles) EventMap() framework.EventMap {
	merged := framework.EventMap{}
	for _, f := range p {
		merged.Merge(f.EventMap())
	}
	return merged
}

// Close closes the plugins of all profiles and returns all their errors.
func (p Profiles) Close() error {
	var errs []error
	for _, name := range p.names() {
		if err := p[name].Close(); err != nil {
			errs = append(errs, fmt.Errorf("profile %q: %w", name, err))
		}
	}
	return errors.Join(errs...)
}
