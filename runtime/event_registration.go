// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// ExtenderName is the name under which all extenders together stand in the event map, and as the rejector of pods that
// an extender turned down.
const ExtenderName = "Extender"

// instantiate builds the plugins that the profile needs, and asks each of those that can turn a pod down which events
// could change its mind. The event map is filled here, once, and nowhere else.
func (f *Framework) instantiate(ctx context.Context, registry Registry) error {
	needed := f.neededPlugins()
	if len(f.options.Extenders) > 0 {
		f.register(ExtenderName, framework.AllEvents())
	}
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(registry)) {
		if !needed.Has(name) {
			continue
		}
		plugin, err := f.newPlugin(ctx, name, registry[name])
		if err != nil {
			faults = append(faults, fmt.Errorf("initializing plugin %q: %w", name, err))
			continue
		}
		f.instances[name] = plugin

		if !canReject(plugin) {
			continue
		}
		events, err := f.eventsToRegister(ctx, plugin)
		if err != nil {
			faults = append(faults, fmt.Errorf("asking plugin %q for the events that it waits for: %w", name, err))
			continue
		}
		f.register(plugin.Name(), events)
	}
	return errors.Join(faults...)
}

// canReject tells whether a pod may come to wait for a plugin. Failures at the other extension points are taken for
// passing ones, after which a pod is tried again without an event.
func canReject(plugin fwk.Plugin) bool {
	return extends[fwk.PreEnqueuePlugin](plugin) ||
		extends[fwk.PreFilterPlugin](plugin) ||
		extends[fwk.FilterPlugin](plugin) ||
		extends[fwk.ReservePlugin](plugin) ||
		extends[fwk.PermitPlugin](plugin)
}

// eventsToRegister asks a plugin what it waits for. One that does not say waits for everything.
func (f *Framework) eventsToRegister(ctx context.Context, plugin fwk.Plugin) (events []fwk.ClusterEventWithHint, err error) {
	extensions, ok := plugin.(fwk.EnqueueExtensions)
	if !ok {
		return framework.AllEvents(), nil
	}
	defer f.guard(MethodEventsToRegister, plugin.Name(), nil, &err)
	return extensions.EventsToRegister(ctx)
}

// register enters a plugin in the event map. A plugin without events is remembered too: pods that it turns down are
// woken by no event.
func (f *Framework) register(plugin string, events []fwk.ClusterEventWithHint) {
	guarded := make([]fwk.ClusterEventWithHint, 0, len(events))
	for _, event := range events {
		f.eventMap.Register(plugin, event.Event)
		guarded = append(guarded, f.guardHints(plugin, event))
	}
	f.registrations[plugin] = append(f.registrations[plugin], guarded...)
}

// guardHints wraps the hints of a registration so that one that panics says Queue, and why.
func (f *Framework) guardHints(plugin string, event fwk.ClusterEventWithHint) fwk.ClusterEventWithHint {
	if hint := event.QueueingHintFn; hint != nil {
		event.QueueingHintFn = func(logger klog.Logger, pod *v1.Pod, oldObj, newObj any) (advice fwk.QueueingHint, err error) {
			advice = fwk.Queue
			defer f.guard(MethodQueueingHint, plugin, pod, &err)
			return hint(logger, pod, oldObj, newObj)
		}
	}
	if hint := event.PreQueueingHintFn; hint != nil {
		event.PreQueueingHintFn = func(logger klog.Logger, oldObj, newObj any) (narrowed fwk.PreQueueingHintResult, err error) {
			narrowed.AllPods = true
			defer f.guard(MethodPreQueueingHint, plugin, nil, &err)
			return hint(logger, oldObj, newObj)
		}
	}
	return event
}

// neededPlugins returns the names that the profile enables anywhere.
func (f *Framework) neededPlugins() sets.Set[string] {
	if f.profile == nil {
		return nil
	}
	return sets.New(f.profile.EnabledPlugins()...)
}

// newPlugin calls a factory with the arguments that the profile has for the plugin.
func (f *Framework) newPlugin(ctx context.Context, name string, factory PluginFactory) (plugin fwk.Plugin, err error) {
	defer f.guard(MethodFactory, name, nil, &err)
	plugin, err = factory(ctx, f.profile.Args(name), f)
	switch {
	case err != nil:
		return nil, err
	case plugin == nil:
		return nil, errors.New("the factory returned no plugin")
	case plugin.Name() == "":
		return nil, errors.New("the plugin has no name")
	}
	return plugin, nil
}
