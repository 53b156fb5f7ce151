// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func TestChangeLog(t *testing.T) {
	var log changeLog
	if got := slices.Collect(log.since(0)); len(got) != 0 || log.latest() != 0 {
		t.Errorf("empty log yields %v, latest %d", got, log.latest())
	}
	for i, index := range []int{2, 0, 5, 2, 2, 0} {
		log.record(index, int64(10*(i+1)))
	}
	tests := []struct {
		generation int64
		want       []int
	}{
		{0, []int{0, 2, 5}},
		{29, []int{0, 2, 5}},
		{30, []int{0, 2}},
		{49, []int{0, 2}},
		{50, []int{0}},
		{60, nil},
		{1000, nil},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, slices.Collect(log.since(test.generation))); diff != "" {
			t.Errorf("since %d (-want +got):\n%s", test.generation, diff)
		}
	}
	if log.latest() != 60 || log.changedAt(5) != 30 {
		t.Errorf("latest %d, node index 5 changed at %d; want 60 and 30", log.latest(), log.changedAt(5))
	}
	for index := range log.since(0) {
		if index != 0 {
			t.Errorf("yielded %d after the loop was left", index)
		}
		break
	}
}

func TestSlots(t *testing.T) {
	c := New(Options{})
	var s Snapshot
	index := func(name string) int {
		t.Helper()
		index, ok := s.NodeIndex(name)
		if !ok {
			t.Fatalf("node %s has no node index", name)
		}
		if info := s.NodeAt(index); info == nil || info.Node().Name != name {
			t.Fatalf("node index %d of node %s has %v", index, name, info)
		}
		return index
	}
	for _, name := range []string{"a", "b", "c"} {
		must(t, c.AddNode(objects.Node(name).Build()))
	}
	must(t, c.AddPod(objects.Pod("early").Node("placeholder").Build()))
	update(t, c, &s)
	a, b, last := index("a"), index("b"), index("c")
	if got := []int{a, b, last}; !cmp.Equal(got, []int{0, 1, 2}) || s.IndexCount() != 3 {
		t.Errorf("node indexes %v of %d, want 0, 1, 2 of 3", got, s.IndexCount())
	}
	if _, ok := s.NodeIndex("placeholder"); ok {
		t.Error("a node that has not been seen has a node index")
	}
	for _, free := range []int{-1, 3, 1 << 30} {
		if info := s.NodeAt(free); info != nil {
			t.Errorf("NodeAt(%d) = %v, want nil", free, info)
		}
	}

	t.Run("stable while the node lives", func(t *testing.T) {
		must(t, c.UpdateNode(objects.Node("b").Label(v1.LabelTopologyZone, "z").Build()))
		must(t, c.AddPod(objects.Pod("pod").Node("b").Build()))
		must(t, c.RemoveNode(objects.Node("a").Build()))
		update(t, c, &s)
		if index("b") != b || index("c") != last {
			t.Errorf("node indexes moved to %d and %d", index("b"), index("c"))
		}
		if _, ok := s.NodeIndex("a"); ok || s.NodeAt(a) != nil {
			t.Error("a removed node still has its node index")
		}
	})
	t.Run("freed node indexes are used again", func(t *testing.T) {
		must(t, c.AddNode(objects.Node("d").Build()))
		must(t, c.AddNode(objects.Node("e").Build()))
		update(t, c, &s)
		if index("d") != a || index("e") != 3 || s.IndexCount() != 4 {
			t.Errorf("d has node index %d, e has node index %d of %d; want %d, 3 of 4", index("d"), index("e"), s.IndexCount(), a)
		}
	})
	t.Run("two nodes swap node indexes between two updates", func(t *testing.T) {
		order := listedNames(t, &s)
		b, d := index("b"), index("d")
		must(t, c.RemoveNode(objects.Node("d").Build()))
		must(t, c.RemoveNode(objects.Node("b").Build()))
		must(t, c.AddNode(objects.Node("d").Build()))
		must(t, c.AddNode(objects.Node("b").Label(v1.LabelTopologyZone, "z").Build()))
		update(t, c, &s)
		if index("b") != d || index("d") != b {
			t.Errorf("b has node index %d, d has node index %d; want %d and %d", index("b"), index("d"), d, b)
		}
		if diff := cmp.Diff(order, listedNames(t, &s)); diff != "" {
			t.Errorf("order of the same nodes (-before +after):\n%s", diff)
		}
		infos, _ := s.List()
		for i, index := range s.ListOrder() {
			if s.NodeAt(index) != infos[i] {
				t.Errorf("ListOrder()[%d] = %d, which is not the node index of %s", i, index, infos[i].Node().Name)
			}
		}
	})
}

func TestChangedSince(t *testing.T) {
	c := New(Options{})
	var s Snapshot
	for _, name := range []string{"a", "b", "c"} {
		must(t, c.AddNode(objects.Node(name).Build()))
	}
	update(t, c, &s)
	start := s.Generation()
	check := func(generation int64, want ...int) {
		t.Helper()
		if diff := cmp.Diff(want, slices.Collect(s.ChangedSince(generation))); diff != "" {
			t.Errorf("changed since %d (-want +got):\n%s", generation, diff)
		}
	}
	check(0, 2, 1, 0)
	check(start)

	must(t, c.AssumePod(objects.Pod("1").Node("a").Build()))
	must(t, c.AssumePod(objects.Pod("2").Node("b").Build()))
	must(t, c.AssumePod(objects.Pod("3").Node("a").Build()))
	check(start) // The snapshot shows nothing of it yet.
	update(t, c, &s)
	check(start, 0, 1)
	check(0, 0, 1, 2)

	middle := s.Generation()
	must(t, c.RemoveNode(objects.Node("c").Build()))
	must(t, c.AddPod(objects.Pod("4").Node("unseen").Build()))
	update(t, c, &s)
	check(middle, 2)
	check(start, 2, 0, 1)

	before := s.Generation()
	update(t, c, &s)
	if s.Generation() != before {
		t.Errorf("generation went from %d to %d without a change", before, s.Generation())
	}
}
