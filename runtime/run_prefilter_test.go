// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/sets"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/runtime"
)

type preFilterTest struct {
	plugins   []*fake
	want      result
	nodes     []string // of the result; nil means all
	narrowers []string // nil means that the set is nil
	skipped   []string
	calls     int // how many of the plugins run
}

func preFilterTests() map[string]preFilterTest {
	keeping := func(name string, nodes ...string) *fake { return &fake{name: name, keeps: sets.New(nodes...)} }
	skipping := func(name string) *fake { return returning(name, runtime.MethodPreFilter, fwk.Skip) }
	return map[string]preFilterTest{
		"no plugins":   {narrowers: []string{}},
		"all succeed":  {plugins: []*fake{{name: "A"}, {name: "B"}}, narrowers: []string{}, calls: 2},
		"one skips":    {plugins: []*fake{skipping("A"), {name: "B"}}, narrowers: []string{}, skipped: []string{"A"}, calls: 2},
		"all skip":     {plugins: []*fake{skipping("A"), skipping("B")}, narrowers: []string{}, skipped: []string{"A", "B"}, calls: 2},
		"nodes of one": {plugins: []*fake{keeping("A", "n1", "n2"), {name: "B"}}, nodes: []string{"n1", "n2"}, narrowers: []string{"A"}, calls: 2},
		"intersection": {plugins: []*fake{keeping("A", "n1", "n2"), keeping("B", "n2", "n3")}, nodes: []string{"n2"}, narrowers: []string{"A", "B"}, calls: 2},
		"nodes of one that skips": {
			plugins:   []*fake{{name: "A", keeps: sets.New("n1"), returns: map[runtime.Method]*fwk.Status{runtime.MethodPreFilter: fwk.NewStatus(fwk.Skip)}}, {name: "B"}},
			narrowers: []string{}, skipped: []string{"A"}, calls: 2,
		},
		"empty node set stops": {
			plugins: []*fake{keeping("A"), {name: "B"}},
			want:    result{Code: fwk.UnschedulableAndUnresolvable, Message: "node(s) didn't satisfy plugin A"},
			nodes:   []string{}, narrowers: []string{"A"}, calls: 1,
		},
		"empty intersection stops": {
			plugins: []*fake{keeping("B", "n1"), keeping("A", "n2"), {name: "C"}},
			want:    result{Code: fwk.UnschedulableAndUnresolvable, Message: "node(s) didn't satisfy plugin(s) [A B] simultaneously"},
			nodes:   []string{}, narrowers: []string{"A", "B"}, calls: 2,
		},
		"unschedulable continues": {
			plugins: []*fake{returning("A", runtime.MethodPreFilter, fwk.Unschedulable, "no"), skipping("B"), keeping("C", "n1")},
			want:    result{Code: fwk.Unschedulable, Message: "no", Plugin: "A"},
			nodes:   []string{"n1"}, narrowers: []string{"C"}, skipped: []string{"B"}, calls: 3,
		},
		"the last unschedulable wins": {
			plugins:   []*fake{returning("A", runtime.MethodPreFilter, fwk.Unschedulable, "no"), returning("B", runtime.MethodPreFilter, fwk.Unschedulable, "never")},
			want:      result{Code: fwk.Unschedulable, Message: "never", Plugin: "B"},
			narrowers: []string{}, calls: 2,
		},
		"unschedulable and unresolvable stops": {
			plugins: []*fake{skipping("A"), returning("B", runtime.MethodPreFilter, fwk.UnschedulableAndUnresolvable, "never"), skipping("C")},
			want:    result{Code: fwk.UnschedulableAndUnresolvable, Message: "never", Plugin: "B"},
			skipped: []string{"A"}, calls: 2,
		},
		"unresolvable after unschedulable": {
			plugins: []*fake{returning("A", runtime.MethodPreFilter, fwk.Unschedulable, "no"), returning("B", runtime.MethodPreFilter, fwk.UnschedulableAndUnresolvable, "never")},
			want:    result{Code: fwk.UnschedulableAndUnresolvable, Message: "never", Plugin: "B"},
			calls:   2,
		},
		"error stops": {
			plugins: []*fake{skipping("A"), returning("B", runtime.MethodPreFilter, fwk.Error, "broken"), skipping("C")},
			want:    result{Code: fwk.Error, Message: `running PreFilter plugin "B": broken`, Plugin: "B"},
			skipped: []string{"A"}, calls: 2,
		},
		"wait is an error": {
			plugins: []*fake{returning("A", runtime.MethodPreFilter, fwk.Wait, "soon")},
			want:    result{Code: fwk.Error, Message: `running PreFilter plugin "A": unexpected status Wait "soon"`, Plugin: "A"},
			calls:   1,
		},
		"pending is an error": {
			plugins: []*fake{returning("A", runtime.MethodPreFilter, fwk.Pending, "soon")},
			want:    result{Code: fwk.Error, Message: `running PreFilter plugin "A": soon`, Plugin: "A"},
			calls:   1,
		},
	}
}

