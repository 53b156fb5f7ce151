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
		f.register(&identity{name: ExtenderName}, framework.AllEvents())
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
		who := identityOf(plugin)
		f.identities[who.name] = &who

		if !canReject(plugin) {
			continue
		}
		events, err := f.eventsToRegister(ctx, &who, plugin)
		if err != nil {
			faults = append(faults, fmt.Errorf("asking plugin %q for the events that it waits for: %w", name, err))
			continue
		}
		f.register(&who, events)
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
func (f *Framework) eventsToRegister(ctx context.Context, who *identity, plugin fwk.Plugin) (events []fwk.ClusterEventWithHint, err error) {
	extensions, ok := plugin.(fwk.EnqueueExtensions)
	if !ok {
		return framework.AllEvents(), nil
	}
	ended := f.call(MethodEventsToRegister, who, nil, func() { events, err = extensions.EventsToRegister(ctx) })
	return events, errors.Join(err, ended)
}

// register enters a plugin in the event map. A plugin without events is remembered too: pods that it turns down are
// woken by no event.
func (f *Framework) register(plugin *identity, events []fwk.ClusterEventWithHint) {
	guarded := make([]fwk.ClusterEventWithHint, 0, len(events))
	for _, event := range events {
		f.eventMap.Register(plugin.name, event.Event)
		if hint := event.QueueingHintFn; hint != nil {
			event.QueueingHintFn = f.guardHint(plugin, hint)
		}
		if hint := event.PreQueueingHintFn; hint != nil {
			event.PreQueueingHintFn = f.guardPreHint(plugin, hint)
		}
		guarded = append(guarded, event)
	}
	f.registrations[plugin.name] = append(f.registrations[plugin.name], guarded...)
}

// guardHint wraps a hint so that one that panics, or ends its goroutine, says Queue, and why.
func (f *Framework) guardHint(plugin *identity, hint fwk.QueueingHintFn) fwk.QueueingHintFn {
	if !plugin.foreign {
		return func(logger klog.Logger, pod *v1.Pod, oldObj, newObj any) (advice fwk.QueueingHint, err error) {
			advice = fwk.Queue
			defer f.guard(MethodQueueingHint, plugin, pod, &err)
			return hint(logger, pod, oldObj, newObj)
		}
	}
	return func(logger klog.Logger, pod *v1.Pod, oldObj, newObj any) (fwk.QueueingHint, error) {
		var advice fwk.QueueingHint
		var err error
		ended := f.call(MethodQueueingHint, plugin, pod, func() { advice, err = hint(logger, pod, oldObj, newObj) })
		if ended != nil {
			return fwk.Queue, ended
		}
		return advice, err
	}
}

// guardPreHint is guardHint for what goes before a hint; instead of Queue, it says that all pods are concerned.
func (f *Framework) guardPreHint(plugin *identity, hint fwk.PreQueueingHintFn) fwk.PreQueueingHintFn {
	return func(logger klog.Logger, oldObj, newObj any) (fwk.PreQueueingHintResult, error) {
		var narrowed fwk.PreQueueingHintResult
		var err error
		ended := f.call(MethodPreQueueingHint, plugin, nil, func() { narrowed, err = hint(logger, oldObj, newObj) })
		if ended != nil {
			return fwk.PreQueueingHintResult{AllPods: true}, ended
		}
		if err != nil {
			f.report(MethodPreQueueingHint, plugin.name, nil, fmt.Errorf("running %s: %w", MethodPreQueueingHint, err))
		}
		return narrowed, err
	}
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
	who := identity{name: name, folder: folderOf(factory)}
	ended := f.call(MethodFactory, &who, nil, func() {
		plugin, err = factory(ctx, f.profile.Args(name), f)
		switch {
		case err != nil:
		case plugin == nil:
			err = errors.New("the factory returned no plugin")
		case isNil(plugin):
			err = fmt.Errorf("the factory returned a nil %T, and no error", plugin)
		case plugin.Name() == "":
			err = errors.New("the plugin has no name")
		}
	})
	if err = errors.Join(err, ended); err != nil {
		return nil, err
	}
	return plugin, nil
}
