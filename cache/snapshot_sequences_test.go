// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// step is one thing done to a cache and the snapshot that follows it.
type step func(t *testing.T, c *Cache, s *Snapshot)

func addNodes(names ...string) step {
	return func(t *testing.T, c *Cache, _ *Snapshot) {
		for _, name := range names {
			must(t, c.AddNode(makeNode(name)))
		}
	}
}

func updateNodes(names ...string) step {
	return func(t *testing.T, c *Cache, _ *Snapshot) {
		for _, name := range names {
			must(t, c.UpdateNode(makeNode(name, allocatable("cpu", "7"))))
		}
	}
}

func removeNodes(names ...string) step {
	return func(t *testing.T, c *Cache, _ *Snapshot) {
		for _, name := range names {
			must(t, c.RemoveNode(makeNode(name)))
		}
	}
}

func addPod(name, node string, options ...podOption) step {
	return func(t *testing.T, c *Cache, _ *Snapshot) { must(t, c.AddPod(makePod(name, node, options...))) }
}

func assumePod(name, node string, options ...podOption) step {
	return func(t *testing.T, c *Cache, _ *Snapshot) { must(t, c.AssumePod(makePod(name, node, options...))) }
}

func forgetPod(name, node string) step {
	return func(t *testing.T, c *Cache, _ *Snapshot) { must(t, c.ForgetPod(makePod(name, node))) }
}

func updatePod(name, node string, options ...podOption) step {
	return func(t *testing.T, c *Cache, _ *Snapshot) {
		must(t, c.UpdatePod(makePod(name, node), makePod(name, node, options...)))
	}
}

func removePod(name, node string) step {
	return func(t *testing.T, c *Cache, _ *Snapshot) { must(t, c.RemovePod(makePod(name, node))) }
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
			addNodes("1", "2", "3"), addPod("a", "1"), takeSnapshot("1", "2", "3"), wantChanged("1", "3", "2"),
			addPod("b", "3"), updatePod("a", "1", podLabel("x", "y")), takeSnapshot("1", "2", "3"), wantChanged("1", "3", "2")}},
		{"recreate one of several nodes", []step{
			addNodes("1", "2", "3"), takeSnapshot("1", "2", "3"), removeNodes("1"), addNodes("1"), takeSnapshot("1", "2", "3"),
			removeNodes("2"), takeSnapshot("3", "1")}},
		{"recreate one of several nodes, with others coming and going", []step{
			addNodes("1", "2", "3"), takeSnapshot("1", "2", "3"),
			removeNodes("1", "3"), addNodes("4", "1"), takeSnapshot("2", "4", "1")}},
		{"pod before its node", []step{addPod("a", "1"), none, addNodes("1"), takeSnapshot("1")}},
		{"placeholder that never becomes a node", []step{addPod("a", "1"), none, removePod("a", "1"), none}},
		{"node removed before its pods", []step{
			addNodes("1", "2"), addPod("a", "1", claim("one")), takeSnapshot("1", "2"), removeNodes("1"), takeSnapshot("2"),
			wantClaims(), removePod("a", "1"), takeSnapshot("2"), wantClaims()}},
		{"pods removed before their node", []step{
			addNodes("1", "2"), addPod("a", "1", claim("one")), takeSnapshot("1", "2"), removePod("a", "1"), removeNodes("1"),
			takeSnapshot("2"), wantClaims()}},
		{"node removed, its pod stays, and the node comes back", []step{
			addNodes("1"), addPod("a", "1", claim("one"), requiredAntiAffinity), takeSnapshot("1"), removeNodes("1"), none,
			wantAffinity(nil, nil), addNodes("1"), takeSnapshot("1"), wantAffinity([]string{"1"}, []string{"1"}), wantClaims("default/one")}},
		{"assume and forget", []step{
			addNodes("1"), takeSnapshot("1"), assumePod("a", "1", claim("one"), requiredAntiAffinity), takeSnapshot("1"),
			wantAffinity([]string{"1"}, []string{"1"}), wantClaims("default/one"), forgetPod("a", "1"), takeSnapshot("1"),
			wantAffinity(nil, nil), wantClaims()}},
		{"assume and forget within a cycle", []step{
			addNodes("1"), takeSnapshot("1"), assumePod("a", "1", claim("one"), requiredAntiAffinity), forgetPod("a", "1"),
			takeSnapshot("1"), wantAffinity(nil, nil), wantClaims()}},
		{"affinity comes and goes", []step{
			addNodes("1", "2", "3"), addPod("a", "3", preferredAffinity), wantAffinity([]string{"3"}, nil),
			addPod("b", "1", requiredAntiAffinity), wantAffinity([]string{"1", "3"}, []string{"1"}),
			addPod("c", "2", requiredAntiAffinity), wantAffinity([]string{"1", "2", "3"}, []string{"1", "2"}),
			addPod("d", "1", requiredAntiAffinity), removePod("b", "1"), wantAffinity([]string{"1", "2", "3"}, []string{"1", "2"}),
			removePod("d", "1"), wantAffinity([]string{"2", "3"}, []string{"2"}),
			removePod("a", "3"), removePod("c", "2"), wantAffinity(nil, nil)}},
		{"affinity by pod updates", []step{
			addNodes("1", "2"), addPod("a", "2"), wantAffinity(nil, nil),
			updatePod("a", "2", preferredAffinity), wantAffinity([]string{"2"}, nil),
			updatePod("a", "2", requiredAntiAffinity), wantAffinity([]string{"2"}, []string{"2"}),
			updatePod("a", "2"), wantAffinity(nil, nil)}},
		{"affinity while nodes come and go", []step{
			addNodes("1", "2", "3"), addPod("a", "3", requiredAntiAffinity), wantAffinity([]string{"3"}, []string{"3"}),
			removeNodes("1"), addPod("b", "2", preferredAffinity), wantAffinity([]string{"2", "3"}, []string{"3"}),
			removeNodes("3"), wantAffinity([]string{"2"}, nil),
			addNodes("3"), wantAffinity([]string{"2", "3"}, []string{"3"})}},
		{"claims", []step{
			addNodes("1", "2"), addPod("a", "1", claim("one")), wantClaims("default/one"),
			addPod("b", "2", claim("one"), claim("two")), wantClaims("default/one", "default/two"),
			removePod("a", "1"), wantClaims("default/one", "default/two"), removePod("b", "2"), wantClaims()}},
		{"one pod names a claim twice", []step{
			addNodes("1"), addPod("a", "1", claim("one"), claim("one")), wantClaims("default/one"),
			addPod("b", "1", claim("one")), removePod("a", "1"), wantClaims("default/one"), removePod("b", "1"), wantClaims()}},
		{"a pod is replaced by one with another claim", []step{
			addNodes("1"), addPod("a", "1", claim("one")), wantClaims("default/one"),
			updatePod("a", "1", claim("two")), wantClaims("default/two"), updatePod("a", "1"), wantClaims()}},
		{"node removed, snapshot, pods removed, claim still used elsewhere", []step{
			addNodes("1", "2"), addPod("a", "1", claim("one")), addPod("b", "2", claim("one")), wantClaims("default/one"),
			removeNodes("1"), wantClaims("default/one"), removePod("a", "1"), wantClaims("default/one"),
			addPod("c", "2"), wantClaims("default/one"), removePod("b", "2"), wantClaims()}},
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
