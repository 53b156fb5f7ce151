// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/cache"
	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/queue"
	"github.com/rouse-scheduler/rouse/runtime"
)

// BenchmarkSearch finds nodes for pods of one kind with the default profile. Each pod stays on its node.
func BenchmarkSearch(b *testing.B) {
	for _, nominated := range []int{0, 1, 10, 100} {
		b.Run(fmt.Sprintf("nominatedNodes=%d", nominated), func(b *testing.B) {
			benchmarkSearch(b, 5000, nominated, runtime.SearchOptions{})
		})
	}
	plain, scores := filters(func(*v1.Pod, fwk.NodeInfo) *fwk.Status { return nil }), &crowded{}
	for _, nodes := range []int{5000, 50000} {
		limit := nodesToFind(adaptivePercentage(nodes), nodes)
		b.Run(fmt.Sprintf("plainFilter/nodes=%d", nodes), func(b *testing.B) {
			benchmarkSearch(b, nodes, 0, runtime.SearchOptions{Limit: limit}, plain)
		})
		b.Run(fmt.Sprintf("plainFilterAndScore/nodes=%d", nodes), func(b *testing.B) {
			benchmarkSearch(b, nodes, 0, runtime.SearchOptions{Limit: limit}, plain, scores)
		})
		b.Run(fmt.Sprintf("sample/nodes=%d", nodes), func(b *testing.B) {
			benchmarkSearch(b, nodes, 0, runtime.SearchOptions{Sample: nodes / 10})
		})
	}
}

func benchmarkSearch(b *testing.B, nodeCount, nominated int, options runtime.SearchOptions, extra ...fwk.Plugin) {
	check := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	nodes, snapshot, nominator := cache.New(cache.Options{}), &cache.Snapshot{}, queue.NewNominator(nil)
	client := fake.NewClientset()
	registry, configuration := plugins.NewInTreeRegistry(), profiles.Default()
	for _, plugin := range extra {
		check(registry.Register(plugin.Name(), func(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) { return plugin, nil }))
		multiPoint := &configuration.Profiles[0].Plugins.MultiPoint
		multiPoint.Enabled = append(multiPoint.Enabled, configv1.Plugin{Name: plugin.Name()})
	}
	built, err := runtime.NewProfiles(b.Context(), configuration, registry, runtime.Options{
		Clients:  runtime.Clients{ClientSet: client, InformerFactory: newDirectObjects(client)},
		Managers: runtime.Managers{PodGroup: cache.NoPodGroups{}},
		Snapshot: snapshot, Nominator: nominator, Parallelism: 1,
	})
	check(err)
	profile := built["default-scheduler"]
	for i := range nodeCount {
		check(nodes.AddNode(objects.Node(fmt.Sprintf("n%d", i)).Capacity("cpu", "100000", "memory", "8Gi").Build()))
	}
	for i := range nominated {
		info, err := framework.NewPodInfo(objects.Pod(fmt.Sprintf("nominated%d", i)).Requests("cpu", "100m").Priority(1).Build())
		check(err)
		nominator.AddNominatedPod(klog.Logger{}, info, nominate(fmt.Sprintf("n%d", i)).NominatingInfo)
	}
	options.Pick = func(int) int { return 0 }
	made := 0
	b.ReportAllocs()
	for b.Loop() {
		made++
		pod := objects.Pod(fmt.Sprintf("p%d", made)).Requests("cpu", "1m").Build()
		check(nodes.UpdateSnapshot(snapshot))
		state := framework.NewCycleState()
		_, status, _ := profile.RunPreFilterPlugins(b.Context(), state, pod)
		check(status.AsError())
		choice, status := profile.Search(b.Context(), state, pod, options)
		check(status.AsError())
		if choice.Node == "" {
			b.Fatal("no node takes the pod")
		}
		pod.Spec.NodeName = choice.Node
		check(nodes.AssumePod(pod))
	}
}
