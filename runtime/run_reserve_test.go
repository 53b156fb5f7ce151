// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/runtime"
)

func TestRunReservePlugins(t *testing.T) {
	of := func(name string, code fwk.Code) *fake {
		return returning(name, runtime.MethodReserve, code, "said "+name)
	}
	ok := func(name string) *fake { return &fake{name: name} }
	tests := map[string]struct {
		plugins []*fake
		want    result
		calls   []string
	}{
		"no plugins":       {},
		"all succeed":      {plugins: []*fake{ok("A"), ok("B")}, calls: []string{"A.Reserve", "B.Reserve"}},
		"the first fails":  {plugins: []*fake{of("A", fwk.Error), ok("B"), ok("C")}, want: result{fwk.Error, `running Reserve plugin "A": said A`, "A"}, calls: []string{"A.Reserve"}},
		"the middle fails": {plugins: []*fake{ok("A"), of("B", fwk.Error), ok("C")}, want: result{fwk.Error, `running Reserve plugin "B": said B`, "B"}, calls: []string{"A.Reserve", "B.Reserve"}},
		"the last fails":   {plugins: []*fake{ok("A"), ok("B"), of("C", fwk.Error)}, want: result{fwk.Error, `running Reserve plugin "C": said C`, "C"}, calls: []string{"A.Reserve", "B.Reserve", "C.Reserve"}},
		"rejection":        {plugins: []*fake{of("A", fwk.Unschedulable), ok("B")}, want: result{fwk.Unschedulable, "said A", "A"}, calls: []string{"A.Reserve"}},
		"unresolvable":     {plugins: []*fake{of("A", fwk.UnschedulableAndUnresolvable)}, want: result{fwk.UnschedulableAndUnresolvable, "said A", "A"}, calls: []string{"A.Reserve"}},
		"skip is an error": {plugins: []*fake{of("A", fwk.Skip)}, want: result{fwk.Error, `running Reserve plugin "A": unexpected status Skip "said A"`, "A"}, calls: []string{"A.Reserve"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var calls journal
			plugins, names := fakes(&calls, test.plugins)
			f := build(t, runtime.Options{}, func(p *configv1.Plugins) { p.Reserve = enabled(names...) }, plugins...)
			status := f.RunReservePluginsReserve(t.Context(), newState(), objects.Pod("p").Build(), "n")
			if diff := cmp.Diff(test.want, resultOf(status)); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.calls, calls.list()); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnreserveRunsAllPluginsBackwards(t *testing.T) {
	var calls journal
	f := build(t, runtime.Options{}, func(p *configv1.Plugins) { p.Reserve = enabled("A", "B", "C") },
		&fake{name: "A", journal: &calls},
		&fake{name: "B", journal: &calls, panics: map[runtime.Method]any{runtime.MethodUnreserve: "boom"}},
		&fake{name: "C", journal: &calls})
	f.RunReservePluginsUnreserve(t.Context(), newState(), objects.Pod("p").Build(), "n")
	if diff := cmp.Diff([]string{"C.Unreserve", "B.Unreserve", "A.Unreserve"}, calls.list()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}
