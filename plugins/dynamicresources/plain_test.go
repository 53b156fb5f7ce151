// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package dynamicresources

import (
	"context"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// plainCalls are what the plugin is asked in every attempt, also about pods that want no devices.
func plainCalls(ctx context.Context, pl *plugin) map[string]func(pod *v1.Pod) {
	node, key := fixture.NodeInfo(objects.Node("n1").Build()), make([]byte, 0, 100)
	filtered := framework.NewCycleState()
	pl.PreFilter(ctx, filtered, objects.Pod("other").Build(), nil)
	return map[string]func(*v1.Pod){
		"HintClass":        func(pod *v1.Pod) { pl.HintClass(pod) },
		"PreEnqueue":       func(pod *v1.Pod) { pl.PreEnqueue(ctx, pod) },
		"PreFilter":        func(pod *v1.Pod) { pl.PreFilter(ctx, framework.NewCycleState(), pod, nil) },
		"AppendScoreKey":   func(pod *v1.Pod) { pl.AppendScoreKey(key, filtered, pod) },
		"Score":            func(pod *v1.Pod) { _, _ = pl.Score(ctx, filtered, pod, node) },
		"Reserve":          func(pod *v1.Pod) { pl.Reserve(ctx, filtered, pod, "n1") },
		"PreBindPreFlight": func(pod *v1.Pod) { _, _ = pl.PreBindPreFlight(ctx, filtered, pod, "n1") },
		"Unreserve":        func(pod *v1.Pod) { pl.Unreserve(ctx, filtered, pod, "n1") },
		"SignPod":          func(pod *v1.Pod) { _, _ = pl.SignPod(ctx, pod) },
	}
}

func plainPods() map[string]*v1.Pod {
	return map[string]*v1.Pod{
		"plain":                                 objects.Pod("plain").Requests("cpu", "1", "memory", "1Gi").Build(),
		"with a resource that no device serves": objects.Pod("other").Requests("cpu", "1", "example.com/none", "1").Build(),
	}
}

func TestPodsWithoutDevicesAllocateNothing(t *testing.T) {
	inWorld(t, oneGPU(), func(t *testing.T, w *world) {
		for name, pod := range plainPods() {
			for point, call := range plainCalls(t.Context(), w.plugin) {
				want := 0.0
				if point == "PreFilter" {
					want = 1 // the state of the attempt
				}
				if allocations := testing.AllocsPerRun(100, func() { call(pod) }); allocations != want {
					t.Errorf("%s of a pod %s: %v allocations, want %v", point, name, allocations, want)
				}
			}
		}
	})
}
