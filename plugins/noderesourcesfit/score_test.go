// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package noderesourcesfit

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// scoreCase is one pod on one node with at most one other pod, and the score that follows from the rules by hand.
type scoreCase struct {
	name   string
	args   *configv1.NodeResourcesFitArgs // nil means defaults
	pod    *v1.Pod
	node   []string
	onNode *v1.Pod
	want   int64
}

func runScoreCases(t *testing.T, tests []scoreCase) {
	t.Helper()
	for _, tt := range tests {
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
	if newPlugin(t, nil, nil).ScoreExtensions() != nil {
		t.Error("the plugin normalises scores")
	}
}

func TestScoreLeastAllocated(t *testing.T) {
	least := func(resources ...string) *configv1.NodeResourcesFitArgs {
		return strategyArgs(configv1.LeastAllocated, resources...)
	}
	runScoreCases(t, []scoreCase{
		// A container without requests counts 100m of 4000m: 97. And 209715200 of 10000000000 bytes: 97.
		{"nothing requested", nil, requests(), []string{"cpu", "4", "memory", "10G"}, nil, 97},
		// (4000-3000)*100/4000 = 25; (10000-5000)*100/10000 = 50; (25+50)/2 = 37.
		{"half of memory", nil, requests("cpu", "3", "memory", "5000"), []string{"cpu", "4", "memory", "10000"}, nil, 37},
		// cpu (10000-6000)*100/10000 = 40; memory (20000-10000)*100/20000 = 50; 45.
		{
			"next to another pod", nil, requests("cpu", "3", "memory", "5000"), []string{"cpu", "10", "memory", "20000"},
			requests("cpu", "3", "memory", "5000"), 45,
		},
		// The other pod counts 100m and 209715200 bytes: (1000-200)*100/1000 = 80, (1048576000-419430400)*100/1048576000 = 60.
		{"defaults count for pods on the node too", nil, requests(), []string{"cpu", "1", "memory", "1000Mi"}, requests(), 70},
		// Explicit zeros stay zero: 100 and 100.
		{"explicit zero", nil, requests("cpu", "0", "memory", "0"), []string{"cpu", "1", "memory", "1000Mi"}, nil, 100},
		// cpu is over capacity: 0; memory (10000-5000)*100/10000 = 50; 25.
		{"over capacity", nil, requests("cpu", "6", "memory", "5000"), []string{"cpu", "4", "memory", "10000"}, nil, 25},
		{"zero capacity", nil, requests("cpu", "1", "memory", "1"), []string{}, nil, 0},
		// Memory has no capacity and is left out: cpu 50.
		{"zero capacity of one resource", nil, requests("cpu", "2", "memory", "1"), []string{"cpu", "4"}, nil, 50},
		// (25*2+50*1)/3 = 33.
		{
			"weights", weighted(least("cpu", "memory"), 2, 1), requests("cpu", "3", "memory", "5000"),
			[]string{"cpu", "4", "memory", "10000"}, nil, 33,
		},
		// (25*100+50*1)/101 = 25.
		{
			"largest weight", weighted(least("cpu", "memory"), 100, 1), requests("cpu", "3", "memory", "5000"),
			[]string{"cpu", "4", "memory", "10000"}, nil, 25,
		},
		// GPU (4-1)*100/4 = 75 and cpu 25: 50.
		{"extended resource", least("cpu", gpu), requests("cpu", "3", gpu, "1"), []string{"cpu", "4", gpu, "4"}, nil, 50},
		// Other pods' GPUs are plain requests: (4-3)*100/4 = 25.
		{"extended resource next to another pod", least(gpu), requests(gpu, "1"), []string{gpu, "4"}, requests(gpu, "2"), 25},
		{"extended resource that is not requested", least("cpu", gpu), requests("cpu", "3"), []string{"cpu", "4", gpu, "4"}, nil, 25},
		{"extended resource that the node lacks", least("cpu", gpu), requests("cpu", "3", gpu, "1"), []string{"cpu", "4"}, nil, 25},
		// Ephemeral storage is not scalar: it counts though not requested, (8-2)*100/8 = 75; cpu 25: 50.
		{
			"ephemeral storage counts unrequested", least("cpu", "ephemeral-storage"), requests("cpu", "3"),
			[]string{"cpu", "4", "ephemeral-storage", "8"}, requests("cpu", "0", "ephemeral-storage", "2"), 50,
		},
		// Score looks at the containers, not at the pod: 1000m of 4000m is 75. Without a memory request 200Mi of 400Mi is 50; 62.
		{
			"pod-level requests don't count for the pod itself", nil,
			objects.Pod("p").Container("a", "cpu", "1").PodRequests("cpu", "3").Build(),
			[]string{"cpu", "4", "memory", "400Mi"}, nil, 62,
		},
		// The other pod counts 3000m by its pod-level request, and 0 bytes; cpu (4-3-1)/4 = 0, memory 100; 50.
		{
			"pod-level requests count for pods on the node", nil, requests("cpu", "1", "memory", "0"),
			[]string{"cpu", "4", "memory", "400Mi"},
			objects.Pod("o").Container("a", "cpu", "1", "memory", "0").PodRequests("cpu", "3").Build(), 50,
		},
		// Ordinary init containers: max(3, 1) = 3 of 4: 25. Overhead adds 1000 bytes to 4000: 50. 37.
		{
			"init containers and overhead", nil,
			objects.Pod("p").InitContainer("init", "cpu", "3", "memory", "0").Container("a", "cpu", "1", "memory", "4000").Overhead("memory", "1000").Build(),
			[]string{"cpu", "4", "memory", "10000"}, nil, 37,
		},
		// Nothing of this pod is at its default; two containers without requests count 200m: (1000-200)*100/1000 = 80; memory 400Mi of 800Mi: 50; 65.
		{
			"defaults count for every container", nil, objects.Pod("p").Container("a").Container("b").Build(),
			[]string{"cpu", "1", "memory", "800Mi"}, nil, 65,
		},
	})
}

func TestScoreMostAllocated(t *testing.T) {
	most := func(resources ...string) *configv1.NodeResourcesFitArgs {
		return strategyArgs(configv1.MostAllocated, resources...)
	}
	runScoreCases(t, []scoreCase{
		// 3000*100/4000 = 75; 5000*100/10000 = 50; 62.
		{
			"half of memory", most("cpu", "memory"), requests("cpu", "3", "memory", "5000"),
			[]string{"cpu", "4", "memory", "10000"}, nil, 62,
		},
		// 6000*100/10000 = 60; 10000*100/20000 = 50; 55.
		{
			"next to another pod", most("cpu", "memory"), requests("cpu", "3", "memory", "5000"),
			[]string{"cpu", "10", "memory", "20000"}, requests("cpu", "3", "memory", "5000"), 55,
		},
		// Over capacity counts as full: 100; memory 50; 75.
		{
			"over capacity", most("cpu", "memory"), requests("cpu", "6", "memory", "5000"),
			[]string{"cpu", "4", "memory", "10000"}, nil, 75,
		},
		{"zero capacity", most("cpu", "memory"), requests("cpu", "1"), nil, nil, 0},
		// (75*2+50)/3 = 66.
		{
			"weights", weighted(most("cpu", "memory"), 2, 1), requests("cpu", "3", "memory", "5000"),
			[]string{"cpu", "4", "memory", "10000"}, nil, 66,
		},
		// GPU 3*100/4 = 75.
		{"extended resource", most(gpu), requests(gpu, "1"), []string{gpu, "4"}, requests(gpu, "2"), 75},
		{
			"extended resource that is not requested", most("cpu", gpu), requests("cpu", "3"),
			[]string{"cpu", "4", gpu, "4"}, requests(gpu, "4", "cpu", "0"), 75,
		},
		// 100m of 1000m is 10; 200Mi of 1000Mi is 20; 15.
		{"defaults", most("cpu", "memory"), requests(), []string{"cpu", "1", "memory", "1000Mi"}, nil, 15},
	})
}

func TestScoreRequestedToCapacityRatio(t *testing.T) {
	packing := []int32{0, 0, 100, 10}
	spreading := []int32{0, 10, 100, 0}
	runScoreCases(t, []scoreCase{
		// cpu 75, memory 50: 62.5, rounded away from zero.
		{
			"packing", ratio(packing, "cpu", "memory"), requests("cpu", "3", "memory", "5000"),
			[]string{"cpu", "4", "memory", "10000"}, nil, 63,
		},
		// cpu 25, memory 50: 37.5.
		{
			"spreading", ratio(spreading, "cpu", "memory"), requests("cpu", "3", "memory", "5000"),
			[]string{"cpu", "4", "memory", "10000"}, nil, 38,
		},
		// cpu is over capacity, f(100) = 100; memory 50: 75.
		{
			"packing over capacity", ratio(packing, "cpu", "memory"), requests("cpu", "6", "memory", "5000"),
			[]string{"cpu", "4", "memory", "10000"}, nil, 75,
		},
		// cpu is over capacity, f(100) = 0 and is left out: memory 50 alone.
		{
			"spreading over capacity leaves the resource out", ratio(spreading, "cpu", "memory"),
			requests("cpu", "6", "memory", "5000"), []string{"cpu", "4", "memory", "10000"}, nil, 50,
		},
		{"everything is left out", ratio(spreading, "cpu"), requests("cpu", "4"), []string{"cpu", "4"}, nil, 0},
		{"zero capacity", ratio(packing, "cpu"), requests("cpu", "4"), nil, nil, 0},
		// (75*3+50*1)/4 = 68.75.
		{
			"weights", weighted(ratio(packing, "cpu", "memory"), 3, 1), requests("cpu", "3", "memory", "5000"),
			[]string{"cpu", "4", "memory", "10000"}, nil, 69,
		},
		// GPU (2+1)*100/4 = 75.
		{"bin packing of an extended resource", ratio(packing, gpu), requests(gpu, "1"), []string{gpu, "4"}, requests(gpu, "2"), 75},
		{
			"bin packing, not requested", ratio(packing, gpu), requests("cpu", "1"), []string{gpu, "4", "cpu", "4"},
			requests(gpu, "2"), 0,
		},
		// GPU 75 with weight 5, cpu 3000*100/4000 = 75 with weight 1, NIC 1*100/2 = 50 with weight 2: (375+75+100)/8 = 68.75.
		{
			"bin packing of several", weighted(ratio(packing, gpu, "cpu", "example.com/nic"), 5, 1, 2),
			requests(gpu, "1", "cpu", "3", "example.com/nic", "1"),
			[]string{gpu, "4", "cpu", "4", "example.com/nic", "2"}, requests(gpu, "2", "cpu", "0"), 69,
		},
	})
}

func TestScoreTenResources(t *testing.T) {
	args := strategyArgs(configv1.LeastAllocated)
	var offered, wanted []string
	for i := range 10 {
		name := fmt.Sprintf("example.com/r%d", i)
		args.ScoringStrategy.Resources = append(args.ScoringStrategy.Resources, configv1.ResourceSpec{Name: name, Weight: int64(i + 1)})
		offered = append(offered, name, "10")
		wanted = append(wanted, name, fmt.Sprint(i))
	}
	// Resource i is left free by (10-i)*10 percent and has weight i+1. The first is not requested and does not count. The
	// sum of (100-10i)(i+1) for i from 1 to 9 is 2100, the weights add up to 54, and 2100/54 is 38.
	runScoreCases(t, []scoreCase{{"ten resources", args, requests(wanted...), offered, nil, 38}})
}

func TestScoreShape(t *testing.T) {
	// Four corners: level before 10, up to 100 at 30, down to 50 at 60, down to 10 at 90, level after.
	args := ratio([]int32{10, 2, 30, 10, 60, 5, 90, 1}, gpu)
	for utilization, want := range map[int64]int64{
		1: 20, 10: 20, 11: 24, 20: 60, 29: 96, 30: 100,
		31: 99, // 100 + (50-100)*1/30 = 100 - 1, cut toward 100
		45: 75, 59: 52, 60: 50, 61: 49, 75: 30, 89: 12, 90: 10, 91: 10, 100: 10, 150: 10,
	} {
		runScoreCases(t, []scoreCase{{
			fmt.Sprintf("utilization %d", utilization), args, requests(gpu, fmt.Sprint(utilization)), []string{gpu, "100"}, nil, want,
		}})
	}
}

func TestScorePlacement(t *testing.T) {
	nodes := []fwk.NodeInfo{
		fixture.NodeInfo(objects.Node("a").Allocatable("cpu", "4", "memory", "1000", gpu, "4").Build(), requests("cpu", "2", "memory", "0", gpu, "3")),
		fixture.NodeInfo(objects.Node("b").Allocatable("cpu", "6", "memory", "3000").Build()),
	}
	group := func(pods ...*v1.Pod) *fwk.PodGroupAssignments {
		placement := &fwk.PodGroupAssignments{Placement: &fwk.Placement{Nodes: nodes}}
		for _, pod := range pods {
			placement.ProposedAssignments = append(placement.ProposedAssignments, assignment{pod: pod})
		}
		return placement
	}
	tests := []struct {
		name  string
		args  *configv1.NodeResourcesFitArgs
		group *fwk.PodGroupAssignments
		want  int64
	}{
		// cpu (2000+1000+2000)*100/10000 = 50; memory 1000*100/4000 = 25; 37.
		{"two pods", nil, group(requests("cpu", "1", "memory", "1000"), requests("cpu", "2", "memory", "0")), 37},
		{"always the most allocated", strategyArgs(configv1.LeastAllocated, "cpu"), group(requests("cpu", "7")), 90},
		{"over capacity", strategyArgs(configv1.MostAllocated, "cpu"), group(requests("cpu", "20")), 100},
		// Only node a has GPUs: (3+1)*100/4.
		{"extended resource", strategyArgs(configv1.MostAllocated, gpu), group(requests(gpu, "1")), 100},
		{"extended resource that no pod requests", strategyArgs(configv1.MostAllocated, gpu), group(requests("cpu", "1")), 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pl := newPlugin(t, tt.args, nil)
			got, status := pl.ScorePlacement(t.Context(), nil, nil, tt.group)
			fixture.CheckStatus(t, status, nil)
			if got != tt.want || pl.PlacementScoreExtensions() != nil {
				t.Errorf("got %d, want %d, without normalisation", got, tt.want)
			}
		})
	}
}

type assignment struct {
	fwk.ProposedAssignment
	pod *v1.Pod
}

func (a assignment) GetPod() *v1.Pod { return a.pod }

func BenchmarkScore(b *testing.B) {
	ctx, pod := b.Context(), requests("cpu", "1", "memory", "1Gi")
	pl, state := newPlugin(b, nil, nil), framework.NewCycleState()
	pl.PreScore(ctx, state, pod, nil)
	nodeInfo := fixture.NodeInfo(node(), requests("cpu", "1"))
	b.ReportAllocs()
	for b.Loop() {
		_, _ = pl.Score(ctx, state, pod, nodeInfo)
	}
}
