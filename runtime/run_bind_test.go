// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/runtime"
)

func TestRunPreBindPreFlights(t *testing.T) {
	of := func(name string, code fwk.Code, parallel bool) *fake {
		plugin := returning(name, runtime.MethodPreBindPreFlight, code, "said "+name)
		plugin.allowParallel = parallel
		return plugin
	}
	illegal := func(code string) result {
		return result{fwk.Error, `PreBindPreFlight A returned "` + code + `", which is unsupported. ` +
			`It is supposed to return Success, Skip, or Error status`, "A"}
	}
	tests := map[string]struct {
		plugins  []*fake
		want     result
		skipped  []string
		parallel []string
		calls    int
	}{
		"no plugins":        {want: result{Code: fwk.Skip}},
		"success":           {plugins: []*fake{of("A", fwk.Success, false)}, calls: 1},
		"skip":              {plugins: []*fake{of("A", fwk.Skip, false)}, want: result{Code: fwk.Skip}, skipped: []string{"A"}, calls: 1},
		"all skip":          {plugins: []*fake{of("A", fwk.Skip, true), of("B", fwk.Skip, false)}, want: result{Code: fwk.Skip}, skipped: []string{"A", "B"}, parallel: []string{"A"}, calls: 2},
		"success and skip":  {plugins: []*fake{of("A", fwk.Success, true), of("B", fwk.Skip, true)}, skipped: []string{"B"}, parallel: []string{"A", "B"}, calls: 2},
		"error stops":       {plugins: []*fake{of("A", fwk.Error, true), of("B", fwk.Skip, true)}, want: result{fwk.Error, `running PreBindPreFlight "A": said A`, "A"}, calls: 1},
		"error after skip":  {plugins: []*fake{of("B", fwk.Skip, true), of("A", fwk.Error, true)}, want: result{fwk.Error, `running PreBindPreFlight "A": said A`, "A"}, calls: 2},
		"illegal rejection": {plugins: []*fake{of("A", fwk.Unschedulable, false)}, want: illegal("Unschedulable"), calls: 1},
		"illegal wait":      {plugins: []*fake{of("A", fwk.Wait, false)}, want: illegal("Wait"), calls: 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var calls journal
			plugins, names := fakes(&calls, test.plugins)
			f := build(t, runtime.Options{}, func(p *configv1.Plugins) { p.PreBind = enabled(names...) }, plugins...)
			state := newState()
			status := f.RunPreBindPreFlights(t.Context(), state, objects.Pod("p").Build(), "n")
			if diff := cmp.Diff(test.want, resultOf(status)); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.skipped, sets.List(state.GetSkipPreBindPlugins()), emptyIsNil()); diff != "" {
				t.Errorf("skipped (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.parallel, sets.List(state.GetParallelPreBindPlugins()), emptyIsNil()); diff != "" {
				t.Errorf("parallel (-want +got):\n%s", diff)
			}
			if got := len(calls.list()); got != test.calls {
				t.Errorf("%d plugins were called, want %d", got, test.calls)
			}
		})
	}
}

