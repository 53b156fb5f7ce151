// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime_test

import (
	"context"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/runtime"
)

func TestRunFilterPlugins(t *testing.T) {
	of := func(name string, code fwk.Code) *fake {
		return returning(name, runtime.MethodFilter, code, "said "+name)
	}
	failure := func(name, message string) result {
		return result{Code: fwk.Error, Message: `running "` + name + `" filter plugin: ` + message, Plugin: name}
	}
	tests := map[string]struct {
		plugins []*fake
		skipped []string
		want    result
		calls   int
	}{
		"no plugins":                     {},
		"success":                        {plugins: []*fake{of("A", fwk.Success)}, calls: 1},
		"error":                          {plugins: []*fake{of("A", fwk.Error)}, want: failure("A", "said A"), calls: 1},
		"unschedulable":                  {plugins: []*fake{of("A", fwk.Unschedulable)}, want: result{fwk.Unschedulable, "said A", "A"}, calls: 1},
		"unresolvable":                   {plugins: []*fake{of("A", fwk.UnschedulableAndUnresolvable)}, want: result{fwk.UnschedulableAndUnresolvable, "said A", "A"}, calls: 1},
		"pending":                        {plugins: []*fake{of("A", fwk.Pending)}, want: result{fwk.Pending, "said A", "A"}, calls: 1},
		"skip is an error":               {plugins: []*fake{of("A", fwk.Skip)}, want: failure("A", `unexpected status Skip "said A"`), calls: 1},
		"wait is an error":               {plugins: []*fake{of("A", fwk.Wait)}, want: failure("A", `unexpected status Wait "said A"`), calls: 1},
		"unknown code is an error":       {plugins: []*fake{of("A", fwk.Code(42))}, want: failure("A", "said A"), calls: 1},
		"success and success":            {plugins: []*fake{of("A", fwk.Success), of("B", fwk.Success)}, calls: 2},
		"success and unschedulable":      {plugins: []*fake{of("A", fwk.Success), of("B", fwk.Unschedulable)}, want: result{fwk.Unschedulable, "said B", "B"}, calls: 2},
		"success and unresolvable":       {plugins: []*fake{of("A", fwk.Success), of("B", fwk.UnschedulableAndUnresolvable)}, want: result{fwk.UnschedulableAndUnresolvable, "said B", "B"}, calls: 2},
		"success and error":              {plugins: []*fake{of("A", fwk.Success), of("B", fwk.Error)}, want: failure("B", "said B"), calls: 2},
		"unschedulable and success":      {plugins: []*fake{of("A", fwk.Unschedulable), of("B", fwk.Success)}, want: result{fwk.Unschedulable, "said A", "A"}, calls: 1},
		"unschedulable and unresolvable": {plugins: []*fake{of("A", fwk.Unschedulable), of("B", fwk.UnschedulableAndUnresolvable)}, want: result{fwk.Unschedulable, "said A", "A"}, calls: 1},
		"unschedulable and error":        {plugins: []*fake{of("A", fwk.Unschedulable), of("B", fwk.Error)}, want: result{fwk.Unschedulable, "said A", "A"}, calls: 1},
		"error and error":                {plugins: []*fake{of("A", fwk.Error), of("B", fwk.Error)}, want: failure("A", "said A"), calls: 1},
		"skipped plugin is not asked":    {plugins: []*fake{of("A", fwk.Unschedulable), of("B", fwk.Success)}, skipped: []string{"A"}, calls: 1},
		"all plugins are skipped":        {plugins: []*fake{of("A", fwk.Unschedulable), of("B", fwk.Error)}, skipped: []string{"A", "B"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var calls journal
			plugins, names := fakes(&calls, test.plugins)
			f := build(t, runtime.Options{}, func(p *configv1.Plugins) { p.Filter = enabled(names...) }, plugins...)
			state := newState()
			state.SetSkipFilterPlugins(sets.New(test.skipped...))
			status := f.RunFilterPlugins(t.Context(), state, objects.Pod("p").Build(), newNode("n"))
			if diff := cmp.Diff(test.want, resultOf(status)); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			if got := len(calls.list()); got != test.calls {
				t.Errorf("%d plugins were called, want %d", got, test.calls)
			}
		})
	}
}

// A plugin may return one and the same status for many nodes and pods at once.
func TestStatusesOfPluginsAreNotChanged(t *testing.T) {
	shared := fwk.NewStatus(fwk.Unschedulable, "no")
	plugin := &fake{name: "A", returns: map[runtime.Method]*fwk.Status{
		runtime.MethodFilter: shared, runtime.MethodReserve: shared, runtime.MethodPreFilter: shared,
	}}
	f := build(t, runtime.Options{}, func(p *configv1.Plugins) {
		p.PreFilter, p.Filter, p.Reserve = enabled("A"), enabled("A"), enabled("A")
	}, plugin)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			f.RunFilterPlugins(context.Background(), newState(), objects.Pod("p").Build(), newNode("n"))
			f.RunPreFilterPlugins(context.Background(), newState(), objects.Pod("p").Build())
			f.RunReservePluginsReserve(context.Background(), newState(), objects.Pod("p").Build(), "n")
		})
	}
	group.Wait()
	if shared.Plugin() != "" || len(shared.Reasons()) != 1 {
		t.Errorf("the plugin's status became %v of plugin %q", shared, shared.Plugin())
	}
}

