// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package defaultpreemption_test

import (
	"strings"
	"testing"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/plugins/defaultpreemption"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
)

func TestNew(t *testing.T) {
	args := func(percentage, absolute int32) *configv1.DefaultPreemptionArgs {
		return &configv1.DefaultPreemptionArgs{
			MinCandidateNodesPercentage: ptr.To(percentage), MinCandidateNodesAbsolute: ptr.To(absolute),
		}
	}
	handle := &fixture.Handle{Informers: fixture.Informers(t)}
	tests := []struct {
		name   string
		args   apiruntime.Object
		handle fwk.Handle
		want   string // part of the error; empty if there is none
	}{
		{"no args", nil, handle, ""},
		{"defaults", args(10, 100), handle, ""},
		{"percentage alone", args(10, 0), handle, ""},
		{"absolute alone", args(0, 1), handle, ""},
		{"all nodes", args(100, 0), handle, ""},
		{"both zero", args(0, 0), handle, "cannot be zero at the same time"},
		{"negative percentage", args(-1, 100), handle, "minCandidateNodesPercentage: Invalid value: -1"},
		{"percentage over 100", args(101, 100), handle, "minCandidateNodesPercentage: Invalid value: 101"},
		{"negative number", args(10, -1), handle, "minCandidateNodesAbsolute: Invalid value: -1"},
		{"other args", &configv1.NodeAffinityArgs{}, handle, "want args to be of type DefaultPreemptionArgs"},
		{"no informers", nil, &fixture.Handle{}, "needs an informer factory"},
		{"no handle", nil, nil, "needs an informer factory"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			plugin, err := defaultpreemption.New(t.Context(), tt.args, tt.handle)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got error %v, want %q", err, tt.want)
			}
			if err == nil && plugin.Name() != "DefaultPreemption" {
				t.Errorf("the plugin calls itself %q", plugin.Name())
			}
		})
	}
}

func newPlugin(t *testing.T) *defaultpreemption.Plugin {
	t.Helper()
	plugin, err := defaultpreemption.New(t.Context(), nil, &fixture.Handle{Informers: fixture.Informers(t)})
	if err != nil {
		t.Fatal(err)
	}
	return plugin.(*defaultpreemption.Plugin)
}

// The hint never wakes anybody, whatever it is given.
func TestHint(t *testing.T) {
	plugin := newPlugin(t)
	hint := fixture.Hint(t, plugin, fwk.AssignedPod, fwk.Delete)
	victim := fixture.Pod("v", fixture.OnNode("a"))
	fixture.CheckHint(t, hint, fixture.Pod("p"), victim, nil, fwk.QueueSkip)
	fixture.CheckHint(t, hint, fixture.Pod("p"), nil, nil, fwk.QueueSkip)
	if events, err := plugin.EventsToRegister(t.Context()); err != nil || len(events) != 1 {
		t.Errorf("registered %v and error %v, want one event", events, err)
	}
	one, ok := plugin.HintClass(fixture.Pod("p"))
	another, okToo := plugin.HintClass(fixture.Pod("q", fixture.OnNode("a")))
	if !ok || !okToo || one != another {
		t.Error("the hint is not asked once for all pods")
	}
}

func TestPodGroupPostFilter(t *testing.T) {
	result, status := newPlugin(t).PodGroupPostFilter(t.Context(), nil, nil, nil)
	fixture.CheckStatus(t, status, fwk.NewStatus(fwk.Unschedulable))
	if result != nil {
		t.Errorf("got result %v, want none", result)
	}
}
