// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func TestEmptySnapshot(t *testing.T) {
	for name, s := range map[string]*Snapshot{"zero value": {}, "of nothing": NewSnapshot(nil, nil)} {
		t.Run(name, func(t *testing.T) {
			view := snapshotViewOf(t, s, []string{"default/claim"})
			if diff := cmp.Diff(snapshotView{Nodes: map[string]nodeView{}}, view); diff != "" {
				t.Errorf("empty snapshot (-want +got):\n%s", diff)
			}
			_, err := s.Get("node")
			wantError(t, err, `nodeinfo not found for node name "node"`)
			for index := range s.ChangedSince(0) {
				t.Errorf("node index %d changed", index)
			}
			if s.IndexCount() != 0 || s.NodeCount() != 0 || s.Generation() != 0 {
				t.Errorf("%d node indexes, %d nodes, generation %d", s.IndexCount(), s.NodeCount(), s.Generation())
			}
		})
	}
}

func TestNewSnapshot(t *testing.T) {
	onNode := objects.Pod("a").Node("1").Requests("cpu", "1").PersistentVolumeClaim("one").PodAntiAffinity(v1.LabelHostname, "").Build()
	pods := []*v1.Pod{
		onNode,
		objects.Pod("b").Node("2").PreferredPodAffinity(1, v1.LabelHostname, "").UID("").Build(),
		objects.Pod("c").Node("2").UID("").Build(),
		objects.Pod("on no node").Build(),
		objects.Pod("on another node").Node("5").Build(),
		nil,
	}
	nodes := []*v1.Node{
		objects.Node("1").Label(v1.LabelTopologyZone, "x").Image(7, "app").Build(),
		objects.Node("2").Label(v1.LabelTopologyZone, "x").Image(7, "app").Allocatable("cpu", "3").Build(),
		nil,
		objects.Node("3").Label(v1.LabelTopologyZone, "y").Build(),
	}
	s := NewSnapshot(pods, nodes)
	view := snapshotViewOf(t, s, []string{"default/one", "default/two"})
	if diff := cmp.Diff([]string{"1", "3", "2"}, view.Order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"1", "2"}, view.Affinity); diff != "" {
		t.Errorf("nodes with affinity (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"1"}, view.AntiAffinity); diff != "" {
		t.Errorf("nodes with required anti-affinity (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"default/one"}, view.UsedClaims); diff != "" {
		t.Errorf("used claims (-want +got):\n%s", diff)
	}
	if got := view.Nodes["1"]; got.Requested.MilliCPU != 1000 || got.Pods["default/a"] != onNode || got.Images["app"] != (imageView{7, 2}) {
		t.Errorf("node 1 is %+v", got)
	}
	second, err := s.Get("2")
	must(t, err)
	if len(second.GetPods()) != 2 || second.GetAllocatable().GetMilliCPU() != 3000 {
		t.Errorf("node 2 is %v", second)
	}
}

func TestSnapshotBelongsToOneCache(t *testing.T) {
	one, other := New(Options{}), New(Options{})
	must(t, other.AddNode(objects.Node("1").Build()))
	var s Snapshot
	update(t, one, &s)
	wantError(t, other.UpdateSnapshot(&s), "updating a snapshot: it belongs to another cache; use a snapshot of its own for each cache")
	wantError(t, one.UpdateSnapshot(NewSnapshot(nil, nil)), "updating a snapshot: it belongs to another cache; use a snapshot of its own for each cache")
	wantError(t, one.UpdateSnapshot(nil), "updating a snapshot: the snapshot is nil")
	if s.NodeCount() != 0 {
		t.Errorf("the snapshot has %v", listedNames(t, &s))
	}
}

func TestManySnapshotsOfOneCache(t *testing.T) {
	c := New(Options{})
	var early, late Snapshot
	must(t, c.AddNode(objects.Node("1").Build()))
	update(t, c, &early)
	must(t, c.AddPod(objects.Pod("a").Node("1").PersistentVolumeClaim("one").Build()))
	update(t, c, &late)
	update(t, c, &late)
	must(t, c.RemovePod(objects.Pod("a").Node("1").Build()))
	must(t, c.AddNode(objects.Node("2").Build()))
	update(t, c, &early)
	checkFresh(t, c, &early, "default/one")
	if got := listedNames(t, &late); !cmp.Equal(got, []string{"1"}) || !late.IsPVCUsedByPods("default/one") {
		t.Errorf("a snapshot that was not updated has nodes %v, claim used %v", got, late.IsPVCUsedByPods("default/one"))
	}
	update(t, c, &late)
	checkFresh(t, c, &late, "default/one")
}

func TestNodeInfosOfSnapshotsNeverChange(t *testing.T) {
	c := New(Options{})
	must(t, c.AddNode(objects.Node("1").Image(1, "app").Build()))
	must(t, c.AddPod(objects.Pod("a").Node("1").HostPort(80).PersistentVolumeClaim("one").Requests("example.com/foo", "1").PodAntiAffinity(v1.LabelHostname, "").Build()))
	var s Snapshot
	update(t, c, &s)
	kept, err := s.Get("1")
	must(t, err)
	before := viewOf(kept)
	must(t, c.AddPod(objects.Pod("b").Node("1").HostPort(81).PersistentVolumeClaim("one").Requests("example.com/foo", "1").PodAntiAffinity(v1.LabelHostname, "").Build()))
	must(t, c.RemovePod(objects.Pod("a").Node("1").Build()))
	must(t, c.AddNode(objects.Node("2").Image(1, "app").Build()))
	must(t, c.UpdateNode(objects.Node("1").Allocatable("cpu", "1").Build()))
	update(t, c, &s)
	if diff := cmp.Diff(before, viewOf(kept)); diff != "" {
		t.Errorf("a node info changed after it was handed out (-before +after):\n%s", diff)
	}
	if now, _ := s.Get("1"); now == kept {
		t.Error("the snapshot still has the old node info")
	}
}

// TestUpdateSnapshotCostFollowsChanges counts the node infos that an update replaces, and compares the allocations of
// an update of a small cluster to those of a large one.
func TestUpdateSnapshotCostFollowsChanges(t *testing.T) {
	allocations := map[int]float64{}
	for _, size := range []int{10, 10_000} {
		c := New(Options{})
		for i := range size {
			must(t, c.AddNode(objects.Node(fmt.Sprint(i)).Label(v1.LabelTopologyZone, fmt.Sprint(i%3)).Build()))
		}
		var s Snapshot
		update(t, c, &s)
		infos, _ := s.List()
		before := append([]fwk.NodeInfo(nil), infos...)
		generation := s.Generation()

		pod := objects.Pod("a").Node("7").PodAntiAffinity(v1.LabelHostname, "").PersistentVolumeClaim("one").Build()
		must(t, c.AssumePod(pod))
		update(t, c, &s)
		replaced := 0
		infos, _ = s.List()
		for i := range infos {
			if infos[i] != before[i] {
				replaced++
			}
		}
		if replaced != 1 {
			t.Errorf("%d nodes: the update replaced %d node infos, want 1", size, replaced)
		}
		for index := range s.ChangedSince(generation) {
			if got := s.NodeAt(index).Node().Name; got != "7" {
				t.Errorf("%d nodes: node %s changed", size, got)
			}
		}
		change := func() {
			must(t, c.ForgetPod(pod))
			must(t, c.AssumePod(pod))
		}
		both := testing.AllocsPerRun(100, func() { change(); update(t, c, &s) })
		allocations[size] = both - testing.AllocsPerRun(100, change)

		idle := testing.AllocsPerRun(100, func() { update(t, c, &s) })
		if idle != 0 {
			t.Errorf("%d nodes: an update without a change allocates %v times", size, idle)
		}
	}
	if allocations[10_000] > allocations[10] {
		t.Errorf("one changed node of 10000 costs %v allocations, one of 10 costs %v", allocations[10_000], allocations[10])
	}
}

func TestReadingAllocatesNothing(t *testing.T) {
	c := New(Options{})
	for _, name := range []string{"1", "2", "3"} {
		must(t, c.AddNode(objects.Node(name).Build()))
		must(t, c.AddPod(objects.Pod(name).Node(name).PodAntiAffinity(v1.LabelHostname, "").Build()))
	}
	var s Snapshot
	update(t, c, &s)
	var lister fwk.SharedLister = &s
	allocations := testing.AllocsPerRun(100, func() {
		infos, _ := lister.NodeInfos().List()
		affinity, _ := lister.NodeInfos().HavePodsWithAffinityList()
		antiAffinity, _ := lister.NodeInfos().HavePodsWithRequiredAntiAffinityList()
		if len(infos)+len(affinity)+len(antiAffinity)+len(s.ListOrder()) != 12 {
			t.Error("a list is not complete")
		}
		if _, err := lister.NodeInfos().Get("2"); err != nil {
			t.Error(err)
		}
		for index := range s.ChangedSince(0) {
			if s.NodeAt(index) == nil {
				t.Error("a node index has no node")
			}
		}
	})
	if allocations != 0 {
		t.Errorf("reading a snapshot allocates %v times", allocations)
	}
}

func TestDamagedSnapshotRecovers(t *testing.T) {
	damage := map[string]func(*Snapshot){
		"a node is missing in the list": func(s *Snapshot) { s.list = newNodeList(s.list.nodes[:1]) },
		"a node is missing by name":     func(s *Snapshot) { delete(s.byName, "1") },
		"a node is known that is gone":  func(s *Snapshot) { s.byName["9"] = &snapshotNode{name: "9"} },
	}
	for name, damage := range damage {
		t.Run(name, func(t *testing.T) {
			c := New(Options{})
			must(t, c.AddNode(objects.Node("1").Build()))
			must(t, c.AddNode(objects.Node("2").Build()))
			var s Snapshot
			update(t, c, &s)
			damage(&s)
			if err := c.UpdateSnapshot(&s); err == nil || !containsText(err, "snapshot state is not consistent") ||
				!containsText(err, "trying to recover") {
				t.Errorf("got error %v", err)
			}
			checkFresh(t, c, &s)
			update(t, c, &s)
		})
	}
}

func TestPodGroupsAreDisabled(t *testing.T) {
	s := NewSnapshot(nil, nil)
	for name, groups := range map[string]interface {
		PodGroups() fwk.PodGroupLister
		PodGroupStates() fwk.PodGroupStateLister
		CompositePodGroups() fwk.CompositePodGroupLister
		CompositePodGroupStates() fwk.CompositePodGroupStateLister
	}{"snapshot": s, "manager": NoPodGroups{}} {
		t.Run(name, func(t *testing.T) {
			_, err := groups.PodGroups().Get("default", "group")
			wantError(t, err, "generic workload feature gate is disabled")
			_, err = groups.PodGroupStates().Get("default", "group")
			wantError(t, err, "generic workload feature gate is disabled")
			_, err = groups.CompositePodGroups().Get("default", "group")
			wantError(t, err, "composite pod group feature gate is disabled")
			_, err = groups.CompositePodGroupStates().Get("default", "group")
			wantError(t, err, "composite pod group feature gate is disabled")
		})
	}
	_, err := NoPodGroups{}.BuildHierarchySnapshotFromPod(objects.Pod("a").Build())
	wantError(t, err, "generic workload feature gate is disabled")
	_, _, err = NoPodGroups{}.GetRootKeyForGroup(fwk.EntityKey{})
	wantError(t, err, "generic workload feature gate is disabled")
	infos, err := s.HavePodsWithRequiredNonHostScopedAntiAffinityList()
	if err != nil || len(infos) != 0 {
		t.Errorf("got %v, %v; want nothing", infos, err)
	}
}

// TestConcurrentUse is for the race detector: several caches in one process, each changed, read and copied by several
// goroutines.
func TestConcurrentUse(t *testing.T) {
	check := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	var group sync.WaitGroup
	for range 2 {
		c := New(Options{})
		for i := range 20 {
			must(t, c.AddNode(objects.Node(fmt.Sprint(i)).Image(1, "app").Build()))
		}
		for worker := range 4 {
			group.Go(func() {
				for i := range 200 {
					pod := objects.Pod(fmt.Sprintf("%d-%d", worker, i)).Node(fmt.Sprint(i%20)).PersistentVolumeClaim("one").PodAntiAffinity(v1.LabelHostname, "").Build()
					check(c.AssumePod(pod))
					if i%2 == 0 {
						check(c.AddPod(pod))
						check(c.UpdateNode(objects.Node(fmt.Sprint(i%20)).Image(1, "app").Build()))
						check(c.RemovePod(pod))
					} else {
						check(c.ForgetPod(pod))
					}
				}
			})
		}
		for range 2 {
			group.Go(func() {
				var s Snapshot
				for range 100 {
					check(c.UpdateSnapshot(&s))
					var readers sync.WaitGroup
					for range 3 {
						readers.Go(func() {
							infos, _ := s.List()
							for _, info := range infos {
								viewOf(info)
							}
						})
					}
					readers.Wait()
					c.Counts()
				}
				c.Dump()
			})
		}
		t.Cleanup(func() {
			var s Snapshot
			update(t, c, &s)
			infos, _ := s.List()
			for _, info := range infos {
				if len(info.GetPods()) != 0 {
					t.Errorf("pods are left on %v", info)
				}
			}
		})
	}
	group.Wait()
}

// What plugins keep with a snapshot is made once for each key, whoever asks, and outlives updates.
func TestSnapshotKeepsDataOfPlugins(t *testing.T) {
	type key struct{ name string }
	var (
		c     = New(Options{})
		s     Snapshot
		made  atomic.Int32
		group sync.WaitGroup
	)
	create := func() any { return made.Add(1) }
	for range 8 {
		group.Go(func() { s.Data(key{"a"}, create) })
	}
	group.Wait()
	first := s.Data(key{"a"}, create)
	if err := c.AddNode(objects.Node("n").Build()); err != nil {
		t.Fatal(err)
	}
	update(t, c, &s)
	if s.Data(key{"a"}, create) != first || s.Data(key{"b"}, create) == first || made.Load() != 2 {
		t.Errorf("values were made %d times, want 2", made.Load())
	}
}
