// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/runtime"
)

// closing is a plugin that is closed.
type closing struct {
	filterOnly
	closed *journal
	err    error
}

func (c closing) Close() error {
	c.closed.add(c.name)
	return c.err
}

type buildErrorTest struct {
	registry runtime.Registry
	set      func(*profiles.Profile)
	want     string
}

func buildErrorTests() map[string]buildErrorTest {
	renamed := func(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) {
		return scoreOnly{name: "Inner"}, nil
	}
	failing := func(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) {
		return nil, errors.New("no luck")
	}
	nameless := func(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) {
		return filterOnly{}, nil
	}
	typedNil := func(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) {
		var none *fake
		return none, nil
	}
	return map[string]buildErrorTest{
		"unknown score plugin": {
			set:  func(p *profiles.Profile) { p.Plugins.Score = enabled("Missing") },
			want: `profile "test-scheduler": ScorePlugin "Missing" does not exist`,
		},
		"score plugin of the wrong interface": {
			set:  func(p *profiles.Profile) { p.Plugins.Score = enabled("Gate") },
			want: `profile "test-scheduler": plugin "Gate" does not extend ScorePlugin plugin`,
		},
		"duplicated plugin": {
			set:  func(p *profiles.Profile) { p.Plugins.Filter = enabled("Gate", "Gate") },
			want: `profile "test-scheduler": plugin "Gate" already registered as "FilterPlugin"`,
		},
		"duplicated plugin in MultiPoint": {
			set:  func(p *profiles.Profile) { p.Plugins.MultiPoint = enabled("Gate", "Gate") },
			want: `profile "test-scheduler": plugin "Gate" already registered as "FilterPlugin"`,
		},
		"duplicated config": {
			set: func(p *profiles.Profile) {
				p.PluginConfig = []profiles.PluginConfig{{Name: "Gate"}, {Name: "Gate"}}
			},
			want: `profile "test-scheduler": repeated config for plugin Gate`,
		},
		"no queue sort": {
			set:  func(p *profiles.Profile) { p.Plugins.QueueSort = enabled() },
			want: `profile "test-scheduler": only one queue sort plugin required for profile with scheduler name "test-scheduler", but got 0`,
		},
		"two queue sorts": {
			set:  func(p *profiles.Profile) { p.Plugins.QueueSort = enabled("Sorter", "All") },
			want: `profile "test-scheduler": only one queue sort plugin required for profile with scheduler name "test-scheduler", but got 2`,
		},
		"no bind": {
			set:  func(p *profiles.Profile) { p.Plugins.Bind = enabled() },
			want: `profile "test-scheduler": at least one bind plugin is needed for profile with scheduler name "test-scheduler"`,
		},
		"more than one placement generator": {
			set:  func(p *profiles.Profile) { p.Plugins.PlacementGenerate = enabled("Places1", "Places2") },
			want: `profile "test-scheduler": at most one placement generate plugin is allowed for profile with scheduler name "test-scheduler"`,
		},
		"score plugin by another name": {
			registry: runtime.Registry{"Outer": renamed},
			set:      func(p *profiles.Profile) { p.Plugins.Score = enabled("Outer") },
			want:     `score plugin "Inner" is not configured with weight; it is registered as "Outer", which its Name method must return`,
		},
		"factories fail": {
			registry: runtime.Registry{"Failing1": failing, "Failing2": failing},
			set:      func(p *profiles.Profile) { p.Plugins.MultiPoint = enabled("Failing2", "Failing1") },
			want: `initializing plugin "Failing1": no luck` + "\n" +
				`initializing plugin "Failing2": no luck`,
		},
		"factory returns nothing": {
			registry: runtime.Registry{"Nothing": noPlugin},
			set:      func(p *profiles.Profile) { p.Plugins.MultiPoint = enabled("Nothing") },
			want:     `initializing plugin "Nothing": the factory returned no plugin`,
		},
		"factory returns a nil pointer": {
			registry: runtime.Registry{"Nothing": typedNil},
			set:      func(p *profiles.Profile) { p.Plugins.MultiPoint = enabled("Nothing") },
			want:     `initializing plugin "Nothing": the factory returned a nil *runtime_test.fake, and no error`,
		},
		"plugin without name": {
			registry: runtime.Registry{"Nameless": nameless},
			set:      func(p *profiles.Profile) { p.Plugins.MultiPoint = enabled("Nameless") },
			want:     `initializing plugin "Nameless": the plugin has no name`,
		},
	}
}

