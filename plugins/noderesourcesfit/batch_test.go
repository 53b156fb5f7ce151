// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package noderesourcesfit

import (
	"fmt"
	"math/rand/v2"
	"testing"

	v1 "k8s.io/api/core/v1"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func TestFilterBatchIsAsFilter(t *testing.T) {
	ignoring := strategyArgs(configv1.LeastAllocated, "cpu")
	ignoring.IgnoredResources = []string{"example.com/nic"}
	serving := &fixture.DeviceClasses{Serving: map[v1.ResourceName]string{gpu: "gpus"}}
	for name, pl := range map[string]*plugin{
		"defaults":                 newPlugin(t, nil, nil),
		"a resource is ignored":    newPlugin(t, ignoring, nil),
		"a DeviceClass serves one": newPlugin(t, nil, serving),
	} {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			infos := fixture.CrowdedNodes(random, 300)
			for range 100 {
				checkFilterBatch(t, pl, fixture.AskingPod(random, "p"), infos)
			}
		})
	}
}

func TestFilterBatchWithManyResources(t *testing.T) {
	var offered, asked []string
	for i := range 70 {
		name := fmt.Sprintf("example.com/r%02d", i)
		asked = append(asked, name, "2")
		if i%3 > 0 {
			offered = append(offered, name, fmt.Sprint(i%5))
		}
	}
	infos := []*framework.NodeInfo{fixture.NodeInfo(objects.Node("n").Allocatable(append(offered, "pods", "1")...).Build())}
	for count := range len(asked)/2 + 1 {
		checkFilterBatch(t, newPlugin(t, nil, nil), objects.Pod("p").Container("a", asked[:2*count]...).Build(), infos)
	}
}

func checkFilterBatch(t *testing.T, pl *plugin, pod *v1.Pod, infos []*framework.NodeInfo) {
	t.Helper()
	state := framework.NewCycleState()
	if _, status := pl.PreFilter(t.Context(), state, pod, nil); !status.IsSuccess() {
		t.Fatal(status.Message())
	}
	fixture.CheckFilterBatch(t, pl, state, pod, infos)
}

func TestScoreBatchIsAsScore(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for name, args := range map[string]*configv1.NodeResourcesFitArgs{
		"defaults":                nil,
		"weights":                 weighted(strategyArgs(configv1.LeastAllocated, "memory", "cpu"), 3, 100),
		"most allocated":          strategyArgs(configv1.MostAllocated, "cpu", "memory"),
		"three, two of each node": weighted(strategyArgs(configv1.MostAllocated, gpu, "cpu", "ephemeral-storage"), 5, 1, 2),
		"three of each node":      strategyArgs(configv1.LeastAllocated, "cpu", "memory", "ephemeral-storage"),
		"one":                     strategyArgs(configv1.LeastAllocated, "memory"),
		"shape":                   ratio([]int32{0, 0, 60, 10, 100, 5}, "cpu", "memory"),
	} {
		t.Run(name, func(t *testing.T) {
			infos, pl := fixture.CrowdedNodes(random, 300), newPlugin(t, args, nil)
			for range 30 {
				pod, state := fixture.AskingPod(random, "p"), framework.NewCycleState()
				fixture.CheckStatus(t, pl.PreScore(t.Context(), state, pod, nil), nil)
				fixture.CheckScoreBatch(t, pl, state, pod, infos)
			}
		})
	}
}

// It is called for every few hundred nodes.
func TestFilterBatchDoesNotAllocate(t *testing.T) {
	infos := []*framework.NodeInfo{fixture.NodeInfo(node(), requests("cpu", "1")), fixture.NodeInfo(node())}
	pl, state, pod := newPlugin(t, nil, nil), framework.NewCycleState(), requests("cpu", "1", "memory", "1Gi")
	pl.PreFilter(t.Context(), state, pod, nil)
	var nodes fixture.IndexedNodes
	nodes.Fill(infos)
	statuses := make([]*fwk.Status, len(infos))
	if allocs := testing.AllocsPerRun(100, func() { pl.FilterBatch(t.Context(), state, pod, &nodes, nodes.ListOrder(), statuses) }); allocs != 0 {
		t.Errorf("it allocates %v times", allocs)
	}
}

func BenchmarkScoreBatch(b *testing.B) {
	pl, state, pod := newPlugin(b, nil, nil), framework.NewCycleState(), requests("cpu", "100m", "memory", "123Mi")
	fixture.CheckStatus(b, pl.PreScore(b.Context(), state, pod, nil), nil)
	fixture.BenchmarkScoreBatch(b, pl, state, pod)
}

func BenchmarkFilterBatch(b *testing.B) {
	pl, state, pod := newPlugin(b, nil, nil), framework.NewCycleState(), requests("cpu", "100m", "memory", "123Mi", gpu, "1")
	_, status := pl.PreFilter(b.Context(), state, pod, nil)
	fixture.CheckStatus(b, status, nil)
	fixture.BenchmarkFilterBatch(b, pl, state, pod)
}
