// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package noderesourcesbalancedallocation

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

const gpu = "example.com/gpu"

func balancing(names ...string) *configv1.NodeResourcesBalancedAllocationArgs {
	args := &configv1.NodeResourcesBalancedAllocationArgs{}
	for _, name := range names {
		args.Resources = append(args.Resources, configv1.ResourceSpec{Name: name, Weight: 1})
	}
	return args
}

func newPlugin(tb testing.TB, args apiruntime.Object, dra fwk.SharedDRAManager) *plugin {
	tb.Helper()
	built, err := New(tb.Context(), args, &fixture.Handle{DRA: dra})
	if err != nil {
		tb.Fatal(err)
	}
	return built.(*plugin)
}

func requests(pairs ...string) *v1.Pod { return objects.Pod("p").Container("a", pairs...).Build() }

func TestNew(t *testing.T) {
	tests := []struct {
		name    string
		args    apiruntime.Object
		wantErr bool
	}{
		{"no args", nil, false},
		{"three resources", balancing("cpu", "memory", gpu), false},
		{"the same resource twice", balancing("cpu", "cpu"), true},
		{
			"a weight other than one",
			&configv1.NodeResourcesBalancedAllocationArgs{Resources: []configv1.ResourceSpec{{Name: "cpu", Weight: 2}}},
			true,
		},
		{"args of another plugin", &configv1.NodeAffinityArgs{}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := New(t.Context(), tt.args, nil)
			if (err != nil) != tt.wantErr {
				t.Errorf("got error %v, want one: %v", err, tt.wantErr)
			}
		})
	}
}

func TestPreScore(t *testing.T) {
	tests := []struct {
		name string
		args apiruntime.Object
		pod  *v1.Pod
		want fwk.Code
	}{
		{"nothing requested: skip", nil, requests(), fwk.Skip},
		{"zero requested: skip", nil, requests("cpu", "0"), fwk.Skip},
		{"only another resource requested: skip", nil, requests(gpu, "1"), fwk.Skip},
		{"one of the resources requested", nil, requests("cpu", "1m"), fwk.Success},
		{"configured resource requested", balancing("cpu", gpu), requests(gpu, "1"), fwk.Success},
		{"pod-level request", nil, objects.Pod("p").Container("a").PodRequests("cpu", "1").Build(), fwk.Success},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			status := newPlugin(t, tt.args, nil).PreScore(t.Context(), framework.NewCycleState(), tt.pod, nil)
			if status.Code() != tt.want {
				t.Errorf("got %v %q, want %v", status.Code(), status.Message(), tt.want)
			}
		})
	}
}

// scoreCase is one pod on one node with at most one other pod, and the score that follows from the rules by hand.
type scoreCase struct {
	name   string
	args   apiruntime.Object
	pod    *v1.Pod
	node   []string
	onNode *v1.Pod
	want   int64
}