func TestNewFrameworkErrors(t *testing.T) {
	for name, test := range buildErrorTests() {
		t.Run(name, func(t *testing.T) {
			registry := registryOf(filterOnly{"Gate"}, scoreOnly{name: "Mark"}, &fake{name: "All"}, placing{"Places1"}, placing{"Places2"})
			if err := registry.Merge(test.registry); err != nil {
				t.Fatal(err)
			}
			profile := profileWith(nil)
			test.set(profile)
			_, err := runtime.NewFramework(t.Context(), registry, profile, runtime.Options{})
			if diff := cmp.Diff(test.want, errorText(err)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

// placing is a plugin of an extension point that is known but not run.
type placing struct{ name string }

func (p placing) Name() string { return p.name }
func (placing) GeneratePlacements(context.Context, fwk.PodGroupCycleState, fwk.PodGroupInfo, *fwk.Placement) (*fwk.GeneratePlacementsResult, *fwk.Status) {
	return nil, nil
}

func TestNewFrameworkWithoutProfile(t *testing.T) {
	f, err := runtime.NewFramework(t.Context(), registryOf(), nil, runtime.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(f.EventMap()) != 0 || f.Resolved() != nil || f.ProfileName() != "" || f.Less() != nil || f.PercentageOfNodesToScore() != nil {
		t.Errorf("a framework without a profile has something: events %v, resolved %v, name %q", f.EventMap(), f.Resolved(), f.ProfileName())
	}
	if f.Has(profiles.Bind) {
		t.Error("a framework without a profile has bind plugins")
	}
	if diff := cmp.Diff(&configv1.Plugins{}, f.ListPlugins()); diff != "" {
		t.Errorf("plugins (-want +got):\n%s", diff)
	}
}

func TestNewFrameworkClosesPluginsOnError(t *testing.T) {
	var closed journal
	registry := registryOf(closing{filterOnly{"A"}, &closed, nil}, closing{filterOnly{"B"}, &closed, errors.New("stuck")})
	profile := profileWith(func(p *configv1.Plugins) { p.Filter = enabled("A", "B", "Missing") })
	_, err := runtime.NewFramework(t.Context(), registry, profile, runtime.Options{})
	want := `profile "test-scheduler": FilterPlugin "Missing" does not exist` + "\n" + "B failed to close: stuck"
	if diff := cmp.Diff(want, errorText(err)); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"A", "B"}, closed.list()); diff != "" {
		t.Errorf("closed (-want +got):\n%s", diff)
	}
}

func TestCloseJoinsErrors(t *testing.T) {
	var closed journal
	f := build(t, runtime.Options{}, func(p *configv1.Plugins) { p.Filter = enabled("A", "B", "C", "D") },
		closing{filterOnly{"A"}, &closed, errors.New("stuck")}, closing{filterOnly{"B"}, &closed, nil},
		closing{filterOnly{"C"}, &closed, errors.New("busy")}, filterOnly{"D"})
	if diff := cmp.Diff("A failed to close: stuck\nC failed to close: busy", errorText(f.Close())); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"A", "B", "C"}, closed.list()); diff != "" {
		t.Errorf("closed (-want +got):\n%s", diff)
	}
}

func TestPluginsGetTheirArgs(t *testing.T) {
	args := &apiruntime.Unknown{Raw: []byte(`{"a":1}`)}
	got := map[string]apiruntime.Object{}
	record := func(name string) runtime.PluginFactory {
		return func(_ context.Context, args apiruntime.Object, _ fwk.Handle) (fwk.Plugin, error) {
			got[name] = args
			return filterOnly{name}, nil
		}
	}
	registry := registryOf()
	for _, name := range []string{"With", "Without", "NotNeeded"} {
		registry[name] = record(name)
	}
	profile := profileWith(func(p *configv1.Plugins) {
		p.Filter = enabled("With", "Without")
		p.Score.Disabled = []configv1.Plugin{{Name: "NotNeeded"}}
	})
	profile.PluginConfig = []profiles.PluginConfig{{Name: "With", Args: args}, {Name: "NotNeeded", Args: args}}
	if _, err := runtime.NewFramework(t.Context(), registry, profile, runtime.Options{}); err != nil {
		t.Fatal(err)
	}
	want := map[string]apiruntime.Object{"With": args, "Without": nil}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("arguments by plugin that was built (-want +got):\n%s", diff)
	}
}

type multiPointTest struct {
	set  func(*configv1.Plugins)
	want func(*configv1.Plugins) // what differs from Sorter and Binder alone
}

func multiPointTests() map[string]multiPointTest {
	return map[string]multiPointTest{
		"plain expansion": {
			set: func(p *configv1.Plugins) { p.MultiPoint = enabled("Gate", "Mark") },
			want: func(p *configv1.Plugins) {
				p.Filter, p.Score.Enabled = enabled("Gate"), []configv1.Plugin{weighted("Mark", 1)}
			},
		},
		"queue sort and bind through it": {
			set: func(p *configv1.Plugins) {
				p.QueueSort, p.Bind = enabled(), enabled()
				p.MultiPoint = enabled("Sorter", "Binder")
			},
		},
		"disabled at a point": {
			set: func(p *configv1.Plugins) {
				p.MultiPoint = enabled("Gate", "Gate2", "Mark")
				p.Filter.Disabled = []configv1.Plugin{{Name: "Gate"}}
			},
			want: func(p *configv1.Plugins) {
				p.Filter, p.Score.Enabled = enabled("Gate2"), []configv1.Plugin{weighted("Mark", 1)}
			},
		},
		"all disabled at a point": {
			set: func(p *configv1.Plugins) {
				p.MultiPoint = enabled("Gate", "Gate2", "Mark")
				p.Filter.Disabled = []configv1.Plugin{{Name: "*"}}
			},
			want: func(p *configv1.Plugins) { p.Score.Enabled = []configv1.Plugin{weighted("Mark", 1)} },
		},
		"all disabled and one enabled": {
			set: func(p *configv1.Plugins) {
				p.MultiPoint = enabled("Gate", "Gate2")
				p.Filter = enabled("Gate2")
				p.Filter.Disabled = []configv1.Plugin{{Name: "*"}}
			},
			want: func(p *configv1.Plugins) { p.Filter = enabled("Gate2") },
		},
		"named at the point comes first": {
			set: func(p *configv1.Plugins) {
				p.MultiPoint = enabled("Gate", "Gate2")
				p.Filter = enabled("Gate2")
			},
			want: func(p *configv1.Plugins) { p.Filter = enabled("Gate2", "Gate") },
		},
		"named at the point only comes last": {
			set: func(p *configv1.Plugins) {
				p.MultiPoint = enabled("Gate")
				p.Filter = enabled("Gate2")
			},
			want: func(p *configv1.Plugins) { p.Filter = enabled("Gate", "Gate2") },
		},
		"weight overridden at the point": {
			set: func(p *configv1.Plugins) {
				p.MultiPoint.Enabled = []configv1.Plugin{weighted("Mark", 3), weighted("Mark2", 4)}
				p.Score.Enabled = []configv1.Plugin{weighted("Mark2", 7)}
			},
			want: func(p *configv1.Plugins) {
				p.Score.Enabled = []configv1.Plugin{weighted("Mark2", 7), weighted("Mark", 3)}
			},
		},
	}
}

func TestMultiPoint(t *testing.T) {
	for name, test := range multiPointTests() {
		t.Run(name, func(t *testing.T) {
			f := build(t, runtime.Options{}, test.set, filterOnly{"Gate"}, filterOnly{"Gate2"}, scoreOnly{name: "Mark"}, scoreOnly{name: "Mark2"})
			want := &configv1.Plugins{QueueSort: enabled("Sorter"), Bind: enabled("Binder")}
			if test.want != nil {
				test.want(want)
			}
			if diff := cmp.Diff(want, f.ListPlugins()); diff != "" {
				t.Errorf("plugins (-want +got):\n%s", diff)
			}
			if got, want := f.Has(profiles.Filter), len(want.Filter.Enabled) > 0; got != want {
				t.Errorf("Has(filter) = %v, want %v", got, want)
			}
		})
	}
}

func TestPluginIsBuiltOncePerProfile(t *testing.T) {
	built := 0
	registry := registryOf()
	registry["All"] = func(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) {
		built++
		return &fake{name: "All"}, nil
	}
	profile := profileWith(func(p *configv1.Plugins) {
		p.MultiPoint, p.Filter, p.Score = enabled("All"), enabled("All"), enabled("All")
		p.QueueSort.Disabled = []configv1.Plugin{{Name: "*"}}
	})
	profile.PercentageOfNodesToScore = ptr.To[int32](30)
	f, err := runtime.NewFramework(t.Context(), registry, profile, runtime.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := f.PercentageOfNodesToScore(); got == nil || *got != 30 {
		t.Errorf("percentage of nodes to score: %v, want the profile's 30", got)
	}
	if built != 1 {
		t.Errorf("the factory was called %d times, want 1", built)
	}
	if f.Plugin("All") == nil || f.Plugin("Missing") != nil {
		t.Errorf("Plugin: All is %v, Missing is %v", f.Plugin("All"), f.Plugin("Missing"))
	}
}

func TestTwoFrameworksDontDisturbEachOther(t *testing.T) {
	build := func(code fwk.Code) *runtime.Framework {
		return build(t, runtime.Options{}, func(p *configv1.Plugins) { p.Filter = enabled("Same") },
			returning("Same", runtime.MethodFilter, code))
	}
	accepting, rejecting := build(fwk.Success), build(fwk.Unschedulable)
	pod, node := objects.Pod("p").Build(), newNode("n")
	for range 2 {
		if status := accepting.RunFilterPlugins(t.Context(), newState(), pod, node); !status.IsSuccess() {
			t.Errorf("accepting framework: %v", status)
		}
		if status := rejecting.RunFilterPlugins(t.Context(), newState(), pod, node); !status.IsRejected() {
			t.Errorf("rejecting framework: %v", status)
		}
	}
	accepting.AddWaitingPod(pod, nil)
	if !accepting.WillWaitOnPermit(pod) || rejecting.WillWaitOnPermit(pod) {
		t.Error("frameworks with options of their own share waiting pods")
	}
}
