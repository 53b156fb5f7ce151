// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// shown is what a lister shows of the pods on nodes and of the use of a claim.
func shown(t *testing.T, lister fwk.SharedLister) map[string][]string {
	t.Helper()
	result := map[string][]string{}
	names := func(infos []fwk.NodeInfo, err error) (names []string) {
		must(t, err)
		for _, info := range infos {
			names = append(names, info.Node().Name)
		}
		return names
	}
	all, err := lister.NodeInfos().List()
	must(t, err)
	for _, listed := range all {
		got, err := lister.NodeInfos().Get(listed.Node().Name)
		must(t, err)
		if got != listed {
			t.Errorf("Get and List have different infos of node %s", listed.Node().Name)
		}
		var pods []string
		for _, pod := range listed.GetPods() {
			pods = append(pods, pod.GetPod().Name)
		}
		slices.Sort(pods)
		result[listed.Node().Name] = append(pods, fmt.Sprint(listed.GetRequested().GetMilliCPU()))
	}
	result["in order"] = names(all, nil)
	result["with affinity"] = names(lister.NodeInfos().HavePodsWithAffinityList())
	result["with anti-affinity"] = names(lister.NodeInfos().HavePodsWithRequiredAntiAffinityList())
	result["claim used"] = []string{fmt.Sprint(lister.StorageInfos().IsPVCUsedByPods("default/data"))}
	return result
}

// TestForksModel makes random changes in forks of forks, and compares each with a snapshot of the same pods.
func TestForksModel(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	var nodes []*v1.Node
	for i := range 6 {
		nodes = append(nodes, objects.Node(fmt.Sprint("node-", i)).Build())
	}
	for round := range 30 {
		var pods []*v1.Pod
		newPod := func() *v1.Pod {
			pod := objects.Pod(fmt.Sprintf("%d-%d", round, random.IntN(1_000_000))).Node(nodes[random.IntN(len(nodes))].Name).Requests("cpu", "1")
			if random.IntN(3) == 0 {
				pod = pod.PodAntiAffinity(v1.LabelHostname, "")
			}
			if random.IntN(3) == 0 {
				pod = pod.PersistentVolumeClaim("data")
			}
			return pod.Build()
		}
		for range 8 {
			pods = append(pods, newPod())
		}
		snapshot := NewSnapshot(pods, nodes)
		fork, before := snapshot.Fork(), slices.Clone(pods)
		for depth := range 4 {
			parent, parentPods := fork, slices.Clone(pods)
			fork = fork.Fork()
			for range random.IntN(6) {
				if random.IntN(2) == 0 && len(pods) > 0 {
					i := random.IntN(len(pods))
					must(t, fork.RemovePod(pods[i]))
					pods = slices.Delete(slices.Clone(pods), i, i+1)
				} else {
					pod := newPod()
					must(t, fork.AddPod(pod))
					pods = append(slices.Clone(pods), pod)
				}
			}
			if diff := cmp.Diff(shown(t, NewSnapshot(pods, nodes)), shown(t, fork)); diff != "" {
				t.Fatalf("round %d, fork %d deep (-snapshot +fork):\n%s", round, depth, diff)
			}
			if diff := cmp.Diff(shown(t, NewSnapshot(parentPods, nodes)), shown(t, parent)); diff != "" {
				t.Fatalf("round %d, the parent of the fork changed (-want +got):\n%s", round, diff)
			}
		}
		if diff := cmp.Diff(shown(t, NewSnapshot(before, nodes)), shown(t, snapshot)); diff != "" {
			t.Fatalf("round %d, the snapshot changed (-want +got):\n%s", round, diff)
		}
	}
}

func TestForksInManyGoroutines(t *testing.T) {
	snapshot := NewSnapshot([]*v1.Pod{objects.Pod("a").Node("node").Build()}, []*v1.Node{objects.Node("node").Build(), objects.Node("other").Build()})
	shared := snapshot.Fork()
	must(t, shared.AddPod(objects.Pod("b").Node("node").Build()))
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			own := shared.Fork()
			if err := own.RemovePod(objects.Pod("a").Node("node").Build()); err != nil {
				t.Error(err)
			}
			if err := own.AddPod(objects.Pod(fmt.Sprint("new-", i)).Node("other").Build()); err != nil {
				t.Error(err)
			}
			for name, want := range map[string]int{"node": 1, "other": 1} {
				if node, err := own.Get(name); err != nil || len(node.GetPods()) != want {
					t.Errorf("node %s of a fork is %v, %v, want %d pods", name, node, err, want)
				}
			}
			if all, _ := shared.List(); len(all) != 2 || len(all[0].GetPods())+len(all[1].GetPods()) != 2 {
				t.Errorf("the fork that others are made of has %v", all)
			}
		})
	}
	group.Wait()
}

func TestForkCostsNothing(t *testing.T) {
	var nodes []*v1.Node
	for i := range 1000 {
		nodes = append(nodes, objects.Node(fmt.Sprint("node-", i)).Build())
	}
	snapshot := NewSnapshot(nil, nodes)
	if got := testing.AllocsPerRun(100, func() { snapshot.Fork().Fork() }); got > 2 {
		t.Errorf("a fork of a fork makes %v allocations, want 2", got)
	}
}

func TestForkErrors(t *testing.T) {
	fork := NewSnapshot(nil, []*v1.Node{objects.Node("node").Build()}).Fork()
	for name, err := range map[string]error{
		"a pod on an unknown node":         fork.AddPod(objects.Pod("a").Node("unknown").Build()),
		"removal from an unknown node":     fork.RemovePod(objects.Pod("a").Node("unknown").Build()),
		"removal of a pod that is nowhere": fork.RemovePod(objects.Pod("a").Node("node").Build()),
	} {
		if err == nil {
			t.Errorf("%s is no error", name)
		}
	}
	if _, err := fork.Get("unknown"); err == nil {
		t.Error("an unknown node was found")
	}
}
