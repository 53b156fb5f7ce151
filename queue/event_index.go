// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// clusterEvent is an event that happened, with the two versions of the object that changed.
type clusterEvent struct {
	kind           fwk.ClusterEvent
	interested     *interestedPlugins
	oldObj, newObj any
	// ofFailure is set if it happened only because an attempt failed.
	ofFailure bool
}

// allowsEarlyPop reports whether a pod that the event wakes may be popped early although it was before. What failures cause
// does not: it could go on forever. An update of a pod in which nothing changed that events distinguish is one of its status,
// as each failure writes it; and a wildcard is no change of the cluster.
func (e *clusterEvent) allowsEarlyPop() bool {
	return !e.ofFailure && !e.interested.wildcard && (e.kind.Resource != fwk.TargetPod || e.kind.ActionType != fwk.Update)
}

// label names the event in logs and metrics.
func (e *clusterEvent) label() string { return cmp.Or(e.kind.CustomLabel, e.interested.label) }

// interestedPlugins are the plugins that registered a kind of event, by profile.
type interestedPlugins struct {
	label    string
	wildcard bool
	// plugins are those of any profile. Pods that another plugin gates cannot wake, unless the event is a wildcard.
	plugins sets.Set[string]
	// profiles are all of them, in the order of their names, those without such a plugin included.
	profiles []profilePlugins
}

type profilePlugins struct {
	profile string
	// plugins are by name, so that hints run in the same order every time.
	plugins []pluginHints
}

type pluginHints struct {
	plugin string
	hints  []registeredHint
}

// registeredHint is what one registration that covers the event brings. A nil hint asks for every pod; a nil preHint
// means that the hint is to be run for every pod.
type registeredHint struct {
	hint    fwk.QueueingHintFn
	preHint fwk.PreQueueingHintFn
}

// isEmpty reports whether the event can be forgotten.
func (i *interestedPlugins) isEmpty() bool { return !i.wildcard && len(i.plugins) == 0 }

// canUngate reports whether the event can wake pods that a PreEnqueue plugin gates; the empty name stands for pods that are
// not gated.
func (i *interestedPlugins) canUngate(plugin string) bool {
	return plugin == "" || i.plugins.Has(plugin)
}

func (i *interestedPlugins) ofProfile(name string) *profilePlugins {
	for p := range i.profiles {
		if i.profiles[p].profile == name {
			return &i.profiles[p]
		}
	}
	return nil
}

// eventIndex finds the plugins that registered an event, and their hints. It reads the event maps of the profiles once for
// every kind of event that happens, and remembers the result; Queue.mu guards it.
type eventIndex struct {
	profiles map[string]Profile
	known    map[fwk.ClusterEvent]*interestedPlugins
}

func newEventIndex(profiles map[string]Profile) eventIndex {
	return eventIndex{profiles: profiles, known: map[fwk.ClusterEvent]*interestedPlugins{}}
}

func (x *eventIndex) newEvent(event fwk.ClusterEvent, oldObj, newObj any) clusterEvent {
	return clusterEvent{kind: event, interested: x.pluginsFor(event), oldObj: oldObj, newObj: newObj}
}

func (x *eventIndex) pluginsFor(event fwk.ClusterEvent) *interestedPlugins {
	event.CustomLabel = ""
	if found := x.known[event]; found != nil {
		return found
	}
	compiled := &interestedPlugins{label: event.Label(), wildcard: framework.IsWildcard(event), plugins: sets.New[string]()}
	for _, name := range slices.Sorted(maps.Keys(x.profiles)) {
		profile := x.profiles[name]
		waiting := profilePlugins{profile: name}
		for _, plugin := range sets.List(profile.Events.Plugins(event)) {
			compiled.plugins.Insert(plugin)
			waiting.plugins = append(waiting.plugins, pluginHints{plugin, hintsFor(profile.Registrations[plugin], event)})
		}
		compiled.profiles = append(compiled.profiles, waiting)
	}
	x.known[event] = compiled
	return compiled
}

// hintsFor returns the hints of the registrations that cover an event. The event map says which plugins registered it:
// for one of them without such a registration, because none were given, the event always wakes its pods.
func hintsFor(registrations []fwk.ClusterEventWithHint, event fwk.ClusterEvent) []registeredHint {
	var hints []registeredHint
	for _, registration := range registrations {
		if framework.Matches(registration.Event, event) {
			hints = append(hints, registeredHint{registration.QueueingHintFn, registration.PreQueueingHintFn})
		}
	}
	if len(hints) == 0 {
		return []registeredHint{{}}
	}
	return hints
}