func TestRunPreFilterPlugins(t *testing.T) {
	for name, test := range preFilterTests() {
		t.Run(name, func(t *testing.T) {
			var calls journal
			plugins, names := fakes(&calls, test.plugins)
			f := build(t, runtime.Options{}, func(p *configv1.Plugins) { p.PreFilter = enabled(names...) }, plugins...)
			state := newState()
			kept, status, narrowers := f.RunPreFilterPlugins(t.Context(), state, objects.Pod("p").Build())
			if diff := cmp.Diff(test.want, resultOf(status)); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			if got := kept; got.AllNodes() != (test.nodes == nil) || !got.AllNodes() && !got.NodeNames.Equal(sets.New(test.nodes...)) {
				t.Errorf("nodes: got %v, want %v", got, test.nodes)
			}
			if !narrowers.Equal(sets.New(test.narrowers...)) {
				t.Errorf("narrowing plugins: got %v, want %v", narrowers, test.narrowers)
			}
			if diff := cmp.Diff(test.skipped, slices.Clip(sets.List(state.GetSkipFilterPlugins())), emptyIsNil()); diff != "" {
				t.Errorf("skipped at Filter (-want +got):\n%s", diff)
			}
			if got := len(calls.list()); got != test.calls {
				t.Errorf("%d plugins were called, want %d: %v", got, test.calls, calls.list())
			}
		})
	}
}

// emptyIsNil makes empty and nil slices the same.
func emptyIsNil() cmp.Option {
	return cmp.FilterValues(func(a, b []string) bool { return len(a) == 0 && len(b) == 0 }, cmp.Ignore())
}

func TestPreFilterSeesTheNodesOfTheSnapshot(t *testing.T) {
	f := build(t, runtime.Options{Snapshot: &snapshot{err: errors.New("gone")}}, nil)
	_, status, _ := f.RunPreFilterPlugins(t.Context(), newState(), objects.Pod("p").Build())
	want := result{Code: fwk.Error, Message: "listing the nodes of the snapshot: gone"}
	if diff := cmp.Diff(want, resultOf(status)); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

func TestPreFilterExtensions(t *testing.T) {
	methods := map[string]struct {
		method runtime.Method
		run    func(*runtime.Framework, fwk.CycleState) *fwk.Status
	}{
		"AddPod": {runtime.MethodAddPod, func(f *runtime.Framework, state fwk.CycleState) *fwk.Status {
			return f.RunPreFilterExtensionAddPod(t.Context(), state, objects.Pod("p").Build(), podInfo(t, "other", 0), newNode("n"))
		}},
		"RemovePod": {runtime.MethodRemovePod, func(f *runtime.Framework, state fwk.CycleState) *fwk.Status {
			return f.RunPreFilterExtensionRemovePod(t.Context(), state, objects.Pod("p").Build(), podInfo(t, "other", 0), newNode("n"))
		}},
	}
	for name, m := range methods {
		tests := map[string]struct {
			plugins []*fake
			skipped []string
			want    result
			calls   []string
		}{
			"success": {
				plugins: []*fake{{name: "A"}, {name: "B"}},
				calls:   []string{"A." + string(m.method), "B." + string(m.method)},
			},
			"without extensions": {
				plugins: []*fake{{name: "A", noExtensions: true}, {name: "B"}},
				calls:   []string{"B." + string(m.method)},
			},
			"skipped plugin": {
				plugins: []*fake{{name: "A"}, {name: "B"}}, skipped: []string{"A"},
				calls: []string{"B." + string(m.method)},
			},
			"error": {
				plugins: []*fake{returning("A", m.method, fwk.Error, "broken"), {name: "B"}},
				want:    result{Code: fwk.Error, Message: "running " + name + ` on PreFilter plugin "A": broken`, Plugin: "A"},
				calls:   []string{"A." + string(m.method)},
			},
			"rejection is an error": {
				plugins: []*fake{returning("A", m.method, fwk.Unschedulable, "no")},
				want:    result{Code: fwk.Error, Message: "running " + name + ` on PreFilter plugin "A": no`, Plugin: "A"},
				calls:   []string{"A." + string(m.method)},
			},
		}
		for testName, test := range tests {
			t.Run(name+"/"+testName, func(t *testing.T) {
				var calls journal
				plugins, names := fakes(&calls, test.plugins)
				f := build(t, runtime.Options{}, func(p *configv1.Plugins) { p.PreFilter = enabled(names...) }, plugins...)
				state := newState()
				state.SetSkipFilterPlugins(sets.New(test.skipped...))
				if diff := cmp.Diff(test.want, resultOf(m.run(f, state))); diff != "" {
					t.Errorf("status (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(test.calls, calls.list()); diff != "" {
					t.Errorf("calls (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func podInfo(t testing.TB, name string, priority int32) *framework.PodInfo {
	t.Helper()
	info, err := framework.NewPodInfo(objects.Pod(name).Priority(priority).Build())
	if err != nil {
		t.Fatal(err)
	}
	return info
}
