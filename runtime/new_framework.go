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

// NewFramework builds the plugins of a profile, fills the event map, and puts the plugins at their extension points. Plugins
// are built once each, in the order of their names, and only if the profile enables them. The context is the one that their
// factories get.
//
// Without a profile the framework has no plugins. The error holds everything that is wrong with the plugins; those
// that were built are closed then. A plugin that could not be built is a [*BuildError].
func NewFramework(ctx context.Context, registry Registry, profile *profiles.Profile, options Options) (*Framework, error) {
	f := newFramework(profile, options)
	if len(options.Extenders) > 0 {
		f.eventMap.Register(ExtenderName, clusterEvents(framework.AllEvents())...)
		f.hints[ExtenderName] = framework.AllEvents()
	}
	var errs []error
	for name, factory := range registry.enabledBy(profile) {
		plugin, err := f.instantiate(ctx, name, factory) // with its arguments from the configuration
		if err != nil {
			errs = append(errs, &BuildError{f.ProfileName(), name, fmt.Errorf("initializing plugin %q: %w", name, err)})
			continue
		}
		if !canReject(plugin) {
			continue
		}
		events := framework.AllEvents() // a plugin that does not say waits for everything
		if extensions, ok := plugin.(fwk.EnqueueExtensions); ok {
			events, err = f.eventsToRegister(ctx, extensions)
		}
		if err != nil {
			err = fmt.Errorf("asking plugin %q for the events that it waits for: %w", name, err)
			errs = append(errs, &BuildError{f.ProfileName(), name, err})
			continue
		}
		f.eventMap.Register(plugin.Name(), clusterEvents(events)...) // map[fwk.ClusterEvent]sets.Set[string]
		f.hints[plugin.Name()] = append(f.hints[plugin.Name()], f.recoverHints(plugin, events)...)
	}
	err := errors.Join(errs...)
	if err == nil && profile != nil && !options.deferExtensionPoints {
		err = f.addToExtensionPoints()
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// newFramework returns a framework without plugins.
func newFramework(profile *profiles.Profile, options Options) *Framework {
	f := &Framework{
		profile:      profile,
		instances:    map[string]fwk.Plugin{},
		identities:   map[string]*identity{},
		eventMap:     framework.EventMap{},
		hints:        map[string][]fwk.ClusterEventWithHint{},
		parallelizer: NewParallelizer(options.Parallelism, options.Metrics),
	}
	f.options = options.withDefaults(f.ProfileName())
	return f
}

// instantiate calls a factory with the arguments that the profile has for the plugin.
func (f *Framework) instantiate(ctx context.Context, name string, factory PluginFactory) (fwk.Plugin, error) {
	who := identity{name: name, folder: folderOf(factory)}
	var (
		plugin fwk.Plugin
		failed error
	)
	err := f.callWithin(f.options.Execution.FactoryTimeout, MethodFactory, &who, nil, func() {
		plugin, failed = factory(ctx, f.profile.Args(name), f)
		switch {
		case failed != nil:
		case plugin == nil:
			failed = errors.New("the factory returned no plugin")
		case isNil(plugin):
			failed = fmt.Errorf("the factory returned a nil %T, and no error", plugin)
		case plugin.Name() == "":
			failed = errors.New("the plugin has no name")
		}
	})
	if err != nil {
		return nil, err // the factory may still be running
	}
	if failed != nil {
		return nil, failed
	}
	who = identityOf(plugin)
	f.instances[name], f.identities[who.name] = plugin, &who
	return plugin, nil
}

// addToExtensionPoints puts the plugins at the extension points where the profile enables them.
func (f *Framework) addToExtensionPoints() error {
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
	f.collectSigners()
	f.prepareSearch()
	return f.setWeights(resolved.Points[profiles.Score])
}

// has reports whether a plugin was built; its name is that in the registry.
func (f *Framework) has(plugin string) bool { return f.instances[plugin] != nil }

// setWeights looks up the weights of the score plugins. They are configured by the name in the registry, and found by the
// name that the plugin gives itself.
func (f *Framework) setWeights(resolved []profiles.ResolvedPlugin) error {
	var errs []error
	for i := range f.score {
		plugin := &f.score[i]
		configured := slices.IndexFunc(resolved, func(r profiles.ResolvedPlugin) bool { return r.Name == plugin.name })
		if configured < 0 {
			errs = append(errs, fmt.Errorf("score plugin %q is not configured with weight%s", plugin.name, f.registeredAs(plugin.name)))
			continue
		}
		plugin.weight = int64(resolved[configured].Weight)
	}
	return errors.Join(errs...)
}
