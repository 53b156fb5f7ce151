// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/runtime"
)

// waker is a filter plugin that says what it waits for.
type waker struct {
	filterOnly
	events func() ([]fwk.ClusterEventWithHint, error)
}

func (w waker) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return w.events()
}

// waiting is a waker for events without hints.
func waiting(name string, events ...fwk.ClusterEvent) waker {
	return waker{filterOnly{name}, func() ([]fwk.ClusterEventWithHint, error) {
		var registered []fwk.ClusterEventWithHint
		for _, event := range events {
			registered = append(registered, fwk.ClusterEventWithHint{Event: event})
		}
		return registered, nil
	}}
}

// scoreWaker implements EnqueueExtensions, but cannot reject a pod.
type scoreWaker struct{ scoreOnly }

func (scoreWaker) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return nil, errors.New("a score plugin is not asked")
}

// extender is an HTTP extender that is only there.
type extender struct{ fwk.Extender }

// byEvent is an event map in a form that is easy to compare.
func byEvent(m framework.EventMap) map[string][]string {
	readable := map[string][]string{}
	for event, plugins := range m {
		readable[event.Label()] = slices.Sorted(maps.Keys(plugins))
	}
	return readable
}

func TestEventMap(t *testing.T) {
	nodeAdd := fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add}
	podDelete := fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.Delete}
	everything := map[string][]string{}
	for _, event := range framework.AllEvents() {
		everything[event.Event.Label()] = []string{"Silent"}
	}
	everythingForExtender := map[string][]string{}
	for event := range everything {
		everythingForExtender[event] = []string{"Extender"}
	}
	tests := map[string]struct {
		options runtime.Options
		plugins []fwk.Plugin
		want    map[string][]string
		names   []string // of Registrations
	}{
		"plugins share events": {
			plugins: []fwk.Plugin{waiting("A", nodeAdd), waiting("B", nodeAdd, podDelete)},
			want: map[string][]string{
				"NodeAdd":              {"A", "B"},
				"AssignedPodDelete":    {"B"},
				"UnscheduledPodDelete": {"B"},
				"TargetPodDelete":      {"B"},
			},
			names: []string{"A", "B"},
		},
		"without EnqueueExtensions everything": {
			plugins: []fwk.Plugin{filterOnly{"Silent"}},
			want:    everything,
			names:   []string{"Silent"},
		},
		"empty list waits for nothing": {
			plugins: []fwk.Plugin{waiting("Stubborn")},
			want:    map[string][]string{},
			names:   []string{"Stubborn"},
		},
		"plugins that cannot reject are not asked": {
			plugins: []fwk.Plugin{scoreWaker{scoreOnly{name: "Mark"}}},
			want:    map[string][]string{},
		},
		"extenders wait for everything together": {
			options: runtime.Options{Extenders: []fwk.Extender{extender{}, extender{}}},
			want:    everythingForExtender,
			names:   []string{"Extender"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := build(t, test.options, func(p *configv1.Plugins) {
				for _, plugin := range test.plugins {
					p.MultiPoint.Enabled = append(p.MultiPoint.Enabled, configv1.Plugin{Name: plugin.Name()})
				}
			}, test.plugins...)
			if diff := cmp.Diff(test.want, byEvent(f.EventMap())); diff != "" {
				t.Errorf("event map (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.names, slices.Sorted(maps.Keys(f.Registrations()))); diff != "" {
				t.Errorf("registrations (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEventsOfPluginsDisabledEverywhereCount(t *testing.T) {
	f := build(t, runtime.Options{}, func(p *configv1.Plugins) {
		p.MultiPoint = enabled("A")
		p.Filter.Disabled = []configv1.Plugin{{Name: "A"}}
	}, waiting("A", fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add}))
	if diff := cmp.Diff(map[string][]string{"NodeAdd": {"A"}}, byEvent(f.EventMap())); diff != "" {
		t.Errorf("event map (-want +got):\n%s", diff)
	}
}

func TestEventsToRegisterIsCalledOnce(t *testing.T) {
	calls := 0
	plugin := waker{filterOnly{"A"}, func() ([]fwk.ClusterEventWithHint, error) {
		calls++
		return nil, nil
	}}
	f := build(t, runtime.Options{}, func(p *configv1.Plugins) { p.Filter = enabled("A") }, plugin)
	f.EventMap()
	f.Registrations()
	if calls != 1 {
		t.Errorf("EventsToRegister was called %d times, want once", calls)
	}
}

func TestEventsToRegisterErrorsAreJoined(t *testing.T) {
	failing := func(name string) waker {
		return waker{filterOnly{name}, func() ([]fwk.ClusterEventWithHint, error) { return nil, errors.New("no idea") }}
	}
	registry := registryOf(failing("A"), failing("B"), waiting("C"))
	profile := profileWith(func(p *configv1.Plugins) { p.Filter = enabled("A", "B", "C") })
	_, err := runtime.NewFramework(t.Context(), registry, profile, runtime.Options{})
	want := `asking plugin "A" for the events that it waits for: no idea` + "\n" +
		`asking plugin "B" for the events that it waits for: no idea`
	if diff := cmp.Diff(want, errorText(err)); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}

func TestRegistrationsCarryHints(t *testing.T) {
	event := fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add}
	hint := func(klog.Logger, *v1.Pod, any, any) (fwk.QueueingHint, error) { return fwk.QueueSkip, errors.New("hm") }
	narrow := func(klog.Logger, any, any) (fwk.PreQueueingHintResult, error) {
		return fwk.PreQueueingHintResult{}, errors.New("ha")
	}
	plugin := waker{filterOnly{"A"}, func() ([]fwk.ClusterEventWithHint, error) {
		return []fwk.ClusterEventWithHint{{Event: event}, {Event: event, QueueingHintFn: hint, PreQueueingHintFn: narrow}}, nil
	}}
	f := build(t, runtime.Options{}, func(p *configv1.Plugins) { p.Filter = enabled("A") }, plugin)
	registered := f.Registrations()["A"]
	if len(registered) != 2 {
		t.Fatalf("%d registrations, want 2", len(registered))
	}
	if registered[0].QueueingHintFn != nil || registered[0].PreQueueingHintFn != nil {
		t.Error("a registration without hints has got some")
	}
	if advice, err := registered[1].QueueingHintFn(klog.Logger{}, nil, nil, nil); advice != fwk.QueueSkip || errorText(err) != "hm" {
		t.Errorf("hint: %v, %v", advice, err)
	}
	if narrowed, err := registered[1].PreQueueingHintFn(klog.Logger{}, nil, nil); narrowed.AllPods || errorText(err) != "ha" {
		t.Errorf("narrowing hint: %v, %v", narrowed, err)
	}
}
