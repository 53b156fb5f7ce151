// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"testing"

	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"

	"github.com/rouse-scheduler/rouse/cache"
	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/queue"
	"github.com/rouse-scheduler/rouse/runtime"
)

// BenchmarkSearch finds nodes for pods of one kind with the default profile, among 5,000 nodes. Each pod stays on its node.
func BenchmarkSearch(b *testing.B) {
	for _, nominated := range []int{0, 1, 10, 100} {
		b.Run(fmt.Sprintf("nominatedNodes=%d", nominated), func(b *testing.B) { benchmarkSearch(b, nominated) })
	}
}

func benchmarkSearch(b *testing.B, nominated int) {
	check := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	nodes, snapshot, nominator := cache.New(cache.Options{}), &cache.Snapshot{}, queue.NewNominator(nil)
	client := fake.NewClientset()
	built, err := runtime.NewProfiles(b.Context(), profiles.Default(), plugins.NewInTreeRegistry(), runtime.Options{
		ClientSet: client, InformerFactory: newDirectObjects(client), PodGroupManager: cache.NoPodGroups{},
		Snapshot: snapshot, Nominator: nominator, Parallelism: 1,
	})
	check(err)
	profile := built["default-scheduler"]
	for i := range 5000 {
		check(nodes.AddNode(objects.Node(fmt.Sprintf("n%d", i)).Capacity("cpu", "100000", "memory", "8Gi").Build()))
	}
	for i := range nominated {
		info, err := framework.NewPodInfo(objects.Pod(fmt.Sprintf("nominated%d", i)).Requests("cpu", "100m").Priority(1).Build())
		check(err)
		nominator.AddNominatedPod(klog.Logger{}, info, nominate(fmt.Sprintf("n%d", i)).NominatingInfo)
	}
	first := func(int) int { return 0 }
	made := 0
	b.ReportAllocs()
	for b.Loop() {
		made++
		pod := objects.Pod(fmt.Sprintf("p%d", made)).Requests("cpu", "1m").Build()
		check(nodes.UpdateSnapshot(snapshot))
		state := framework.NewCycleState()
		_, status, _ := profile.RunPreFilterPlugins(b.Context(), state, pod)
		check(status.AsError())
		choice, status := profile.Search(b.Context(), state, pod, first)
		check(status.AsError())
		if choice.Node == "" {
			b.Fatal("no node takes the pod")
		}
		pod.Spec.NodeName = choice.Node
		check(nodes.AssumePod(pod))
	}
}
