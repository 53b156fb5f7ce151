// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// EventSource is what the plugins of one profile registered. *runtime.Framework is one.
type EventSource interface {
	// ProfileName is the scheduler name that pods choose the profile by.
	ProfileName() string
	// EventMap is the map from registered events to plugins.
	EventMap() framework.EventMap
	// Registrations is what each plugin registered, with its queueing hints.
	Registrations() map[string][]fwk.ClusterEventWithHint
}

// Events shows the event maps of the profiles of a scheduler: which events wake pods that which plugins rejected.
type Events struct {
	Profiles []ProfileEvents `json:"profiles"`
}

// ProfileEvents is the event map of one profile.
type ProfileEvents struct {
	SchedulerName string `json:"schedulerName"`
	// Registered has a row for each key of the map, as plugins registered it, by resource.
	Registered []RegisteredEvent `json:"registered"`
	// Atomic has a row for each resource and single action that some plugin waits for, in the order of the table of
	// events.
	Atomic []AtomicEvent `json:"atomic"`
}

// RegisteredEvent is a key of the event map and the plugins under it.
type RegisteredEvent struct {
	Resource string        `json:"resource"`
	Actions  []string      `json:"actions"`
	Plugins  []EventPlugin `json:"plugins"`

	key fwk.ClusterEvent
}

// AtomicEvent is something that can happen and the plugins that wait for it.
type AtomicEvent struct {
	// Event is the official label of the event, such as NodeAdd.
	Event    string        `json:"event"`
	Resource string        `json:"resource"`
	Action   string        `json:"action"`
	Plugins  []EventPlugin `json:"plugins"`

	happened fwk.ClusterEvent
}

// EventPlugin is a plugin that waits for an event.
type EventPlugin struct {
	Name string `json:"name"`
	// Hint reports whether the plugin has a queueing hint for the event. Without one, every such event wakes every pod that
	// the plugin rejected.
	Hint bool `json:"hint"`
}

// NewEvents reads the event maps of profiles.
func NewEvents(sources ...EventSource) *Events {
	events := &Events{Profiles: []ProfileEvents{}}
	for _, source := range sources {
		events.Profiles = append(events.Profiles, ProfileEvents{
			SchedulerName: source.ProfileName(),
			Registered:    registeredEvents(source),
			Atomic:        atomicEvents(source),
		})
	}
	return events
}

func registeredEvents(source EventSource) []RegisteredEvent {
	registered := []RegisteredEvent{}
	for _, key := range source.EventMap().Events() {
		registered = append(registered, RegisteredEvent{
			Resource: string(key.Resource),
			Actions:  framework.ActionNames(key.ActionType),
			Plugins: eventPlugins(source, source.EventMap()[key], func(event fwk.ClusterEvent) bool {
				return slices.Contains(framework.UnrollPodEvent(event), key)
			}),
			key: key,
		})
	}
	slices.SortStableFunc(registered, func(a, b RegisteredEvent) int {
		return cmp.Compare(resourceRank(a.Resource), resourceRank(b.Resource))
	})
	return registered
}

func atomicEvents(source EventSource) []AtomicEvent {
	atomic := []AtomicEvent{}
	for _, happened := range possibleEvents(source.EventMap()) {
		names := source.EventMap().Plugins(happened)
		if names.Len() == 0 {
			continue
		}
		atomic = append(atomic, AtomicEvent{
			Event:    happened.Label(),
			Resource: string(happened.Resource),
			Action:   happened.ActionType.String(),
			Plugins: eventPlugins(source, names, func(event fwk.ClusterEvent) bool {
				return framework.Matches(event, happened)
			}),
			happened: happened,
		})
	}
	return atomic
}

// eventPlugins sorts plugins by name and looks up their hints: a plugin has one if all the registrations that cover
// the event do, since one without wakes the pod in any case.
func eventPlugins(source EventSource, names sets.Set[string], covers func(registered fwk.ClusterEvent) bool) []EventPlugin {
	plugins := make([]EventPlugin, 0, names.Len())
	for _, name := range sets.List(names) {
		hint := true
		for _, registration := range source.Registrations()[name] {
			if covers(registration.Event) && registration.QueueingHintFn == nil {
				hint = false
			}
		}
		plugins = append(plugins, EventPlugin{Name: name, Hint: hint})
	}
	return plugins
}

// possibleEvents returns every event that is announced of the resources of the table and of the custom ones that are
// registered, in the order of the table.
func possibleEvents(events framework.EventMap) []fwk.ClusterEvent {
	var possible []fwk.ClusterEvent
	known := sets.New(fwk.WildCard, fwk.Pod)
	for _, row := range framework.Resources() {
		known.Insert(row.Name)
		if row.Optional { // such kinds are not watched
			continue
		}
		for _, action := range row.Actions {
			possible = append(possible, fwk.ClusterEvent{Resource: row.Name, ActionType: action.Bit})
		}
	}
	for _, key := range events.Events() {
		if known.Has(key.Resource) {
			continue
		}
		known.Insert(key.Resource)
		for _, action := range []fwk.ActionType{fwk.Add, fwk.Delete, fwk.Update} {
			possible = append(possible, fwk.ClusterEvent{Resource: key.Resource, ActionType: action})
		}
	}
	return possible
}

// resourceRank is the place of a resource in the table of events; wildcards come first and custom resources last.
func resourceRank(name string) int {
	if name == string(fwk.WildCard) {
		return -1
	}
	table := framework.Resources()
	if at := slices.IndexFunc(table, func(row framework.WatchedResource) bool { return string(row.Name) == name }); at >= 0 {
		return at
	}
	return len(table)
}