// A plugin may return the same status for many nodes, with its own name in it; whoever filters a node may change what it
// gets all the same.
func TestStatusOfFilterBelongsToTheCaller(t *testing.T) {
	shared := fwk.NewStatus(fwk.Unschedulable, "no").WithPlugin("A")
	plugin := &fake{name: "A", returns: map[runtime.Method]*fwk.Status{runtime.MethodFilter: shared}}
	f := build(t, runtime.Options{}, func(p *configv1.Plugins) { p.Filter = enabled("A") }, plugin)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			status := f.RunFilterPlugins(context.Background(), newState(), objects.Pod("p").Build(), newNode("n"))
			status.AppendReason("not here")
			status.SetPlugin("Other")
		})
	}
	group.Wait()
	if shared.Plugin() != "A" || shared.Message() != "no" {
		t.Errorf("the plugin's status became %v of plugin %q", shared, shared.Plugin())
	}
}

func TestFilterDoesNotAllocate(t *testing.T) {
	f := build(t, runtime.Options{}, func(p *configv1.Plugins) { p.Filter = enabled("A", "B", "C") },
		filterOnly{"A"}, filterOnly{"B"}, filterOnly{"C"})
	ctx, state, pod, node := t.Context(), newState(), objects.Pod("p").Build(), fwk.NodeInfo(newNode("n"))
	allocs := testing.AllocsPerRun(100, func() {
		if status := f.RunFilterPlugins(ctx, state, pod, node); status != nil {
			t.Error(status)
		}
	})
	if allocs != 0 {
		t.Errorf("filtering a node allocates %v times, want 0", allocs)
	}
	allocs = testing.AllocsPerRun(100, func() {
		if status := f.RunFilterPluginsWithNominatedPods(ctx, state, pod, node); status != nil {
			t.Error(status)
		}
	})
	if allocs != 0 {
		t.Errorf("filtering a node without nominated pods allocates %v times, want 0", allocs)
	}
}

// crowdFilter accepts a node if as many pods are on it as it needs and allows.
type crowdFilter struct {
	filterOnly
	needs, allows int
	journal       *journal
}

func (c crowdFilter) Filter(_ context.Context, _ fwk.CycleState, _ *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	c.journal.add("filter with " + []string{"no other pod", "one other pod", "two other pods"}[len(node.GetPods())])
	if len(node.GetPods()) > c.allows {
		return fwk.NewStatus(fwk.Unschedulable, "crowded")
	}
	if len(node.GetPods()) < c.needs {
		return fwk.NewStatus(fwk.Unschedulable, "lonely")
	}
	return nil
}

func TestRunFilterPluginsWithNominatedPods(t *testing.T) {
	tests := map[string]struct {
		nominated []fwk.PodInfo
		adder     *fake
		needs     int
		allows    int
		want      result
		calls     []string
	}{
		"none": {
			calls: []string{"filter with no other pod"},
		},
		"higher and same priority": {
			nominated: []fwk.PodInfo{podInfo(t, "high", 10), podInfo(t, "same", 5)},
			allows:    2,
			calls: []string{
				"Adder.PreFilterExtensionAddPod", "Adder.PreFilterExtensionAddPod",
				"filter with two other pods", "filter with no other pod",
			},
		},
		"filter fails too": {
			nominated: []fwk.PodInfo{podInfo(t, "high", 10)},
			want:      result{fwk.Unschedulable, "crowded", "Crowd"},
			calls:     []string{"Adder.PreFilterExtensionAddPod", "filter with one other pod"},
		},
		"filter fails without them": {
			nominated: []fwk.PodInfo{podInfo(t, "high", 10)},
			needs:     1,
			allows:    1,
			want:      result{fwk.Unschedulable, "lonely", "Crowd"},
			calls:     []string{"Adder.PreFilterExtensionAddPod", "filter with one other pod", "filter with no other pod"},
		},
		"adding fails": {
			nominated: []fwk.PodInfo{podInfo(t, "high", 10)},
			adder:     returning("Adder", runtime.MethodAddPod, fwk.Error, "broken"),
			want:      result{fwk.Error, `running AddPod on PreFilter plugin "Adder": broken`, "Adder"},
			calls:     []string{"Adder.PreFilterExtensionAddPod"},
		},
		"lower priority": {
			nominated: []fwk.PodInfo{podInfo(t, "low", 1)},
			calls:     []string{"filter with no other pod"},
		},
		"the pod itself": {
			nominated: []fwk.PodInfo{podInfo(t, "p", 5)},
			calls:     []string{"filter with no other pod"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var calls journal
			adder := test.adder
			if adder == nil {
				adder = &fake{name: "Adder"}
			}
			adder.journal = &calls
			nominated := nominator{byNode: map[string][]fwk.PodInfo{"n": test.nominated}}
			f := build(t, runtime.Options{Nominator: nominated}, func(p *configv1.Plugins) {
				p.PreFilter, p.Filter = enabled("Adder"), enabled("Crowd")
			}, adder, crowdFilter{filterOnly{"Crowd"}, test.needs, test.allows, &calls})
			node := newNode("n")
			status := f.RunFilterPluginsWithNominatedPods(t.Context(), newState(), objects.Pod("p").Priority(5).Build(), node)
			if diff := cmp.Diff(test.want, resultOf(status)); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.calls, calls.list()); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if len(node.GetPods()) != 0 {
				t.Error("nominated pods were added to the node itself")
			}
		})
	}
}

