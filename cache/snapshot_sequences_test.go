// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// step is one thing done to a cache and the snapshot that follows it.
type step func(t *testing.T, c *Cache, s *Snapshot)

func addNodes(names ...string) step {
	return func(t *testing.T, c *Cache, _ *Snapshot) {
		for _, name := range names {
			must(t, c.AddNode(objects.Node(name).Build()))
		}
	}
}

func updateNodes(names ...string) step {
	return func(t *testing.T, c *Cache, _ *Snapshot) {
		for _, name := range names {
			must(t, c.UpdateNode(objects.Node(name).Allocatable("cpu", "7").Build()))
		}
	}
}

func removeNodes(names ...string) step {
	return func(t *testing.T, c *Cache, _ *Snapshot) {
		for _, name := range names {
			must(t, c.RemoveNode(objects.Node(name).Build()))
		}
	}
}

func addPod(pod *v1.Pod) step {
	return func(t *testing.T, c *Cache, _ *Snapshot) { must(t, c.AddPod(pod)) }
}

func assumePod(pod *v1.Pod) step {
	return func(t *testing.T, c *Cache, _ *Snapshot) { must(t, c.AssumePod(pod)) }
}

func forgetPod(name, node string) step {
	return func(t *testing.T, c *Cache, _ *Snapshot) { must(t, c.ForgetPod(objects.Pod(name).Node(node).Build())) }
}

// updatePod updates a pod that was added without anything but its name and node.
func updatePod(pod *v1.Pod) step {
	return func(t *testing.T, c *Cache, _ *Snapshot) {
		must(t, c.UpdatePod(objects.Pod(pod.Name).Node(pod.Spec.NodeName).Build(), pod))
	}
}

func removePod(name, node string) step {
	return func(t *testing.T, c *Cache, _ *Snapshot) { must(t, c.RemovePod(objects.Pod(name).Node(node).Build())) }
}

// takeSnapshot updates the snapshot and expects the listed nodes.
func takeSnapshot(want ...string) step {
	return func(t *testing.T, c *Cache, s *Snapshot) {
		t.Helper()
		update(t, c, s)
		if diff := cmp.Diff(want, listedNames(t, s)); diff != "" {
			t.Errorf("listed nodes (-want +got):\n%s", diff)
		}
	}
}

