// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package whatif_test

import (
	"context"
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/whatif"
)

// apps is how many kinds of pods there are; every tenth has a service, and with it the default spreading.
const apps = 50

// benchNode returns a node of three zones with room for some more pods than it has.
func benchNode(i int) *v1.Node {
	name := fmt.Sprintf("node-%05d", i)
	return objects.Node(name).Capacity("cpu", "16", "memory", "64Gi", "pods", "110").
		Label(v1.LabelHostname, name).Label(v1.LabelTopologyZone, fmt.Sprint("zone-", i%3)).Build()
}

// benchPod returns a pod of one of the apps.
func benchPod(name string, app int) *v1.Pod {
	b := objects.Pod(name).Label("app", fmt.Sprint("app-", app)).Requests("cpu", fmt.Sprintf("%dm", 500+100*(app%5)), "memory", fmt.Sprintf("%dMi", 512*(1+app%4))).
		With(func(pod *v1.Pod) {
			pod.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", APIVersion: "apps/v1", Name: fmt.Sprint("app-", app), UID: "1", Controller: new(true)}}
			if app%10 == 1 {
				pod.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
					TopologyKey: v1.LabelTopologyZone, MaxSkew: 5, WhenUnsatisfiable: v1.DoNotSchedule,
					LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": fmt.Sprint("app-", app)}},
				}}
			}
		})
	return b.Build()
}

// benchCluster has so many nodes, and ten pods on each.
func benchCluster(b *testing.B, nodes int) *whatif.Cluster {
	b.Helper()
	var all []apiruntime.Object
	for i := range nodes {
		node := benchNode(i)
		all = append(all, node)
		for j := range 10 {
			pod := benchPod(fmt.Sprintf("pod-%05d-%d", i, j), (i+j*7)%apps)
			pod.Spec.NodeName = node.Name
			all = append(all, pod)
		}
	}
	for app := 0; app < apps; app += 10 {
		name := fmt.Sprint("app-", app)
		all = append(all, &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: "1"}, Spec: v1.ServiceSpec{Selector: map[string]string{"app": name}}})
	}
	cluster, err := whatif.New(b.Context(), whatif.Options{Objects: all})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = cluster.Close() })
	return cluster
}

// fits asks whether pods fit, and ends the benchmark if they do not.
func fits(b *testing.B, cluster *whatif.Cluster, pod *v1.Pod) {
	fit, err := cluster.Fits(context.Background(), pod)
	if err != nil || fit.Reason != nil {
		b.Fatal(err, fit.Reason)
	}
}

func BenchmarkFork(b *testing.B) {
	cluster := benchCluster(b, 5000)
	b.ReportAllocs()
	for b.Loop() {
		cluster = cluster.Fork()
	}
}

func BenchmarkForkAndAdd(b *testing.B) {
	cluster := benchCluster(b, 5000)
	pod := benchPod("other", 3)
	pod.Spec.NodeName = "node-00007"
	b.ReportAllocs()
	for b.Loop() {
		fork := cluster.Fork()
		if err := fork.Add(pod); err != nil {
			b.Fatal(err)
		}
	}
}

// A pod of a known shape, in a fork that differs from the one before in a pod.
func BenchmarkFitsKnownShape(b *testing.B) {
	for _, changed := range []int{0, 1, 10} {
		b.Run(fmt.Sprint("changed=", changed), func(b *testing.B) {
			cluster := benchCluster(b, 5000)
			for app := range apps {
				for i := range 3 {
					fits(b, cluster, benchPod(fmt.Sprint("warm-", app, "-", i), app))
				}
			}
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				i++
				fork, pod := cluster.Fork(), benchPod(fmt.Sprint("asked-", i), 3)
				for j := range changed {
					other := benchPod(fmt.Sprint("other-", j), 3)
					other.Spec.NodeName = fmt.Sprintf("node-%05d", (i*changed+j)%5000)
					if err := fork.Add(other); err != nil {
						b.Fatal(err)
					}
				}
				b.StartTimer()
				fits(b, fork, pod)
			}
		})
	}
}

