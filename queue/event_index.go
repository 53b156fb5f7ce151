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

// occurrence is an event that happened, with the two versions of the object that it happened to.
type occurrence struct {
	event          fwk.ClusterEvent
	interest       *interest
	oldObj, newObj any
}

// label names the event in logs and metrics.
func (o *occurrence) label() string { return cmp.Or(o.event.CustomLabel, o.interest.label) }

// interest is who waits for a kind of event.
type interest struct {
	label    string
	wildcard bool
	// plugins are those of any profile. They alone can lift a gate of theirs, unless the event is a wildcard.
	plugins sets.Set[string]
	// profiles are all of them, those without interest included, by name.
	profiles []profileInterest
}

type profileInterest struct {
	profile string
	// plugins are by name, so that hints run in the same order every time.
	plugins []pluginInterest
}

type pluginInterest struct {
	plugin string
	hints  []registeredHint
}

// registeredHint is what one registration that covers the event brings. A nil hint wants every pod back; a nil narrow
// means that the hint is to be asked for every pod.
type registeredHint struct {
	hint   fwk.QueueingHintFn
	narrow fwk.PreQueueingHintFn
}

// none tells whether the event can be forgotten.
func (i *interest) none() bool { return !i.wildcard && len(i.plugins) == 0 }

// liftsGate tells whether the pods that a plugin gates are worth a look; the empty name stands for no gate.
func (i *interest) liftsGate(plugin string) bool { return plugin == "" || i.plugins.Has(plugin) }

func (i *interest) ofProfile(name string) *profileInterest {
	for p := range i.profiles {
		if i.profiles[p].profile == name {
			return &i.profiles[p]
		}
	}
	return nil
}

// eventIndex answers who waits for an event. It asks the event maps of the profiles once for every kind of event that
// happens, and remembers the answer; Queue.mu guards it.
type eventIndex struct {
	profiles map[string]Profile
	known    map[fwk.ClusterEvent]*interest
}

func newEventIndex(profiles map[string]Profile) eventIndex {
	return eventIndex{profiles: profiles, known: map[fwk.ClusterEvent]*interest{}}
}

func (x *eventIndex) occurrence(event fwk.ClusterEvent, oldObj, newObj any) occurrence {
	return occurrence{event: event, interest: x.interest(event), oldObj: oldObj, newObj: newObj}
}

func (x *eventIndex) interest(event fwk.ClusterEvent) *interest {
	event.CustomLabel = ""
	if found := x.known[event]; found != nil {
		return found
	}
	compiled := &interest{label: event.Label(), wildcard: framework.IsWildcard(event), plugins: sets.New[string]()}
	for _, name := range slices.Sorted(maps.Keys(x.profiles)) {
		profile := x.profiles[name]
		waiting := profileInterest{profile: name}
		for _, plugin := range sets.List(profile.Events.Plugins(event)) {
			compiled.plugins.Insert(plugin)
			waiting.plugins = append(waiting.plugins, pluginInterest{plugin, hintsFor(profile.Registrations[plugin], event)})
		}
		compiled.profiles = append(compiled.profiles, waiting)
	}
	x.known[event] = compiled
	return compiled
}

// hintsFor returns the hints of the registrations that cover an event. The event map is what says that a plugin waits:
// one that has no such registration, because none were given, always wants its pods back.
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