// wantChanged expects the nodes that changed last in the snapshot, the latest first.
func wantChanged(want ...string) step {
	return func(t *testing.T, _ *Cache, s *Snapshot) {
		t.Helper()
		var got []string
		for index := range s.ChangedSince(0) {
			if info := s.NodeAt(index); info != nil && len(got) < len(want) {
				got = append(got, info.Node().Name)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("nodes by latest change (-want +got):\n%s", diff)
		}
	}
}

func wantAffinity(affinity, antiAffinity []string) step {
	return func(t *testing.T, c *Cache, s *Snapshot) {
		t.Helper()
		update(t, c, s)
		gotAffinity, gotAnti := affinityNames(t, s)
		if diff := cmp.Diff(affinity, gotAffinity); diff != "" {
			t.Errorf("nodes with affinity (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(antiAffinity, gotAnti); diff != "" {
			t.Errorf("nodes with required anti-affinity (-want +got):\n%s", diff)
		}
	}
}

var sequenceClaims = []string{"default/one", "default/two", "other/one"}

func wantClaims(want ...string) step {
	return func(t *testing.T, c *Cache, s *Snapshot) {
		t.Helper()
		update(t, c, s)
		if diff := cmp.Diff(want, snapshotViewOf(t, s, sequenceClaims).UsedClaims); diff != "" {
			t.Errorf("used claims (-want +got):\n%s", diff)
		}
	}
}

// TestSnapshotSequences checks after every step that a snapshot brought up to date then, and one that is brought up to
// date only where the sequence says so, show what a new snapshot shows.
func TestSnapshotSequences(t *testing.T) {
	none := takeSnapshot()
	tests := []struct {
		name  string
		steps []step
	}{
		{"empty cache", []step{none, none}},
		{"single node", []step{addNodes("1"), takeSnapshot("1")}},
		{"add, remove, add within a cycle", []step{addNodes("1"), removeNodes("1"), addNodes("2"), takeSnapshot("2")}},
		{"add, remove, add across cycles", []step{
			addNodes("1"), takeSnapshot("1"), removeNodes("1"), none, addNodes("2"), takeSnapshot("2")}},
		{"add and remove the same node within a cycle", []step{addNodes("1"), removeNodes("1"), none}},
		{"many nodes, snapshot at the end", []step{
			addNodes("1", "2", "3", "4", "5"), takeSnapshot("1", "2", "3", "4", "5"), wantChanged("5", "4", "3", "2", "1")}},
		{"many nodes, snapshot in the middle", []step{
			addNodes("1", "2"), takeSnapshot("1", "2"), addNodes("3", "4"), removeNodes("2"), takeSnapshot("1", "3", "4")}},
		{"update a subset", []step{
			addNodes("1", "2", "3", "4"), takeSnapshot("1", "2", "3", "4"),
			updateNodes("3", "1"), takeSnapshot("1", "2", "3", "4"), wantChanged("1", "3", "4", "2")}},
		{"update all in the order of the list", []step{
			addNodes("1", "2", "3"), updateNodes("1", "2", "3"), takeSnapshot("1", "2", "3"), wantChanged("3", "2", "1")}},
		{"update all backwards", []step{
			addNodes("1", "2", "3"), takeSnapshot("1", "2", "3"), updateNodes("3", "2", "1"), takeSnapshot("1", "2", "3"), wantChanged("1", "2", "3")}},
		{"remove some", []step{addNodes("1", "2", "3"), takeSnapshot("1", "2", "3"), removeNodes("2"), takeSnapshot("1", "3")}},
		{"remove all", []step{addNodes("1", "2", "3"), takeSnapshot("1", "2", "3"), removeNodes("3", "1", "2"), none}},
		{"remove all and add again", []step{
			addNodes("1", "2", "3"), takeSnapshot("1", "2", "3"), removeNodes("3", "1", "2"), addNodes("2", "4"), takeSnapshot("2", "4")}},
		{"a pod update makes its node the latest", []step{
			addNodes("1", "2", "3"), addPod(objects.Pod("a").Node("1").Build()), takeSnapshot("1", "2", "3"), wantChanged("1", "3", "2"),
			addPod(objects.Pod("b").Node("3").Build()), updatePod(objects.Pod("a").Node("1").Label("x", "y").Build()), takeSnapshot("1", "2", "3"), wantChanged("1", "3", "2")}},
		{"recreate one of several nodes", []step{
			addNodes("1", "2", "3"), takeSnapshot("1", "2", "3"), removeNodes("1"), addNodes("1"), takeSnapshot("1", "2", "3"),
			removeNodes("2"), takeSnapshot("3", "1")}},
		{"recreate one of several nodes, with others coming and going", []step{
			addNodes("1", "2", "3"), takeSnapshot("1", "2", "3"),
			removeNodes("1", "3"), addNodes("4", "1"), takeSnapshot("2", "4", "1")}},
		{"pod before its node", []step{addPod(objects.Pod("a").Node("1").Build()), none, addNodes("1"), takeSnapshot("1")}},
		{"placeholder that never becomes a node", []step{addPod(objects.Pod("a").Node("1").Build()), none, removePod("a", "1"), none}},
		{"node removed before its pods", []step{
			addNodes("1", "2"), addPod(objects.Pod("a").Node("1").PersistentVolumeClaim("one").Build()), takeSnapshot("1", "2"), removeNodes("1"), takeSnapshot("2"),
			wantClaims(), removePod("a", "1"), takeSnapshot("2"), wantClaims()}},
		{"pods removed before their node", []step{
			addNodes("1", "2"), addPod(objects.Pod("a").Node("1").PersistentVolumeClaim("one").Build()), takeSnapshot("1", "2"), removePod("a", "1"), removeNodes("1"),
			takeSnapshot("2"), wantClaims()}},
		{"node removed, its pod stays, and the node comes back", []step{
			addNodes("1"), addPod(objects.Pod("a").Node("1").PersistentVolumeClaim("one").PodAntiAffinity(v1.LabelHostname, "").Build()), takeSnapshot("1"), removeNodes("1"), none,
			wantAffinity(nil, nil), addNodes("1"), takeSnapshot("1"), wantAffinity([]string{"1"}, []string{"1"}), wantClaims("default/one")}},
		{"assume and forget", []step{
			addNodes("1"), takeSnapshot("1"), assumePod(objects.Pod("a").Node("1").PersistentVolumeClaim("one").PodAntiAffinity(v1.LabelHostname, "").Build()), takeSnapshot("1"),
			wantAffinity([]string{"1"}, []string{"1"}), wantClaims("default/one"), forgetPod("a", "1"), takeSnapshot("1"),
			wantAffinity(nil, nil), wantClaims()}},
		{"assume and forget within a cycle", []step{
			addNodes("1"), takeSnapshot("1"), assumePod(objects.Pod("a").Node("1").PersistentVolumeClaim("one").PodAntiAffinity(v1.LabelHostname, "").Build()), forgetPod("a", "1"),
			takeSnapshot("1"), wantAffinity(nil, nil), wantClaims()}},
		{"affinity comes and goes", []step{
			addNodes("1", "2", "3"), addPod(objects.Pod("a").Node("3").PreferredPodAffinity(1, v1.LabelHostname, "").Build()), wantAffinity([]string{"3"}, nil),
			addPod(objects.Pod("b").Node("1").PodAntiAffinity(v1.LabelHostname, "").Build()), wantAffinity([]string{"1", "3"}, []string{"1"}),
			addPod(objects.Pod("c").Node("2").PodAntiAffinity(v1.LabelHostname, "").Build()), wantAffinity([]string{"1", "2", "3"}, []string{"1", "2"}),
			addPod(objects.Pod("d").Node("1").PodAntiAffinity(v1.LabelHostname, "").Build()), removePod("b", "1"), wantAffinity([]string{"1", "2", "3"}, []string{"1", "2"}),
			removePod("d", "1"), wantAffinity([]string{"2", "3"}, []string{"2"}),
			removePod("a", "3"), removePod("c", "2"), wantAffinity(nil, nil)}},
		{"affinity by pod updates", []step{
			addNodes("1", "2"), addPod(objects.Pod("a").Node("2").Build()), wantAffinity(nil, nil),
			updatePod(objects.Pod("a").Node("2").PreferredPodAffinity(1, v1.LabelHostname, "").Build()), wantAffinity([]string{"2"}, nil),
			updatePod(objects.Pod("a").Node("2").PodAntiAffinity(v1.LabelHostname, "").Build()), wantAffinity([]string{"2"}, []string{"2"}),
			updatePod(objects.Pod("a").Node("2").Build()), wantAffinity(nil, nil)}},
		{"affinity while nodes come and go", []step{
			addNodes("1", "2", "3"), addPod(objects.Pod("a").Node("3").PodAntiAffinity(v1.LabelHostname, "").Build()), wantAffinity([]string{"3"}, []string{"3"}),
			removeNodes("1"), addPod(objects.Pod("b").Node("2").PreferredPodAffinity(1, v1.LabelHostname, "").Build()), wantAffinity([]string{"2", "3"}, []string{"3"}),
			removeNodes("3"), wantAffinity([]string{"2"}, nil),
			addNodes("3"), wantAffinity([]string{"2", "3"}, []string{"3"})}},
		{"claims", []step{
			addNodes("1", "2"), addPod(objects.Pod("a").Node("1").PersistentVolumeClaim("one").Build()), wantClaims("default/one"),
			addPod(objects.Pod("b").Node("2").PersistentVolumeClaim("one").PersistentVolumeClaim("two").Build()), wantClaims("default/one", "default/two"),
			removePod("a", "1"), wantClaims("default/one", "default/two"), removePod("b", "2"), wantClaims()}},
		{"one pod names a claim twice", []step{
			addNodes("1"), addPod(objects.Pod("a").Node("1").PersistentVolumeClaim("one").PersistentVolumeClaim("one").Build()), wantClaims("default/one"),
			addPod(objects.Pod("b").Node("1").PersistentVolumeClaim("one").Build()), removePod("a", "1"), wantClaims("default/one"), removePod("b", "1"), wantClaims()}},
		{"a pod is replaced by one with another claim", []step{
			addNodes("1"), addPod(objects.Pod("a").Node("1").PersistentVolumeClaim("one").Build()), wantClaims("default/one"),
			updatePod(objects.Pod("a").Node("1").PersistentVolumeClaim("two").Build()), wantClaims("default/two"), updatePod(objects.Pod("a").Node("1").Build()), wantClaims()}},
		{"node removed, snapshot, pods removed, claim still used elsewhere", []step{
			addNodes("1", "2"), addPod(objects.Pod("a").Node("1").PersistentVolumeClaim("one").Build()), addPod(objects.Pod("b").Node("2").PersistentVolumeClaim("one").Build()), wantClaims("default/one"),
			removeNodes("1"), wantClaims("default/one"), removePod("a", "1"), wantClaims("default/one"),
			addPod(objects.Pod("c").Node("2").Build()), wantClaims("default/one"), removePod("b", "2"), wantClaims()}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := New(Options{})
			var always, sometimes Snapshot
			for i, step := range test.steps {
				step(t, c, &sometimes)
				update(t, c, &always)
				checkFreshNodes(t, c, &always)
				if t.Failed() {
					t.Fatalf("at step %d", i)
				}
			}
			update(t, c, &sometimes)
			checkFreshNodes(t, c, &sometimes)
		})
	}
}

// checkFreshNodes is checkFresh where node order may be older than that of a new snapshot.
func checkFreshNodes(t *testing.T, c *Cache, s *Snapshot) {
	t.Helper()
	var fresh Snapshot
	update(t, c, &fresh)
	want, got := snapshotViewOf(t, &fresh, sequenceClaims), snapshotViewOf(t, s, sequenceClaims)
	if diff := cmp.Diff(want.Nodes, got.Nodes); diff != "" {
		t.Errorf("nodes differ from those of a new snapshot (-new +updated):\n%s", diff)
	}
	if diff := cmp.Diff(want.UsedClaims, got.UsedClaims); diff != "" {
		t.Errorf("claims differ from those of a new snapshot (-new +updated):\n%s", diff)
	}
	var affinity, antiAffinity []string
	for _, name := range got.Order {
		if node := got.Nodes[name]; len(node.Affinity) > 0 {
			affinity = append(affinity, name)
		}
		if node := got.Nodes[name]; len(node.AntiAffinity) > 0 {
			antiAffinity = append(antiAffinity, name)
		}
	}
	if diff := cmp.Diff(affinity, got.Affinity); diff != "" {
		t.Errorf("affinity list (-nodes with such pods +got):\n%s", diff)
	}
	if diff := cmp.Diff(antiAffinity, got.AntiAffinity); diff != "" {
		t.Errorf("anti-affinity list (-nodes with such pods +got):\n%s", diff)
	}
}