func TestRunPreBindPlugins(t *testing.T) {
	of := func(name string, code fwk.Code) *fake {
		return returning(name, runtime.MethodPreBind, code, "said "+name)
	}
	tests := map[string]struct {
		plugins []*fake
		skipped []string
		want    result
		calls   []string
	}{
		"no plugins":       {},
		"success":          {plugins: []*fake{of("A", fwk.Success), of("B", fwk.Success)}, calls: []string{"A.PreBind", "B.PreBind"}},
		"rejection":        {plugins: []*fake{of("A", fwk.Unschedulable), of("B", fwk.Success)}, want: result{fwk.Unschedulable, "said A", "A"}, calls: []string{"A.PreBind"}},
		"error":            {plugins: []*fake{of("A", fwk.Success), of("B", fwk.Error)}, want: result{fwk.Error, `running PreBind plugin "B": said B`, "B"}, calls: []string{"A.PreBind", "B.PreBind"}},
		"skip is an error": {plugins: []*fake{of("A", fwk.Skip)}, want: result{fwk.Error, `running PreBind plugin "A": unexpected status Skip "said A"`, "A"}, calls: []string{"A.PreBind"}},
		"skipped":          {plugins: []*fake{of("A", fwk.Error), of("B", fwk.Success)}, skipped: []string{"A"}, calls: []string{"B.PreBind"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var calls journal
			plugins, names := fakes(&calls, test.plugins)
			f := build(t, runtime.Options{}, func(p *configv1.Plugins) { p.PreBind = enabled(names...) }, plugins...)
			state := newState()
			state.SetSkipPreBindPlugins(sets.New(test.skipped...))
			status := f.RunPreBindPlugins(t.Context(), state, objects.Pod("p").Build(), "n")
			if diff := cmp.Diff(test.want, resultOf(status)); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.calls, calls.list()); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

// Every PreBind waits to be let go, so that those that run at the same time are seen together.
func TestPreBindGroups(t *testing.T) {
	tests := map[string]struct {
		plugins  string // in order
		parallel string
		skipped  string
		want     []string
	}{
		"none":               {},
		"no parallel":        {plugins: "AB", want: []string{"A", "B"}},
		"all parallel":       {plugins: "ABC", parallel: "ABC", want: []string{"ABC"}},
		"parallel, then not": {plugins: "ABC", parallel: "AB", want: []string{"AB", "C"}},
		"not, then parallel": {plugins: "ABC", parallel: "BC", want: []string{"A", "BC"}},
		"divided":            {plugins: "ABCDE", parallel: "ABDE", want: []string{"AB", "C", "DE"}},
		"skipped parallel leaves the group whole": {plugins: "ABC", parallel: "ABC", skipped: "B", want: []string{"AC"}},
		"skipped other divides":                   {plugins: "ABC", parallel: "AC", skipped: "B", want: []string{"A", "C"}},
		"skipped first":                           {plugins: "ABC", parallel: "ABC", skipped: "A", want: []string{"BC"}},
		"skipped other first":                     {plugins: "ABC", parallel: "BC", skipped: "A", want: []string{"BC"}},
		"all skipped":                             {plugins: "AB", parallel: "A", skipped: "AB"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var running journal
				release := make(chan struct{})
				var list []*fake
				for _, name := range test.plugins {
					list = append(list, &fake{name: string(name), does: map[runtime.Method]func(context.Context){
						runtime.MethodPreBind: func(context.Context) {
							running.add(string(name))
							<-release
						},
					}})
				}
				plugins, names := fakes(nil, list)
				f := build(t, runtime.Options{}, func(p *configv1.Plugins) { p.PreBind = enabled(names...) }, plugins...)
				state := newState()
				state.SetSkipPreBindPlugins(letters(test.skipped))
				state.SetParallelPreBindPlugins(letters(test.parallel))

				done := make(chan *fwk.Status, 1)
				go func() {
					done <- f.RunPreBindPlugins(context.Background(), state, objects.Pod("p").Build(), "n")
				}()
				var groups []string
				for {
					synctest.Wait()
					group := sets.List(sets.New(running.list()...))
					if len(group) == 0 {
						break
					}
					together := ""
					for _, name := range group {
						together += name
					}
					groups = append(groups, together)
					running.entries = nil
					for range group {
						release <- struct{}{}
					}
				}
				if status := <-done; status != nil {
					t.Error(status)
				}
				if diff := cmp.Diff(test.want, groups, emptyIsNil()); diff != "" {
					t.Errorf("groups (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func letters(names string) sets.Set[string] {
	set := sets.New[string]()
	for _, name := range names {
		set.Insert(string(name))
	}
	return set
}

func TestPreBindGroupRunsInOrderWithoutParallelism(t *testing.T) {
	var calls journal
	plugins, names := fakes(&calls, []*fake{
		{name: "A", allowParallel: true},
		returning("B", runtime.MethodPreBind, fwk.Unschedulable, "no"),
		{name: "C", allowParallel: true},
	})
	f := build(t, runtime.Options{Parallelism: 1}, func(p *configv1.Plugins) { p.PreBind = enabled(names...) }, plugins...)
	state := newState()
	state.SetParallelPreBindPlugins(sets.New(names...))
	status := f.RunPreBindPlugins(t.Context(), state, objects.Pod("p").Build(), "n")
	if diff := cmp.Diff(result{fwk.Unschedulable, "no", "B"}, resultOf(status)); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"A.PreBind", "B.PreBind"}, calls.list()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// obedient is a PreBind plugin that waits for the end of its context, or fails at once.
type obedient struct {
	*fake
	fails *fwk.Status
	cause error // why the context ended
}

func (o *obedient) PreBind(ctx context.Context, _ fwk.CycleState, _ *v1.Pod, _ string) *fwk.Status {
	if o.fails != nil {
		return o.fails
	}
	<-ctx.Done()
	o.cause = context.Cause(ctx)
	return fwk.AsStatus(fmt.Errorf("stopped: %w", ctx.Err()))
}

func TestPreBindCancellation(t *testing.T) {
	build := func(t *testing.T, plugins ...fwk.Plugin) (*runtime.Framework, fwk.CycleState) {
		var names []string
		for _, plugin := range plugins {
			names = append(names, plugin.Name())
		}
		state := newState()
		state.SetParallelPreBindPlugins(sets.New(names...))
		return build(t, runtime.Options{}, func(p *configv1.Plugins) { p.PreBind = enabled(names...) }, plugins...), state
	}
	t.Run("a failure ends the others", func(t *testing.T) {
		patient := &obedient{fake: &fake{name: "Patient"}}
		f, state := build(t, patient, &obedient{fake: &fake{name: "Failing"}, fails: fwk.NewStatus(fwk.Error, "broken")})
		status := f.RunPreBindPlugins(t.Context(), state, objects.Pod("p").Build(), "n")
		if diff := cmp.Diff(result{fwk.Error, `running PreBind plugin "Failing": broken`, "Failing"}, resultOf(status)); diff != "" {
			t.Errorf("status (-want +got):\n%s", diff)
		}
		if got := errorText(patient.cause); got != "some other PreBind operation failed" {
			t.Errorf("the other plugin's context ended because of %q", got)
		}
	})
	for name, plugins := range map[string][]fwk.Plugin{
		"preemption of a single plugin": {&obedient{fake: &fake{name: "A"}}},
		"preemption of a group":         {&obedient{fake: &fake{name: "A"}}, &obedient{fake: &fake{name: "A2"}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, state := build(t, plugins...)
				ctx, cancel := context.WithCancelCause(t.Context())
				done := make(chan *fwk.Status, 1)
				go func() { done <- f.RunPreBindPlugins(ctx, state, objects.Pod("p").Build(), "n") }()
				synctest.Wait()
				cancel(errors.New("preempted"))
				status := <-done
				want := fmt.Sprintf("running PreBind plugin %q: preempted", status.Plugin())
				if status.Code() != fwk.Error || status.Message() != want {
					t.Errorf("status %v %q, want Error %q", status.Code(), status.Message(), want)
				}
			})
		})
	}
	t.Run("ended before it began", func(t *testing.T) {
		f, state := build(t, &fake{name: "A"}, &fake{name: "B"})
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("preempted"))
		status := f.RunPreBindPlugins(ctx, state, objects.Pod("p").Build(), "n")
		want := result{Code: fwk.Error, Message: "running PreBind plugins: preempted"}
		if diff := cmp.Diff(want, resultOf(status)); diff != "" {
			t.Errorf("status (-want +got):\n%s", diff)
		}
	})
}

func TestRunBindPlugins(t *testing.T) {
	of := func(name string, code fwk.Code) *fake {
		return returning(name, runtime.MethodBind, code, "said "+name)
	}
	tests := map[string]struct {
		plugins []*fake
		want    result
		calls   int
	}{
		"all skip":          {plugins: []*fake{of("A", fwk.Skip), of("B", fwk.Skip)}, want: result{Code: fwk.Skip}, calls: 2},
		"success stops":     {plugins: []*fake{of("A", fwk.Skip), of("B", fwk.Success), of("C", fwk.Error)}, want: result{Message: "said B"}, calls: 2},
		"rejection stops":   {plugins: []*fake{of("A", fwk.Unschedulable), of("B", fwk.Success)}, want: result{fwk.Unschedulable, "said A", "A"}, calls: 1},
		"error stops":       {plugins: []*fake{of("A", fwk.Skip), of("B", fwk.Error), of("C", fwk.Success)}, want: result{fwk.Error, `running Bind plugin "B": said B`, "B"}, calls: 2},
		"wait is an error":  {plugins: []*fake{of("A", fwk.Wait)}, want: result{fwk.Error, `running Bind plugin "A": unexpected status Wait "said A"`, "A"}, calls: 1},
		"the error is kept": {plugins: []*fake{of("A", fwk.Error), of("B", fwk.Success)}, want: result{fwk.Error, `running Bind plugin "A": said A`, "A"}, calls: 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var calls journal
			plugins, names := fakes(&calls, test.plugins)
			f := build(t, runtime.Options{}, func(p *configv1.Plugins) { p.Bind = enabled(names...) }, plugins...)
			status := f.RunBindPlugins(t.Context(), newState(), objects.Pod("p").Build(), "n")
			if diff := cmp.Diff(test.want, resultOf(status)); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			if got := len(calls.list()); got != test.calls {
				t.Errorf("%d plugins were called, want %d", got, test.calls)
			}
		})
	}
	bare, err := runtime.NewFramework(t.Context(), nil, nil, runtime.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if status := bare.RunBindPlugins(t.Context(), newState(), objects.Pod("p").Build(), "n"); !status.IsSkip() {
		t.Errorf("without plugins: %v, want Skip", status)
	}
}

func TestPostBindTellsAllPlugins(t *testing.T) {
	var calls journal
	f := build(t, runtime.Options{}, func(p *configv1.Plugins) { p.PostBind = enabled("A", "B", "C") },
		&fake{name: "A", journal: &calls},
		&fake{name: "B", journal: &calls, panics: map[runtime.Method]any{runtime.MethodPostBind: "boom"}},
		&fake{name: "C", journal: &calls})
	f.RunPostBindPlugins(t.Context(), newState(), objects.Pod("p").Build(), "n")
	if diff := cmp.Diff([]string{"A.PostBind", "B.PostBind", "C.PostBind"}, calls.list()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}
