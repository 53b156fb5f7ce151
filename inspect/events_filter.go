// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"slices"
	"strings"

	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// EventFilter narrows a view of the event map. The zero value keeps everything.
type EventFilter struct {
	// Event is the label of an event, such as NodeAdd, or a resource, such as Node, for all its events.
	Event string
	// Plugin is the name of a plugin.
	Plugin string
}

// Narrow returns the rows and plugins that a filter keeps; the receiver does not change.
func (e *Events) Narrow(filter EventFilter) *Events {
	narrowed := &Events{Profiles: make([]ProfileEvents, 0, len(e.Profiles))}
	for _, profile := range e.Profiles {
		narrowed.Profiles = append(narrowed.Profiles, profile.narrow(filter))
	}
	return narrowed
}

func (p ProfileEvents) narrow(filter EventFilter) ProfileEvents {
	kept := ProfileEvents{SchedulerName: p.SchedulerName, Registered: []RegisteredEvent{}, Atomic: []AtomicEvent{}}
	for _, row := range p.Atomic {
		row.Plugins = filter.plugins(row.Plugins)
		if len(row.Plugins) > 0 && (filter.Event == "" || filter.Event == row.Event || filter.Event == row.Resource) {
			kept.Atomic = append(kept.Atomic, row)
		}
	}
	for _, row := range p.Registered {
		row.Plugins = filter.plugins(row.Plugins)
		covers := func(atomic AtomicEvent) bool { return framework.Matches(row.key, atomic.happened) }
		if len(row.Plugins) > 0 && (filter.Event == "" || slices.ContainsFunc(kept.Atomic, covers)) {
			kept.Registered = append(kept.Registered, row)
		}
	}
	return kept
}

func (f EventFilter) plugins(plugins []EventPlugin) []EventPlugin {
	if f.Plugin == "" {
		return plugins
	}
	return slices.DeleteFunc(slices.Clone(plugins), func(plugin EventPlugin) bool { return plugin.Name != f.Plugin })
}

// EventLabels returns the labels of every event of the table, as filters, metrics and traces name them.
func EventLabels() []string {
	var labels []string
	for _, event := range possibleEvents(nil) {
		labels = append(labels, event.Label())
	}
	return labels
}

// NeverAnnounced reports whether a name is that of a resource, or the label of an event, which plugins can register but
// the scheduler never announces, such as UnscheduledPodAdd.
func NeverAnnounced(name string) bool {
	for _, row := range framework.Resources() {
		action, ofResource := strings.CutPrefix(name, string(row.Name))
		if !ofResource || len(row.Actions) > 0 && !row.Optional {
			continue
		}
		known := append(framework.Actions(), framework.EventAction{Name: fwk.Update.String()}, framework.EventAction{})
		return slices.ContainsFunc(known, func(one framework.EventAction) bool { return one.Name == action })
	}
	return false
}

// FilterNames returns what [EventFilter] may name as an event: labels and resources of the table of events, and of the
// custom resources that plugins wait for.
func (e *Events) FilterNames() []string {
	names := EventLabels()
	for _, row := range framework.Resources() {
		names = append(names, string(row.Name))
	}
	for _, profile := range e.Profiles {
		for _, row := range profile.Atomic {
			names = append(names, row.Event, row.Resource)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
