// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package noderesourcesbalancedallocation

import (
	"math/rand/v2"
	"testing"

	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
)

func TestScoreBatchIsAsScore(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for name, args := range map[string]apiruntime.Object{
		"defaults":                nil,
		"the other way round":     balancing("memory", "cpu"),
		"three, two of each node": balancing(gpu, "cpu", "ephemeral-storage"),
		"three of each node":      balancing("cpu", "memory", "ephemeral-storage"),
		"one":                     balancing("memory"),
	} {
		t.Run(name, func(t *testing.T) {
			infos, pl := fixture.CrowdedNodes(random, 300), newPlugin(t, args, nil)
			for range 30 {
				pod, state := fixture.AskingPod(random, "p"), framework.NewCycleState()
				if pl.PreScore(t.Context(), state, pod, nil).IsSuccess() {
					fixture.CheckScoreBatch(t, pl, state, pod, infos)
				}
			}
		})
	}
}

func BenchmarkScoreBatch(b *testing.B) {
	pl, state, pod := newPlugin(b, nil, nil), framework.NewCycleState(), requests("cpu", "100m", "memory", "123Mi")
	fixture.CheckStatus(b, pl.PreScore(b.Context(), state, pod, nil), nil)
	fixture.BenchmarkScoreBatch(b, pl, state, pod)
}
