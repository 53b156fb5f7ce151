// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package advice

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/whatif"
)

// BenchmarkFor asks for advice for pods that different plugins reject, in a cluster of 5,000 nodes and 10,000 pods.
func BenchmarkFor(b *testing.B) {
	pods := map[string]*v1.Pod{
		"NodeResourcesFit":  objects.Pod("waiting").Requests("cpu", "3500m").Build(),
		"NodeAffinity":      objects.Pod("waiting").NodeSelector("disk", "ssd").NodeSelector("rack", "7").Build(),
		"SchedulingGates":   objects.Pod("waiting").SchedulingGate("example.com/gate").Requests("cpu", "3500m").Build(),
		"PodTopologySpread": objects.Pod("waiting").Label("app", "a0").SpreadConstraint(1, v1.LabelTopologyZone, v1.DoNotSchedule, "app=a0").NodeSelector(v1.LabelTopologyZone, "zone-0").Build(),
		"InterPodAffinity":  objects.Pod("waiting").Label("app", "a0").PodAffinity(v1.LabelTopologyZone, "app=none").Build(),
	}
	for plugin, pod := range pods {
		b.Run(plugin, func(b *testing.B) {
			cluster, err := whatif.New(b.Context(), whatif.Options{Objects: largeCluster(), Concurrency: 1})
			if err != nil {
				b.Fatal(err)
			}
			defer cluster.Close()
			b.ReportAllocs()
			for b.Loop() {
				found, err := For(b.Context(), cluster, pod, Options{})
				if err != nil || len(found) == 0 {
					b.Fatal(found, err)
				}
			}
		})
	}
}

func largeCluster() (all []apiruntime.Object) {
	for i := range 5000 {
		name := fmt.Sprintf("node-%05d", i)
		all = append(all, objects.Node(name).Label(v1.LabelHostname, name).Label(v1.LabelTopologyZone, fmt.Sprint("zone-", i%3)).
			Taint("dedicated", fmt.Sprint(i%7), v1.TaintEffectNoSchedule).Capacity("cpu", "4", "memory", "16Gi", "pods", "110").Build())
		for j := range 2 {
			all = append(all, objects.Pod(fmt.Sprintf("pod-%05d-%d", i, j)).Label("app", fmt.Sprint("a", i%50)).Requests("cpu", "1", "memory", "1Gi").Node(name).Build())
		}
	}
	return all
}