func scoreCases() []scoreCase {
	three := balancing("cpu", "memory", gpu)
	return []scoreCase{
		// 0.5 and 0.5 on an empty node: balance 100 before and after.
		{
			"a balanced pod on an empty node", nil, requests("cpu", "2", "memory", "500"),
			[]string{"cpu", "4", "memory", "1000"}, nil, 75,
		},
		// 0.75 and 0.5: deviation 0.125, int(87.5) = 87; 50 + (50+87-100)/2 = 68.
		{
			"an unbalanced pod on an empty node", nil, requests("cpu", "3", "memory", "5000"),
			[]string{"cpu", "4", "memory", "10000"}, nil, 68,
		},
		// The same pod on a larger node: 0.5 and 0.25; deviation 0.125.
		{"a larger node", nil, requests("cpu", "3", "memory", "5000"), []string{"cpu", "6", "memory", "20000"}, nil, 68},
		// Before 0.5 and 0: 75. After 0.5 and 0.5: 100. 50 + (50+25)/2 = 87.
		{"next to a pod, better", nil, requests("memory", "500"), []string{"cpu", "4", "memory", "1000"}, requests("cpu", "2"), 87},
		// Before 0.5 and 0: 75. After 1 and 0: 50. 50 + (50-25)/2 = 62.
		{"next to a pod, worse", nil, requests("cpu", "2"), []string{"cpu", "4", "memory", "1000"}, requests("cpu", "2"), 62},
		// Before 1 and 0: 50. After 1 and 1: 100. 50 + (50+50)/2 = 100.
		{"the best", nil, requests("memory", "1000"), []string{"cpu", "4", "memory", "1000"}, requests("cpu", "4"), 100},
		// Before 0 and 0: 100. After 1 and 0: 50. 50 + (50-50)/2 = 50.
		{"the worst", nil, requests("cpu", "4"), []string{"cpu", "4", "memory", "1000"}, nil, 50},
		// Fractions stop at 1: before 1 and 1, after 1 and 1.
		{
			"requests beyond capacity", nil, requests("cpu", "8", "memory", "3000"),
			[]string{"cpu", "4", "memory", "1000"}, requests("cpu", "6", "memory", "3000"), 75,
		},
		// 1 and 1 after 0 and 0.
		{"requests at capacity", nil, requests("cpu", "4", "memory", "1000"), []string{"cpu", "4", "memory", "1000"}, nil, 75},
		{"zero capacity", nil, requests("cpu", "4"), nil, nil, 75},
		{"zero capacity of one", nil, requests("cpu", "4"), []string{"cpu", "8"}, nil, 75},
		// Containers without requests count nothing here: before 0 and 0; after 0.25 and 0, 87.5 cut to 87; 50 + 37/2 = 68.
		{"no defaults for containers", nil, requests("cpu", "1"), []string{"cpu", "4", "memory", "1000Mi"}, requests(), 68},
		// Pod-level requests count: 0.5 and 0.5.
		{
			"pod-level requests", nil,
			objects.Pod("p").Container("a", "cpu", "1").PodRequests("cpu", "2", "memory", "500").Build(),
			[]string{"cpu", "4", "memory", "1000"}, nil, 75,
		},
		// 0.5, 0.5, 0.5.
		{
			"three resources, balanced", three, requests("cpu", "2", "memory", "500", gpu, "2"),
			[]string{"cpu", "4", "memory", "1000", gpu, "4"}, nil, 75,
		},
		// 0.25, 0.5, 0.75: mean 0.5, deviation sqrt(0.125/3) = 0.2041, int(79.59) = 79; 50 + (50-21)/2 = 64.
		{
			"three resources, unbalanced", three, requests("cpu", "1", "memory", "500", gpu, "3"),
			[]string{"cpu", "4", "memory", "1000", gpu, "4"}, nil, 64,
		},
		// The GPUs of the other pod don't matter to a pod without: 0.5 and 0.5.
		{
			"a scalar resource counts only if requested", three, requests("cpu", "2", "memory", "500"),
			[]string{"cpu", "4", "memory", "1000", gpu, "4"}, requests(gpu, "4"), 75,
		},
		// Before 0, 0, 1: deviation sqrt(2)/3 = 0.4714, int(52.86) = 52. After 0.25, 0, 1 beyond: mean 0.41667, squares
		// 0.02778+0.17361+0.34028 = 0.54167, /3 = 0.18056, root 0.42492, int(57.51) = 57. 50 + (50+5)/2 = 77.
		{
			"three resources, next to a pod", three, requests("cpu", "1", gpu, "1"),
			[]string{"cpu", "4", "memory", "1000", gpu, "4"}, requests(gpu, "4"), 77,
		},
		{"one resource is always balanced", balancing("cpu"), requests("cpu", "3"), []string{"cpu", "4"}, nil, 75},
	}
}

func TestScore(t *testing.T) {
	for _, tt := range scoreCases() {
		t.Run(tt.name, func(t *testing.T) {
			pl, state := newPlugin(t, tt.args, nil), framework.NewCycleState()
			nodeInfo := fixture.NodeInfo(objects.Node("n").Allocatable(tt.node...).Build())
			if tt.onNode != nil {
				nodeInfo.AddPod(tt.onNode)
			}
			without, status := pl.Score(t.Context(), state, tt.pod, nodeInfo)
			fixture.CheckStatus(t, status, nil)
			fixture.CheckStatus(t, pl.PreScore(t.Context(), state, tt.pod, nil), nil)
			got, status := pl.Score(t.Context(), state, tt.pod, nodeInfo)
			fixture.CheckStatus(t, status, nil)
			if got != tt.want || without != tt.want {
				t.Errorf("got %d, without PreScore %d, want %d", got, without, tt.want)
			}
		})
	}
}

func TestScoreNothingRequestedWithoutPreScore(t *testing.T) {
	nodeInfo := fixture.NodeInfo(objects.Node("n").Allocatable("cpu", "4").Build())
	got, status := newPlugin(t, nil, nil).Score(t.Context(), framework.NewCycleState(), requests(), nodeInfo)
	fixture.CheckStatus(t, status, nil)
	if got != 0 {
		t.Errorf("got %d, want 0", got)
	}
}

func TestSignPod(t *testing.T) {
	dra := &fixture.DeviceClasses{Serving: map[v1.ResourceName]string{gpu: "gpus"}}
	if fragments, status := newPlugin(t, nil, nil).SignPod(t.Context(), requests(gpu, "1")); len(fragments) != 1 || !status.IsSuccess() {
		t.Errorf("got %v, %v, want one fragment", fragments, status)
	}
	if _, status := newPlugin(t, nil, dra).SignPod(t.Context(), requests(gpu, "1")); status.Code() != fwk.Unschedulable {
		t.Errorf("resource served by devices: got %v, want Unschedulable", status.Code())
	}
}

func BenchmarkScore(b *testing.B) {
	ctx, pod := b.Context(), requests("cpu", "1", "memory", "1Gi")
	pl, state := newPlugin(b, nil, nil), framework.NewCycleState()
	pl.PreScore(ctx, state, pod, nil)
	nodeInfo := fixture.NodeInfo(objects.Node("n").Allocatable("cpu", "4", "memory", "8Gi").Build(), requests("cpu", "1"))
	b.ReportAllocs()
	for b.Loop() {
		_, _ = pl.Score(ctx, state, pod, nodeInfo)
	}
}
