// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
)

// EventMap says which plugins wait for which events: registered event to names of plugins. It is filled once, by
// runtime.NewFramework, when the plugins of a profile are built, and only read afterwards, by any number of goroutines. The index by which the queue
// finds the pods to wake, the event maps of several profiles merged, and explanations are derived from it. Cached verdicts
// do not depend on it.
//
// kube-scheduler's counterpart is the queueing hint map of a profile.
//
// Keys are events as plugins registered them, often several actions combined, without labels; [EventMap.Plugins]
// answers for an event that happens.
type EventMap map[fwk.ClusterEvent]sets.Set[string]

// Register records that a plugin waits for the given events. The resource Pod stands for the three kinds of pods that
// events distinguish: assigned ones, other unscheduled ones, and the waiting pod itself.
func (m EventMap) Register(plugin string, events ...fwk.ClusterEvent) {
	for _, event := range events {
		for _, key := range UnrollPodEvent(event) {
			if m[key] == nil {
				m[key] = sets.New[string]()
			}
			m[key].Insert(plugin)
		}
	}
}

// UnrollPodEvent returns the [EventMap] keys for a registered event: the event without its label, or one for each kind of pod if
// the resource is Pod.
func UnrollPodEvent(event fwk.ClusterEvent) []fwk.ClusterEvent {
	event.CustomLabel = ""
	if event.Resource != fwk.Pod {
		return []fwk.ClusterEvent{event}
	}
	unrolled := make([]fwk.ClusterEvent, 0, 3)
	for _, resource := range []fwk.EventResource{fwk.AssignedPod, fwk.UnscheduledPod, fwk.TargetPod} {
		unrolled = append(unrolled, fwk.ClusterEvent{Resource: resource, ActionType: event.ActionType})
	}
	return unrolled
}

// Merge adds everything that is in other; the two share nothing afterwards.
func (m EventMap) Merge(other EventMap) {
	for event, plugins := range other {
		for plugin := range plugins {
			m.Register(plugin, event)
		}
	}
}

// Plugins returns a new set of the plugins that wait for an event.
func (m EventMap) Plugins(happened fwk.ClusterEvent) sets.Set[string] {
	plugins := sets.New[string]()
	for registered, names := range m {
		if !Matches(registered, happened) {
			continue
		}
		for name := range names {
			plugins.Insert(name)
		}
	}
	return plugins
}

// Actions combines every action that is registered for a resource; zero if there is none. Registrations for all
// resources count, except for optional ones.
func (m EventMap) Actions(resource fwk.EventResource) fwk.ActionType {
	row, _ := LookupResource(resource)
	var actions fwk.ActionType
	for registered := range m {
		if registered.Resource == resource || registered.Resource == fwk.WildCard && !row.Optional {
			actions |= registered.ActionType
		}
	}
	return actions
}

// Events returns the registered events, by resource name and then by action.
func (m EventMap) Events() []fwk.ClusterEvent {
	return slices.SortedFunc(maps.Keys(m), func(a, b fwk.ClusterEvent) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.ActionType, b.ActionType))
	})
}

// Matches reports whether a registration covers an event that happened: the resource is the same, or the registration
// is for all resources or, if a pod changed, for pods in general; and every action of the event is registered. So an
// update that is none of the specific kinds only reaches registrations for updates in general.
func Matches(registered, happened fwk.ClusterEvent) bool {
	if IsWildcard(registered) {
		return true
	}
	return coversResource(registered.Resource, happened.Resource) &&
		happened.ActionType != fwk.None && happened.ActionType&^registered.ActionType == 0
}

func coversResource(registered, happened fwk.EventResource) bool {
	switch registered {
	case fwk.WildCard, happened:
		return true
	case fwk.Pod:
		return happened == fwk.AssignedPod || happened == fwk.UnscheduledPod || happened == fwk.TargetPod
	}
	return false
}
