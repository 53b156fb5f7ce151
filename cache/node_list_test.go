// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// byNameDescending is how a plugin may sort the nodes that PreFilter shows it.
func byNameDescending(a, b fwk.NodeInfo) int { return strings.Compare(b.Node().Name, a.Node().Name) }

// listChanges are what plugins do to lists of nodes in place.
var listChanges = map[string]func(nodes []fwk.NodeInfo){
	"sorted": func(nodes []fwk.NodeInfo) { slices.SortFunc(nodes, byNameDescending) },
	"filtered": func(nodes []fwk.NodeInfo) {
		_ = slices.DeleteFunc(nodes, func(n fwk.NodeInfo) bool { return n.Node().Name != "3" })
	},
	"truncated": func(nodes []fwk.NodeInfo) { _ = append(nodes[:1], nodes[len(nodes)-1]) },
	"cleared":   func(nodes []fwk.NodeInfo) { clear(nodes) },
	"extended":  func(nodes []fwk.NodeInfo) { _ = append(nodes, nodes[0]) },
}

// snapshotLists are the lists of the official lister.
var snapshotLists = map[string]func(lister fwk.NodeInfoLister) ([]fwk.NodeInfo, error){
	"all":           fwk.NodeInfoLister.List,
	"affinity":      fwk.NodeInfoLister.HavePodsWithAffinityList,
	"anti-affinity": fwk.NodeInfoLister.HavePodsWithRequiredAntiAffinityList,
}

func TestListsBelongToTheirCallers(t *testing.T) {
	for change, apply := range listChanges {
		for name, list := range snapshotLists {
			t.Run(change+" "+name, func(t *testing.T) {
				c := New(Options{})
				for i := range 6 {
					node := fmt.Sprint(i)
					must(t, c.AddNode(objects.Node(node).Build()))
					must(t, c.AddPod(objects.Pod("p"+node).Node(node).PodAntiAffinity(v1.LabelHostname, "").Build()))
				}
				var s Snapshot
				update(t, c, &s)
				nodes, err := list(&s)
				must(t, err)
				apply(nodes)

				again, err := list(&s)
				must(t, err)
				if !slices.Equal(nodes, again) {
					t.Error("the next caller does not see what the one before did, as with kube-scheduler")
				}
				for i, index := range s.ListOrder() {
					if got := s.NodeAt(index).Node().Name; got != fmt.Sprint(i) {
						t.Errorf("node %d of the order is %s", i, got)
					}
				}
				fork := s.Fork()
				must(t, fork.AddPod(objects.Pod("more").Node("4").Build()))
				forked, err := list(fork)
				must(t, err)
				if diff := cmp.Diff([]string{"0", "1", "2", "3", "4", "5"}, namesOf(forked)); diff != "" {
					t.Errorf("nodes of a fork (-want +got):\n%s", diff)
				}

				must(t, c.AddPod(objects.Pod("late").Node("2").Build()))
				must(t, c.RemovePod(objects.Pod("p0").Node("0").Build()))
				update(t, c, &s)
				checkFresh(t, c, &s)
			})
		}
	}
}

func TestReorderedListsHaveTheNodesOfTheLastUpdate(t *testing.T) {
	const nodes, steps = 300, 400
	random := rand.New(rand.NewPCG(1, 2))
	c := New(Options{})
	for i := range nodes {
		must(t, c.AddNode(objects.Node(fmt.Sprint(i)).Build()))
	}
	var s Snapshot
	update(t, c, &s)
	pods := map[string]bool{}
	for step := range steps {
		for _, list := range snapshotLists {
			infos, err := list(&s)
			must(t, err)
			for range random.IntN(3) {
				if n := len(infos); n > 0 {
					a, b := random.IntN(n), random.IntN(n)
					infos[a], infos[b] = infos[b], infos[a]
				}
			}
		}
		for range random.IntN(3) {
			node := fmt.Sprint(random.IntN(nodes))
			pod := objects.Pod("p"+node).Node(node).PodAntiAffinity(v1.LabelHostname, "").Build()
			if pods[node] {
				must(t, c.RemovePod(pod))
			} else {
				must(t, c.AddPod(pod))
			}
			pods[node] = !pods[node]
		}
		update(t, c, &s)
		want := map[string]bool{}
		for i := range nodes {
			want[fmt.Sprint(i)] = true
		}
		checkNodes(t, &s, fmt.Sprintf("step %d, all", step), snapshotLists["all"], want)
		maps.DeleteFunc(pods, func(_ string, there bool) bool { return !there })
		checkNodes(t, &s, fmt.Sprintf("step %d, affinity", step), snapshotLists["affinity"], pods)
		checkNodes(t, &s, fmt.Sprintf("step %d, anti-affinity", step), snapshotLists["anti-affinity"], pods)
	}
}

// checkNodes compares a list, whatever its order, with the nodes of some names.
func checkNodes(t *testing.T, s *Snapshot, what string, list func(fwk.NodeInfoLister) ([]fwk.NodeInfo, error), want map[string]bool) {
	t.Helper()
	infos, err := list(s)
	must(t, err)
	got := map[string]bool{}
	for _, info := range infos {
		name := info.Node().Name
		if present, err := s.Get(name); err != nil || present != info {
			t.Fatalf("%s: node %s is not the present one", what, name)
		}
		got[name] = true
	}
	if diff := cmp.Diff(want, got); diff != "" || len(infos) != len(got) {
		t.Fatalf("%s: %d elements (-want +got):\n%s", what, len(infos), diff)
	}
}

func TestDamagedListIsWholeAgainWithoutChanges(t *testing.T) {
	c := New(Options{})
	for i := range 3 * comparedAtOnce {
		must(t, c.AddNode(objects.Node(fmt.Sprint(i)).Build()))
	}
	var s Snapshot
	update(t, c, &s)
	nodes, _ := s.List()
	nodes[100] = nil
	for range 4 {
		update(t, c, &s)
	}
	checkFresh(t, c, &s)
}

// TestListsInParallel is for the race detector: a plugin sorts the list under a lock of its own while others look for nodes
// by index and fork the snapshot.
func TestListsInParallel(t *testing.T) {
	c := New(Options{})
	for i := range 50 {
		must(t, c.AddNode(objects.Node(fmt.Sprint(i)).Build()))
	}
	var s Snapshot
	update(t, c, &s)
	var sorting sync.Mutex
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			sorting.Lock()
			defer sorting.Unlock()
			nodes, _ := s.List()
			slices.SortFunc(nodes, byNameDescending)
		})
		group.Go(func() {
			for i, index := range s.ListOrder() {
				if got := s.NodeAt(index).Node().Name; got != fmt.Sprint(i) {
					t.Errorf("node %d of the order is %s", i, got)
				}
			}
			fork := s.Fork()
			if err := fork.AddPod(objects.Pod("p").Node("7").Build()); err != nil {
				t.Error(err)
			}
			if nodes, _ := fork.List(); len(nodes) != 50 || nodes[7].Node().Name != "7" {
				t.Error("the fork has other nodes")
			}
		})
	}
	group.Wait()
}
