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
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/runtime"
)

// otherSorter is another queue sort plugin.
type otherSorter struct{ sorter }

func (otherSorter) Name() string { return "OtherSorter" }

func TestNewProfilesErrors(t *testing.T) {
	profile := func(name string, change ...func(*profiles.Profile)) profiles.Profile {
		p := profileWith(nil)
		p.SchedulerName = name
		for _, f := range change {
			f(p)
		}
		return *p
	}
	otherSort := func(p *profiles.Profile) { p.Plugins.QueueSort = enabled("OtherSorter") }
	args := func(p *profiles.Profile) {
		p.PluginConfig = []profiles.PluginConfig{{Name: "Sorter", Args: &apiruntime.Unknown{Raw: []byte("{}")}}}
	}
	failing := func(p *profiles.Profile) { p.Plugins.Filter = enabled("Failing") }
	tests := map[string]struct {
		config *profiles.Configuration
		want   string
	}{
		"no configuration": {want: "at least one profile is required"},
		"no profile":       {config: &profiles.Configuration{}, want: "at least one profile is required"},
		"no name": {
			config: &profiles.Configuration{Profiles: []profiles.Profile{profile("")}},
			want:   "scheduler name is needed",
		},
		"no plugins": {
			config: &profiles.Configuration{Profiles: []profiles.Profile{{SchedulerName: "a"}}},
			want:   `plugins required for profile with scheduler name "a"`,
		},
		"duplicate": {
			config: &profiles.Configuration{Profiles: []profiles.Profile{profile("a"), profile("b"), profile("a")}},
			want:   `duplicate profile with scheduler name "a"`,
		},
		"different queue sort": {
			config: &profiles.Configuration{Profiles: []profiles.Profile{profile("a"), profile("b", otherSort)}},
			want:   `profile "b": different queue sort plugins for profile "b": "OtherSorter", first: "Sorter"`,
		},
		"different queue sort args": {
			config: &profiles.Configuration{Profiles: []profiles.Profile{profile("a"), profile("b", args)}},
			want:   `profile "b": different queue sort plugin args for profile "b"`,
		},
		"plugins fail in several": {
			config: &profiles.Configuration{Profiles: []profiles.Profile{profile("a", failing), profile(""), profile("b", failing)}},
			want: `creating profile for scheduler name a: initializing plugin "Failing": no luck` + "\n" +
				"scheduler name is needed\n" +
				`creating profile for scheduler name b: initializing plugin "Failing": no luck`,
		},
		"unknown plugin": {
			config: &profiles.Configuration{Profiles: []profiles.Profile{profile("a", func(p *profiles.Profile) { p.Plugins.Filter = enabled("Missing") })}},
			want:   `profile "a": FilterPlugin "Missing" does not exist`,
		},
		"score plugin by another name": {
			config: &profiles.Configuration{Profiles: []profiles.Profile{profile("a", func(p *profiles.Profile) { p.Plugins.Score = enabled("Outer") })}},
			want:   `creating profile for scheduler name a: score plugin "Inner" is not configured with weight; it is registered as "Outer", which its Name method must return`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			registry := registryOf(otherSorter{})
			registry["Failing"] = func(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) {
				return nil, errors.New("no luck")
			}
			registry["Outer"] = func(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) {
				return scoreOnly{name: "Inner"}, nil
			}
			_, err := runtime.NewProfiles(t.Context(), test.config, registry, runtime.Options{})
			if diff := cmp.Diff(test.want, errorText(err)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

// namedRecorder records for one profile.
type namedRecorder struct {
	events.EventRecorderLogger
	profile string
}

func TestNewProfiles(t *testing.T) {
	nodeAdd := fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add}
	nodeDelete := fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Delete}
	filtering := func(name string, plugins ...string) profiles.Profile {
		profile := profileWith(func(p *configv1.Plugins) { p.Filter = enabled(plugins...) })
		profile.SchedulerName = name
		return *profile
	}
	config := &profiles.Configuration{
		Parallelism: 3,
		Profiles:    []profiles.Profile{filtering("b", "B", "C"), filtering("a", "A", "B")},
	}
	registry := registryOf(waiting("A", nodeAdd), waiting("B", nodeAdd, nodeDelete), waiting("C", nodeDelete))
	metrics := &recorder{}
	built, err := runtime.NewProfiles(t.Context(), config, registry, runtime.Options{
		Metrics:  metrics,
		Recorder: func(profile string) events.EventRecorderLogger { return namedRecorder{profile: profile} },
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "b"}, slices.Sorted(maps.Keys(built))); diff != "" {
		t.Fatalf("profiles (-want +got):\n%s", diff)
	}
	wantEvents := map[string][]string{"NodeAdd": {"A", "B"}, "NodeDelete": {"B", "C"}}
	if diff := cmp.Diff(wantEvents, byEvent(built.EventMap())); diff != "" {
		t.Errorf("event map of all profiles (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string][]string{"NodeAdd": {"A", "B"}, "NodeDelete": {"B"}}, byEvent(built["a"].EventMap())); diff != "" {
		t.Errorf("event map of one profile (-want +got):\n%s", diff)
	}
	for name, f := range built {
		if f.ProfileName() != name {
			t.Errorf("profile %s is called %s", name, f.ProfileName())
		}
		if recorder, ok := f.EventRecorder().(namedRecorder); !ok || recorder.profile != name {
			t.Errorf("profile %s records events with %v", name, f.EventRecorder())
		}
	}
	waitFor(built["a"], objects.Pod("p").Build())
	if !built["b"].WillWaitOnPermit(objects.Pod("p").Build()) {
		t.Error("profiles don't share the waiting pods")
	}
	built["a"].AddPodInPreBind("p", func(error) {})
	if built["b"].GetPodInPreBind("p") == nil {
		t.Error("profiles don't share the pods in PreBind")
	}
	built["a"].Parallelizer().Until(t.Context(), 100, func(int) {}, "test")
	if diff := cmp.Diff([]string{"test +3", "test -3"}, metrics.goroutines.list()); diff != "" {
		t.Errorf("goroutines (-want +got):\n%s", diff)
	}
}

func TestProfilesClose(t *testing.T) {
	var closed journal
	config := &profiles.Configuration{}
	for _, name := range []string{"b", "a"} {
		profile := profileWith(func(p *configv1.Plugins) { p.Filter = enabled("Stuck") })
		profile.SchedulerName = name
		config.Profiles = append(config.Profiles, *profile)
	}
	registry := registryOf(closing{filterOnly{"Stuck"}, &closed, errors.New("stuck")})
	built, err := runtime.NewProfiles(t.Context(), config, registry, runtime.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := "profile \"a\": Stuck failed to close: stuck\nprofile \"b\": Stuck failed to close: stuck"
	if diff := cmp.Diff(want, errorText(built.Close())); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}