func BenchmarkFitsNewShape(b *testing.B) {
	cluster := benchCluster(b, 5000)
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		i++
		fits(b, cluster, objects.Pod(fmt.Sprint("asked-", i)).Label("app", fmt.Sprint("new-", i)).Requests("cpu", fmt.Sprintf("%dm", 1+i%4000), "memory", fmt.Sprintf("%dKi", i)).Build())
	}
}

func BenchmarkDrain1000Nodes(b *testing.B) {
	cluster := benchCluster(b, 5000)
	b.ReportAllocs()
	for b.Loop() {
		for i := range 1000 {
			placements, err := cluster.Fork().Drain(context.Background(), fmt.Sprintf("node-%05d", i))
			if err != nil || len(placements) != 10 || placements[0].Node == "" {
				b.Fatal(err, placements)
			}
		}
	}
}

// BenchmarkNestedPreemption is the search of a queueing system for room for a large pod: of 700 pods each is taken away in a fork of
// the fork before, until the pod fits; then each that can stay is put back.
func BenchmarkNestedPreemption(b *testing.B) {
	cluster := benchCluster(b, 2000)
	large := objects.Pod("large").Requests("cpu", "15500m").NodeSelector(v1.LabelHostname, "node-00069").Build()
	b.ReportAllocs()
	for b.Loop() {
		if asked := search(b, cluster, large); asked < 1300 {
			b.Fatalf("only %d questions were asked", asked)
		}
	}
}

// candidate returns one of the 700 pods that may be taken away; those of the node that the large pod needs come last.
func candidate(cluster *whatif.Cluster, i int) *v1.Pod {
	return cluster.Get(objects.Pod(fmt.Sprintf("pod-%05d-%d", i/10, i%10)).Build()).(*v1.Pod)
}

func search(b *testing.B, cluster *whatif.Cluster, large *v1.Pod) (asked int) {
	fits := func(fork *whatif.Cluster) bool {
		fit, err := fork.Fits(context.Background(), large)
		if err != nil {
			b.Fatal(err)
		}
		asked++
		return fit.Reason == nil
	}
	fork, removed := cluster, 0
	for ; !fits(fork); removed++ {
		fork = fork.Fork()
		if err := fork.Remove(candidate(cluster, removed)); err != nil {
			b.Fatal(err)
		}
	}
	for i := removed - 1; i >= 0; i-- {
		back := fork.Fork()
		if err := back.Add(candidate(cluster, i)); err != nil {
			b.Fatal(err)
		}
		if fits(back) {
			fork = back
		}
	}
	return asked
}

// BenchmarkScaleUp500Templates adds a node of each of 500 templates to a fork, and places 1,000 pods for which the cluster has no
// room: the nodes that get any are those to add.
func BenchmarkScaleUp500Templates(b *testing.B) {
	cluster := benchCluster(b, 5000)
	templates, pods := make([]apiruntime.Object, 500), make([]*v1.Pod, 1000)
	for i := range templates {
		templates[i] = objects.Node(fmt.Sprint("template-", i)).Label(v1.LabelHostname, fmt.Sprint("template-", i)).Label(v1.LabelTopologyZone, fmt.Sprint("zone-", i%3)).Capacity("cpu", fmt.Sprint(16+16*(i%4)), "memory", fmt.Sprintf("%dGi", 64+32*(i%5)), "pods", "110").Build()
	}
	for i := range pods {
		pods[i] = objects.PodFrom(benchPod(fmt.Sprint("pending-", i), i%apps)).UID(types.UID(fmt.Sprint("pending-", i))).Requests("cpu", fmt.Sprint(12+i%3)).Build()
	}
	b.ReportAllocs()
	for b.Loop() {
		fork := cluster.Fork()
		if err := fork.Add(templates...); err != nil {
			b.Fatal(err)
		}
		placements, err := fork.Place(context.Background(), pods...)
		if err != nil || placements[0].Node == "" {
			b.Fatal(err, placements[0].Reason)
		}
	}
}
