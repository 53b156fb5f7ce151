// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package defaultpreemption

import (
	"strings"
	"testing"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
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
			built, err := New(t.Context(), tt.args, tt.handle)
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got error %v, want %q", err, tt.want)
			}
			if err == nil && built.Name() != "DefaultPreemption" {
				t.Errorf("the plugin calls itself %q", built.Name())
			}
		})
	}
}

func newPlugin(t *testing.T) *plugin {
	t.Helper()
	built, err := New(t.Context(), nil, &fixture.Handle{Informers: fixture.Informers(t)})
	if err != nil {
		t.Fatal(err)
	}
	return built.(*plugin)
}

// The deletion of a pod never wakes anybody, whatever the hint is given.
func TestHintAfterPodDeleted(t *testing.T) {
	hint := fixture.Hint(t, newPlugin(t), fwk.AssignedPod, fwk.Delete)
	fixture.CheckHint(t, hint, objects.Pod("p").Build(), objects.Pod("v").Node("a").Build(), nil, fwk.QueueSkip)
	fixture.CheckHint(t, hint, objects.Pod("p").Build(), nil, nil, fwk.QueueSkip)
}

// A pod whose victims are ending need not wait for them if their node is gone, or may not take it any more.
func TestHintAfterNodeChange(t *testing.T) {
	built := newPlugin(t)
	changes := fwk.Delete | fwk.UpdateNodeLabel | fwk.UpdateNodeTaint | fwk.UpdateNodeAllocatable | fwk.UpdateNodeDeclaredFeature
	hint := fixture.Hint(t, built, fwk.Node, changes)
	nominated := objects.Pod("p").Build()
	nominated.Status.NominatedNodeName = "a"
	a, b := objects.Node("a").Build(), objects.Node("b").Build()
	fixture.CheckHint(t, hint, nominated, a, nil, fwk.Queue)
	fixture.CheckHint(t, hint, nominated, a, a, fwk.Queue)
	fixture.CheckHint(t, hint, nominated, b, nil, fwk.QueueSkip)
	fixture.CheckHint(t, hint, nominated, b, b, fwk.QueueSkip)
	fixture.CheckHint(t, hint, objects.Pod("q").Build(), a, nil, fwk.QueueSkip)
	fixture.CheckHintObjects(t, hint, nominated, a)
	one, ok := built.HintClass(nominated)
	another, okToo := built.HintClass(objects.Pod("q").Build())
	if !ok || !okToo || one == another {
		t.Error("pods with different nominations should not be of the same class")
	}
}

// Without a nomination there are no victims to wait for.
func TestHintAfterUpdateOfItself(t *testing.T) {
	hint := fixture.Hint(t, newPlugin(t), fwk.TargetPod, fwk.Update)
	nominated, plain := objects.Pod("p").Build(), objects.Pod("p").Build()
	nominated.Status.NominatedNodeName = "a"
	fixture.CheckHint(t, hint, plain, nominated, plain, fwk.Queue)
	fixture.CheckHint(t, hint, nominated, plain, nominated, fwk.QueueSkip)
	fixture.CheckHint(t, hint, nominated, nominated, nominated, fwk.QueueSkip)
	fixture.CheckHint(t, hint, plain, plain, plain, fwk.QueueSkip)
	fixture.CheckHintObjects(t, hint, plain, nil)
}

func TestPodGroupPostFilter(t *testing.T) {
	result, status := newPlugin(t).PodGroupPostFilter(t.Context(), nil, nil, nil)
	fixture.CheckStatus(t, status, fwk.NewStatus(fwk.Unschedulable))
	if result != nil {
		t.Errorf("got result %v, want none", result)
	}
}