func TestNodeInfoWithoutNodeHasNoNominatedPods(t *testing.T) {
	everywhere := nominator{byNode: map[string][]fwk.PodInfo{"": {podInfo(t, "high", 10)}}}
	f := build(t, runtime.Options{Nominator: everywhere}, nil)
	status := f.RunFilterPluginsWithNominatedPods(t.Context(), newState(), objects.Pod("p").Priority(5).Build(), framework.NewNodeInfo())
	if status != nil {
		t.Error(status)
	}
}

func TestRunPostFilterPlugins(t *testing.T) {
	nominating := func(node string) *fwk.PostFilterResult {
		return &fwk.PostFilterResult{NominatingInfo: &fwk.NominatingInfo{NominatedNodeName: node, NominatingMode: fwk.ModeOverride}}
	}
	of := func(name string, code fwk.Code, offers *fwk.PostFilterResult) *fake {
		plugin := returning(name, runtime.MethodPostFilter, code, "said "+name)
		plugin.offers = offers
		return plugin
	}
	noop := &fwk.PostFilterResult{NominatingInfo: &fwk.NominatingInfo{NominatingMode: fwk.ModeNoop}}
	tests := map[string]struct {
		plugins []*fake
		skipAll bool
		want    result
		offered *fwk.PostFilterResult
		calls   int
	}{
		"the first success wins": {
			plugins: []*fake{of("A", fwk.Unschedulable, nil), of("B", fwk.Success, nominating("n")), of("C", fwk.Success, nil)},
			want:    result{Message: "said B"}, offered: nominating("n"), calls: 2,
		},
		"all fail": {
			plugins: []*fake{of("A", fwk.Unschedulable, nil), of("B", fwk.Pending, noop)},
			want:    result{fwk.Unschedulable, "said A, said B", "A"}, calls: 2,
		},
		"the last nomination is kept": {
			plugins: []*fake{of("A", fwk.Unschedulable, nominating("n1")), of("B", fwk.Unschedulable, nominating("n2")), of("C", fwk.Unschedulable, noop)},
			want:    result{fwk.Unschedulable, "said A, said B, said C", "A"}, offered: nominating("n2"), calls: 3,
		},
		"unresolvable ends it": {
			plugins: []*fake{of("A", fwk.Unschedulable, nil), of("B", fwk.UnschedulableAndUnresolvable, nominating("n")), of("C", fwk.Success, nil)},
			want:    result{fwk.UnschedulableAndUnresolvable, "said B", "B"}, offered: nominating("n"), calls: 2,
		},
		"an error ends it": {
			plugins: []*fake{of("A", fwk.Unschedulable, nominating("n")), of("B", fwk.Error, nil), of("C", fwk.Success, nil)},
			want:    result{fwk.Error, "said B", "B"}, calls: 2,
		},
		"skip is an error": {
			plugins: []*fake{of("A", fwk.Skip, nil)},
			want:    result{fwk.Error, `unexpected status Skip "said A"`, "A"}, calls: 1,
		},
		"skip all": {
			plugins: []*fake{of("A", fwk.Success, nil)}, skipAll: true,
			want: result{Code: fwk.Unschedulable, Message: "All PostFilter plugins are skipped"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var calls journal
			plugins, names := fakes(&calls, test.plugins)
			f := build(t, runtime.Options{}, func(p *configv1.Plugins) { p.PostFilter = enabled(names...) }, plugins...)
			state := newState()
			state.SetSkipAllPostFilterPlugins(test.skipAll)
			offered, status := f.RunPostFilterPlugins(t.Context(), state, objects.Pod("p").Build(), nil)
			if diff := cmp.Diff(test.want, resultOf(status)); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.offered, offered); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			if got := len(calls.list()); got != test.calls {
				t.Errorf("%d plugins were called, want %d", got, test.calls)
			}
		})
	}
}
