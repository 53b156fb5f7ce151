// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/cache"
	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// mutablePod has what nodes index: a claim and required anti-affinity.
func mutablePod(name, node string) *v1.Pod {
	return objects.Pod(name).Node(node).PersistentVolumeClaim(name).PodAntiAffinity("zone", "app=web").Build()
}

// shown is what a lister shows: the pods of each node, by every list, and the claims in use.
func shown(t *testing.T, lister fwk.SharedLister) string {
	t.Helper()
	var text []string
	nodes := lister.NodeInfos()
	for name, list := range map[string]func() ([]fwk.NodeInfo, error){
		"all": nodes.List, "affinity": nodes.HavePodsWithAffinityList, "anti": nodes.HavePodsWithRequiredAntiAffinityList,
	} {
		infos, err := list()
		if err != nil {
			t.Fatal(err)
		}
		for _, info := range infos {
			again, err := nodes.Get(info.Node().Name)
			if err != nil || again != info {
				t.Errorf("Get(%s) is not what is listed, or failed: %v", info.Node().Name, err)
			}
			for _, pod := range framework.View(info).Pods() {
				text = append(text, name+" "+info.Node().Name+" "+pod.GetPod().Name)
			}
		}
	}
	for _, claim := range []string{"ns/a", "ns/b", "ns/new"} {
		if lister.StorageInfos().IsPVCUsedByPods(claim) {
			text = append(text, claim)
		}
	}
	slices.Sort(text)
	return strings.Join(text, "\n")
}

func TestMutationsStayInTheirSession(t *testing.T) {
	c := cache.New(cache.Options{})
	var snapshot cache.Snapshot
	for _, name := range []string{"n", "m"} {
		if err := c.AddNode(objects.Node(name).Build()); err != nil {
			t.Fatal(err)
		}
	}
	for _, pod := range []*v1.Pod{mutablePod("a", "n"), mutablePod("b", "m")} {
		if err := c.AddPod(pod); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.UpdateSnapshot(&snapshot); err != nil {
		t.Fatal(err)
	}
	before := shown(t, &snapshot)
	mutable, logger := snapshot.Mutable(), klog.Logger{}
	info, err := framework.NewPodInfo(mutablePod("new", "")) // as a pod that waits
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what string, err error) {
		t.Helper()
		if err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	refused("AddPod without a session", mutable.AddPod(info, "n"))
	refused("RemovePod without a session", mutable.RemovePod(logger, mutablePod("a", "n"), "n"))
	refused("EndMutations without a session", mutable.EndMutations())
	for range 2 {
		for _, err := range []error{
			mutable.StartMutations(), mutable.AddPod(info, "n"), snapshot.Mutable().RemovePod(logger, mutablePod("b", "m"), "m"),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		refused("a second session", mutable.StartMutations())
		refused("AddPod to a node that is not there", mutable.AddPod(info, "none"))
		refused("RemovePod of a pod that is not there", mutable.RemovePod(logger, mutablePod("b", "m"), "m"))
		want := cache.NewSnapshot([]*v1.Pod{mutablePod("a", "n"), mutablePod("new", "n")}, []*v1.Node{objects.Node("n").Build(), objects.Node("m").Build()})
		if diff := cmp.Diff(shown(t, want), shown(t, mutable)); diff != "" {
			t.Errorf("in the session (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(before, shown(t, &snapshot)); diff != "" {
			t.Errorf("the snapshot (-before +in a session):\n%s", diff)
		}
		if err := mutable.EndMutations(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, shown(t, mutable)); diff != "" {
			t.Errorf("the view (-before +after the session):\n%s", diff)
		}
	}
	if err := mutable.StartMutations(); err != nil {
		t.Fatal(err)
	}
	if err := mutable.AddPod(info, "n"); err != nil {
		t.Fatal(err)
	}
	if err := c.UpdateSnapshot(&snapshot); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, shown(t, mutable)); diff != "" {
		t.Errorf("the view (-before +after a session that was not ended):\n%s", diff)
	}
}

// TestMutableSnapshotsAreReadTogether is for the race detector: plugins read a session from many goroutines, change the node
// infos that they got, and read the snapshot at the same time.
func TestMutableSnapshotsAreReadTogether(t *testing.T) {
	var nodes []*v1.Node
	var pods []*v1.Pod
	for i := range 8 {
		nodes = append(nodes, objects.Node(fmt.Sprint("n", i)).Build())
		pods = append(pods, mutablePod(fmt.Sprint("p", i), fmt.Sprint("n", i)))
	}
	snapshot := cache.NewSnapshot(pods, nodes)
	before := shown(t, snapshot)
	mutable := snapshot.Mutable()
	if err := mutable.StartMutations(); err != nil {
		t.Fatal(err)
	}
	var plugins sync.WaitGroup
	for i := range nodes {
		plugins.Go(func() {
			mine, err := mutable.NodeInfos().Get(fmt.Sprint("n", i))
			if err != nil {
				t.Error(err)
				return
			}
			clear(mine.GetPVCRefCounts())
			slices.Reverse(mine.GetPods())
			mine.SetNode(objects.Node(fmt.Sprint("n", i)).Build())
			if err := mine.RemovePod(klog.Logger{}, pods[i]); err != nil || len(mine.GetPods()) != 0 {
				t.Errorf("removing a pod from a node of the session: %v, %d pods are left", err, len(mine.GetPods()))
			}
			if all, err := mutable.NodeInfos().List(); err != nil || len(all) != len(nodes) {
				t.Errorf("%d nodes, %v", len(all), err)
			}
			mutable.StorageInfos().IsPVCUsedByPods("ns/p0")
			if diff := cmp.Diff(before, shown(t, snapshot)); diff != "" {
				t.Errorf("the snapshot (-before +in a session):\n%s", diff)
			}
		})
	}
	plugins.Wait()
	if err := mutable.EndMutations(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, shown(t, mutable)); diff != "" {
		t.Errorf("the view (-before +after the session):\n%s", diff)
	}
}

// A dry run asks what would be if a pod were gone and another came, and leaves no trace.
func ExampleSnapshot_Mutable() {
	node := objects.Node("n").Build()
	victim := mutablePod("victim", "n")
	snapshot := cache.NewSnapshot([]*v1.Pod{victim}, []*v1.Node{node})

	mutable := snapshot.Mutable() // a plugin gets it from its handle's MutableSnapshotSharedLister
	incoming, err := framework.NewPodInfo(mutablePod("incoming", ""))
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := mutable.StartMutations(); err != nil {
		fmt.Println(err)
		return
	}
	for _, err := range []error{mutable.RemovePod(klog.Background(), victim, "n"), mutable.AddPod(incoming, "n")} {
		if err != nil {
			fmt.Println(err)
		}
	}
	show := func(when string) {
		info, err := mutable.NodeInfos().Get("n")
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(when, info.GetPods()[0].GetPod().Name)
	}
	show("in the session:")
	if err := mutable.EndMutations(); err != nil {
		fmt.Println(err)
	}
	show("after it:")
	// Output:
	// in the session: incoming
	// after it: victim
}
