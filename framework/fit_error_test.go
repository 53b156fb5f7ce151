// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func TestFitErrorText(t *testing.T) {
	unschedulable := func(reasons ...string) *fwk.Status { return fwk.NewStatus(fwk.Unschedulable, reasons...) }
	explicit := func(absent *fwk.Status, statuses ...*fwk.Status) *framework.NodeToStatus {
		m := framework.NewNodeToStatus(nil, absent)
		for i, status := range statuses {
			m.Set(fmt.Sprint("node", i), status)
		}
		return m
	}
	tests := []struct {
		name      string
		nodes     int
		diagnosis framework.Diagnosis
		want      string
	}{
		{name: "no verdicts", nodes: 3, want: "0/3 nodes are available:"},
		{
			name: "default verdicts have no reasons", nodes: 3,
			diagnosis: framework.Diagnosis{NodeToStatus: framework.NewDefaultNodeToStatus()},
			want:      "0/3 nodes are available:",
		},
		{
			name: "histogram sorted as text", nodes: 14,
			diagnosis: framework.Diagnosis{NodeToStatus: explicit(nil,
				unschedulable("Too many pods"), unschedulable("Insufficient cpu", "Insufficient memory"), unschedulable("Insufficient cpu"),
				unschedulable("b"), unschedulable("b"), unschedulable("b"), unschedulable("b"), unschedulable("b"),
				unschedulable("b"), unschedulable("b"), unschedulable("b"), unschedulable("b"), unschedulable("b"), nil)},
			want: "0/14 nodes are available: 1 Insufficient memory, 1 Too many pods, 10 b, 2 Insufficient cpu.",
		},
		{
			name: "absent nodes count with every reason of the common status", nodes: 5,
			diagnosis: framework.Diagnosis{NodeToStatus: explicit(unschedulable("absent", "cpu"), unschedulable("cpu"), unschedulable("taint"))},
			want:      "0/5 nodes are available: 1 taint, 3 absent, 4 cpu.",
		},
		{
			name: "no node is absent", nodes: 2,
			diagnosis: framework.Diagnosis{NodeToStatus: explicit(unschedulable("absent"), unschedulable("cpu"), unschedulable("cpu"), unschedulable("cpu"))},
			want:      "0/2 nodes are available: 3 cpu.",
		},
		{
			name: "an error is a reason", nodes: 1,
			diagnosis: framework.Diagnosis{NodeToStatus: explicit(nil, fwk.AsStatus(errors.New("disk on fire")))},
			want:      "0/1 nodes are available: 1 disk on fire.",
		},
		{
			name: "rejections without a reason name the plugin", nodes: 3,
			diagnosis: framework.Diagnosis{NodeToStatus: explicit(unschedulable().WithPlugin("Rack"), unschedulable("cpu").WithPlugin("Rack"))},
			want:      "0/3 nodes are available: 1 cpu, 2 rejected by Rack without a reason.",
		},
		{
			name: "PreFilter instead of the histogram", nodes: 3,
			diagnosis: framework.Diagnosis{PreFilterMsg: "claim missing", NodeToStatus: explicit(unschedulable("claim missing"))},
			want:      "0/3 nodes are available: claim missing.",
		},
		{
			name: "PreFilter and PostFilter", nodes: 3,
			diagnosis: framework.Diagnosis{PreFilterMsg: "claim missing", PostFilterMsg: "preemption: not helpful"},
			want:      "0/3 nodes are available: claim missing. preemption: not helpful",
		},
		{
			name: "histogram and PostFilter", nodes: 1,
			diagnosis: framework.Diagnosis{NodeToStatus: explicit(nil, unschedulable("cpu")), PostFilterMsg: "preemption: 0/1"},
			want:      "0/1 nodes are available: 1 cpu. preemption: 0/1",
		},
		{
			name: "PostFilter alone", nodes: 1,
			diagnosis: framework.Diagnosis{PostFilterMsg: "preemption: 0/1"},
			want:      "0/1 nodes are available: preemption: 0/1",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := &framework.FitError{Pod: objects.Pod("p").Build(), NumAllNodes: test.nodes, Diagnosis: test.diagnosis}
			if diff := cmp.Diff(test.want, err.Error()); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDiagnosisAddPluginStatus(t *testing.T) {
	type plugins struct{ Unschedulable, Pending []string }
	tests := []struct {
		name     string
		statuses []*fwk.Status
		want     plugins
	}{
		{name: "nothing to record", statuses: []*fwk.Status{
			nil, fwk.NewStatus(fwk.Success).WithPlugin("A"), fwk.NewStatus(fwk.Skip).WithPlugin("A"), fwk.NewStatus(fwk.Wait).WithPlugin("A"),
			fwk.NewStatus(fwk.Error).WithPlugin("A"), fwk.NewStatus(fwk.Unschedulable), fwk.NewStatus(fwk.Pending)}},
		{
			name: "rejections",
			statuses: []*fwk.Status{fwk.NewStatus(fwk.Unschedulable).WithPlugin("A"), fwk.NewStatus(fwk.Unschedulable).WithPlugin("A"),
				fwk.NewStatus(fwk.UnschedulableAndUnresolvable).WithPlugin("B")},
			want: plugins{Unschedulable: []string{"A", "B"}},
		},
		{
			name:     "pending plugins are in both sets",
			statuses: []*fwk.Status{fwk.NewStatus(fwk.Pending).WithPlugin("C"), fwk.NewStatus(fwk.Unschedulable).WithPlugin("A")},
			want:     plugins{Unschedulable: []string{"A", "C"}, Pending: []string{"C"}},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var d framework.Diagnosis
			for _, status := range test.statuses {
				d.AddPluginStatus(status)
			}
			var got plugins
			if d.UnschedulablePlugins != nil {
				got.Unschedulable = sets.List(d.UnschedulablePlugins)
			}
			if d.PendingPlugins != nil {
				got.Pending = sets.List(d.PendingPlugins)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("plugins (-want +got):\n%s", diff)
			}
		})
	}
}
