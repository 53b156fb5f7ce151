// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package noderesourcesfit_test

import (
	"math/rand/v2"
	"testing"

	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
)

func TestFilterSlotsIsAsFilter(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	infos, pl := fixture.CrowdedNodes(random, 300), newPlugin(t, nil, nil)
	for range 100 {
		pod, state := fixture.AskingPod(random, "p"), framework.NewCycleState()
		if _, status := pl.PreFilter(t.Context(), state, pod, nil); !status.IsSuccess() {
			t.Fatal(status.Message())
		}
		fixture.CheckFilterSlots(t, pl, state, pod, infos)
	}
}

func TestScoreSlotsIsAsScore(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for name, args := range map[string]*configv1.NodeResourcesFitArgs{
		"defaults":                nil,
		"weights":                 weighted(strategy(configv1.LeastAllocated, "memory", "cpu"), 3, 100),
		"most allocated":          strategy(configv1.MostAllocated, "cpu", "memory"),
		"three, two of each node": weighted(strategy(configv1.MostAllocated, gpu, "cpu", "ephemeral-storage"), 5, 1, 2),
		"three of each node":      strategy(configv1.LeastAllocated, "cpu", "memory", "ephemeral-storage"),
		"one":                     strategy(configv1.LeastAllocated, "memory"),
		"shape":                   ratio([]int32{0, 0, 60, 10, 100, 5}, "cpu", "memory"),
	} {
		t.Run(name, func(t *testing.T) {
			infos, pl := fixture.CrowdedNodes(random, 300), newPlugin(t, args, nil)
			for range 30 {
				pod, state := fixture.AskingPod(random, "p"), framework.NewCycleState()
				fixture.CheckStatus(t, pl.PreScore(t.Context(), state, pod, nil), nil)
				fixture.CheckScoreSlots(t, pl, state, pod, infos)
			}
		})
	}
}

func BenchmarkScoreSlots(b *testing.B) {
	pl, state, pod := newPlugin(b, nil, nil), framework.NewCycleState(), requests("cpu", "100m", "memory", "123Mi")
	fixture.CheckStatus(b, pl.PreScore(b.Context(), state, pod, nil), nil)
	fixture.BenchmarkScoreSlots(b, pl, state, pod)
}
