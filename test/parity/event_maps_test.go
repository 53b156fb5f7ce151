// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
	upstream "k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/runtime"
)

// silent is a plugin that does not say what it waits for.
type silent struct{}

func (silent) Name() string { return "Silent" }

func (silent) Filter(context.Context, fwk.CycleState, *v1.Pod, fwk.NodeInfo) *fwk.Status { return nil }

// waiting is a plugin that waits for the events that it is given.
type waiting struct {
	silent
	name   string
	events []fwk.ClusterEventWithHint
}

func (w waiting) Name() string { return w.name }

func (w waiting) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return w.events, nil
}

// ownPlugins are plugins that neither project has.
func ownPlugins(waits []fwk.ClusterEventWithHint) runtime.Registry {
	registry := runtime.Registry{}
	for _, plugin := range []fwk.Plugin{silent{}, waiting{name: "Waiting", events: waits}, waiting{name: "Wild", events: []fwk.ClusterEventWithHint{
		{Event: fwk.ClusterEvent{Resource: fwk.WildCard, ActionType: fwk.All}},
	}}} {
		registry[plugin.Name()] = func(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) { return plugin, nil }
	}
	return registry
}

// happenings returns every event that can happen.
func happenings() []fwk.ClusterEvent {
	const custom = "widgets.v1.example.com"
	var all []fwk.ClusterEvent
	for _, action := range []fwk.ActionType{fwk.Add, fwk.Update, fwk.Delete} {
		all = append(all, fwk.ClusterEvent{Resource: custom, ActionType: action})
	}
	for _, resource := range framework.Resources() {
		for _, action := range resource.Actions {
			all = append(all, fwk.ClusterEvent{Resource: resource.Name, ActionType: action.Bit})
		}
	}
	return all
}

// compareEventMaps compares what random sets of plugins wait for, plugins of neither project among them, and which ones
// an event that happens concerns; the latter also with the default profile.
func (m *machine) compareEventMaps(t round) {
	g := newGenerator(t.seed)
	events := happenings()
	waits := some(g, 3, func() fwk.ClusterEventWithHint {
		event := pick(g, events...)
		for range g.IntN(3) {
			event.ActionType |= pick(g, events...).ActionType
		}
		return fwk.ClusterEventWithHint{Event: event}
	})
	p := g.profile(m.available)
	for _, name := range []string{"Silent", "Waiting", "Wild"} {
		if g.oneIn(3) {
			p.plugins = append(p.plugins, configv1.Plugin{Name: name})
		}
	}
	for _, compared := range []struct {
		profile
		what   string
		events int
	}{
		{p, "event map of a random profile", 4}, {all(m.available), "event map of the default profile", 2},
	} {
		their, our := m.withOwnPlugins(t, compared.profile, ownPlugins(waits))
		done := counts{}
		for _, plugin := range compared.plugins {
			want, got := rows(registrations(t, their, plugin.Name)), rows(withoutMoreEvents(plugin.Name, registrations(t, our, plugin.Name)))
			if diff := cmp.Diff(want, got); diff != "" {
				t.mismatch("%s registers (-kube-scheduler +rouse):\n%s", plugin.Name, diff)
			}
			if _, own := ownPlugins(nil)[plugin.Name]; !own {
				done[kind{"event map", plugin.Name}]++
			}
		}
		for range compared.events {
			event := pick(g, events...)
			want, got := theirInterest(t, their, event), our.framework.(*runtime.Framework).EventMap().Plugins(event)
			got = withoutMoreInterest(got, want, event)
			if event.Resource == fwk.VolumeAttachment || event.Resource == fwk.ResourceSlice || event.Resource == framework.Namespace {
				want.Delete("Silent") // differs on purpose
				got = got.Clone().Delete("Silent")
			}
			if diff := cmp.Diff(sets.List(want), sets.List(got)); diff != "" {
				t.mismatch("%s with %v waiting for %v: plugins that %s concerns (-kube-scheduler +rouse):\n%s", compared.what,
					pluginNames(compared.profile), rows(waits), event.Label(), diff)
			}
			done[kind{compared.what, ""}]++
		}
		m.add(done)
	}
}

func (m *machine) withOwnPlugins(t round, p profile, own runtime.Registry) (their, our *side) {
	t.Helper()
	with := func(registry runtime.Registry) runtime.Registry {
		maps.Copy(registry, own)
		return registry
	}
	their, err := inTheirRuntime(t.Context(), cluster{}, p, with(theirFactories()))
	if err != nil {
		t.Fatal(err)
	}
	if our, err = inOurRuntime(t.Context(), cluster{}, p, with(ourFactories())); err != nil {
		t.Fatal(err)
	}
	return their, our
}

// theirInterest returns the plugins that kube-scheduler's framework asks about an event.
func theirInterest(t testing.TB, s *side, event fwk.ClusterEvent) sets.Set[string] {
	t.Helper()
	interested := sets.New[string]()
	for _, plugin := range s.framework.(upstream.Framework).EnqueueExtensions() {
		registered, err := plugin.EventsToRegister(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range registered {
			unrolled := []fwk.ClusterEvent{row.Event}
			if row.Event.Resource == fwk.Pod {
				unrolled = upstream.UnrollPodEvent(row.Event)
			}
			for _, single := range unrolled {
				if upstream.MatchClusterEvents(single, event) {
					interested.Insert(plugin.Name())
				}
			}
		}
	}
	return interested
}

// registrations returns what a plugin registers, in the order of its own list; nothing for a plugin that does not say.
func registrations(t testing.TB, s *side, plugin string) []fwk.ClusterEventWithHint {
	t.Helper()
	extensions, ok := s.plugins[plugin].(fwk.EnqueueExtensions)
	if !ok {
		return nil
	}
	events, err := extensions.EventsToRegister(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// rows describes registrations: resource, actions, and whether there is a hint.
func rows(events []fwk.ClusterEventWithHint) []string {
	var rows []string
	for _, event := range events {
		rows = append(rows, fmt.Sprintf("%s %v hint=%v", event.Event.Resource, framework.ActionNames(event.Event.ActionType), event.QueueingHintFn != nil))
	}
	slices.Sort(rows)
	return rows
}
