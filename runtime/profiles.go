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
	if options.Calls == nil {
		options.Calls = &Calls{}
	}
	if options.WaitingPods == nil {
		options.WaitingPods = NewWaitingPods()
	}
	if options.PodsInPreBind == nil {
		options.PodsInPreBind = NewPodsInPreBind()
	}
	if options.Parallelism == 0 {
		options.Parallelism = int(config.Parallelism)
	}
	built := Profiles{}
	err := built.instantiate(ctx, config, registry, options)
	if err == nil {
		_, err = config.Resolve(built.extends, built.has) // checks all profiles, and one against the other
	}
	if err == nil {
		err = built.arrange()
	}
	if err != nil {
		return nil, errors.Join(err, built.Close())
	}
	return built, nil
}

// instantiate builds the plugins of every profile.
func (p Profiles) instantiate(ctx context.Context, config *profiles.Configuration, registry Registry, options Options) error {
	var faults []error
	for i := range config.Profiles {
		profile := &config.Profiles[i]
		name := profile.SchedulerName
		switch {
		case name == "":
			faults = append(faults, errors.New("scheduler name is needed"))
		case len(profile.EnabledPlugins()) == 0:
			faults = append(faults, fmt.Errorf("plugins required for profile with scheduler name %q", name))
		case p[name] != nil:
			faults = append(faults, fmt.Errorf("duplicate profile with scheduler name %q", name))
		default:
			p[name] = newFramework(profile, options)
			if err := p[name].instantiate(ctx, registry); err != nil {
				faults = append(faults, fmt.Errorf("creating profile for scheduler name %s: %w", name, err))
			}
		}
	}
	return errors.Join(faults...)
}

// arrange puts the plugins of every profile at their extension points.
func (p Profiles) arrange() error {
	var faults []error
	for _, name := range p.names() {
		if err := p[name].arrange(); err != nil {
			faults = append(faults, fmt.Errorf("creating profile for scheduler name %s: %w", name, err))
		}
	}
	return errors.Join(faults...)
}

// names returns the scheduler names, sorted.
func (p Profiles) names() []string { return slices.Sorted(maps.Keys(p)) }

// has tells whether any profile has built a plugin.
func (p Profiles) has(plugin string) bool {
	for _, f := range p {
		if f.has(plugin) {
			return true
		}
	}
	return false
}

// extends tells whether a plugin, as any profile has built it, implements the interface of a point.
func (p Profiles) extends(plugin string, point profiles.ExtensionPoint) bool {
	for _, f := range p {
		if extensionPoints().extendedBy(f.instances[plugin], point) {
			return true
		}
	}
	return false
}

// EventMap merges the event maps of all profiles: what anybody waits for.
func (p Profiles) EventMap() framework.EventMap {
	merged := framework.EventMap{}
	for _, f := range p {
		merged.Merge(f.EventMap())
	}
	return merged
}

// Close closes the plugins of all profiles and returns all their errors.
func (p Profiles) Close() error {
	var faults []error
	for _, name := range p.names() {
		if err := p[name].Close(); err != nil {
			faults = append(faults, fmt.Errorf("profile %q: %w", name, err))
		}
	}
	return errors.Join(faults...)
}
