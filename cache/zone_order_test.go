// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func TestZoneOrder(t *testing.T) {
	tests := []struct {
		name string
		do   func(*zoneOrder)
		want []int
	}{
		{name: "empty", do: func(*zoneOrder) {}, want: []int{}},
		{
			name: "one zone",
			do:   func(o *zoneOrder) { o.add("a", 3); o.add("a", 1); o.add("a", 2) },
			want: []int{3, 1, 2},
		},
		{
			name: "zones alternate and the longer goes on alone",
			do: func(o *zoneOrder) {
				o.add("a", 10)
				o.add("a", 11)
				o.add("a", 12)
				o.add("a", 13)
				o.add("b", 20)
				o.add("c", 30)
				o.add("c", 31)
			},
			want: []int{10, 20, 30, 11, 31, 12, 13},
		},
		{
			name: "removal keeps the order of the others",
			do: func(o *zoneOrder) {
				o.add("a", 10)
				o.add("b", 20)
				o.add("a", 11)
				o.remove("a", 10)
				o.add("a", 12)
			},
			want: []int{11, 20, 12},
		},
		{
			name: "a zone that was empty comes last when it comes back",
			do: func(o *zoneOrder) {
				o.add("a", 10)
				o.add("b", 20)
				o.remove("a", 10)
				o.add("a", 10)
			},
			want: []int{20, 10},
		},
		{
			name: "all removed",
			do: func(o *zoneOrder) {
				o.add("a", 10)
				o.add("b", 20)
				o.remove("b", 20)
				o.remove("a", 10)
			},
			want: []int{},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var o zoneOrder
			test.do(&o)
			for range 2 { // Listing changes nothing.
				if diff := cmp.Diff(test.want, o.list()); diff != "" {
					t.Errorf("list (-want +got):\n%s", diff)
				}
			}
			if o.size != len(test.want) {
				t.Errorf("size %d, want %d", o.size, len(test.want))
			}
		})
	}
}

func TestZoneOrderRemovalOfUnknown(t *testing.T) {
	var o zoneOrder
	o.add("a", 1)
	if o.remove("b", 1) || o.remove("a", 2) {
		t.Error("removing what is not there: want false")
	}
	if o.size != 1 || !o.remove("a", 1) || o.size != 0 {
		t.Errorf("size %d after the removal of what is there", o.size)
	}
}

// TestListOrderByLabels adds nodes 1 to 4, of which 2 has the labels of the test, 1 and 3 are in zone x and 4 in no
// zone. If 2 is in zone x too, all of x comes in turn.
func TestListOrderByLabels(t *testing.T) {
	const (
		sameZone  = "1 4 2 3"
		noZone    = "1 2 3 4"
		otherZone = "1 2 4 3"
	)
	tests := []struct {
		name   string
		labels map[string]string
		want   string
	}{
		{"no labels", nil, noZone},
		{"the same zone", map[string]string{v1.LabelTopologyZone: "x"}, sameZone},
		{"deprecated label", map[string]string{v1.LabelFailureDomainBetaZone: "x"}, sameZone},
		{"deprecated label wins", map[string]string{v1.LabelFailureDomainBetaZone: "x", v1.LabelTopologyZone: "y"}, sameZone},
		{"deprecated label wins, other zone", map[string]string{v1.LabelFailureDomainBetaZone: "y", v1.LabelTopologyZone: "x"}, otherZone},
		{"another zone", map[string]string{v1.LabelTopologyZone: "y"}, otherZone},
		{"the same zone of another region", map[string]string{v1.LabelTopologyZone: "x", v1.LabelTopologyRegion: "r"}, otherZone},
		{"region only", map[string]string{v1.LabelTopologyRegion: "x"}, otherZone},
		{"deprecated region only", map[string]string{v1.LabelFailureDomainBetaRegion: "x"}, otherZone},
		{"empty labels", map[string]string{v1.LabelTopologyZone: "", v1.LabelTopologyRegion: ""}, noZone},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			second := objects.Node("2").Build()
			second.Labels = test.labels
			c := New(Options{})
			for _, node := range []*v1.Node{objects.Node("1").Label(v1.LabelTopologyZone, "x").Build(), second, objects.Node("3").Label(v1.LabelTopologyZone, "x").Build(), objects.Node("4").Build()} {
				must(t, c.AddNode(node))
			}
			var s Snapshot
			update(t, c, &s)
			got := ""
			for i, name := range listedNames(t, &s) {
				if i > 0 {
					got += " "
				}
				got += name
			}
			if got != test.want {
				t.Errorf("list order %q, want %q", got, test.want)
			}
		})
	}
}

func TestListOrderAfterAddingTwice(t *testing.T) {
	c := New(Options{})
	for _, node := range []*v1.Node{objects.Node("1").Label(v1.LabelTopologyZone, "x").Build(), objects.Node("2").Label(v1.LabelTopologyZone, "x").Build(), objects.Node("1").Label(v1.LabelTopologyZone, "x").Build()} {
		must(t, c.AddNode(node))
	}
	var s Snapshot
	update(t, c, &s)
	if diff := cmp.Diff([]string{"1", "2"}, listedNames(t, &s)); diff != "" {
		t.Errorf("list order (-want +got):\n%s", diff)
	}
	must(t, c.AddNode(objects.Node("1").Label(v1.LabelTopologyZone, "y").Build()))
	must(t, c.RemoveNode(objects.Node("1").Label(v1.LabelTopologyZone, "x").Build()))
	update(t, c, &s)
	if diff := cmp.Diff([]string{"2"}, listedNames(t, &s)); diff != "" {
		t.Errorf("list order after a removal that names an old zone (-want +got):\n%s", diff)
	}
}

func TestListOrderKeepsUntilNodesComeOrGo(t *testing.T) {
	c := New(Options{})
	for _, node := range []*v1.Node{objects.Node("1").Label(v1.LabelTopologyZone, "x").Build(), objects.Node("2").Label(v1.LabelTopologyZone, "y").Build(), objects.Node("3").Label(v1.LabelTopologyZone, "x").Build()} {
		must(t, c.AddNode(node))
	}
	var s Snapshot
	steps := []struct {
		name string
		do   func() error
		want []string
	}{
		{"start", func() error { return nil }, []string{"1", "2", "3"}},
		{"a node changes zone", func() error { return c.UpdateNode(objects.Node("1").Label(v1.LabelTopologyZone, "y").Build()) }, []string{"1", "2", "3"}},
		{"another node comes", func() error { return c.AddNode(objects.Node("4").Label(v1.LabelTopologyZone, "x").Build()) }, []string{"3", "2", "4", "1"}},
		{"a node leaves", func() error { return c.RemoveNode(objects.Node("2").Build()) }, []string{"3", "1", "4"}},
	}
	for _, step := range steps {
		t.Run(step.name, func(t *testing.T) {
			must(t, step.do())
			update(t, c, &s)
			if diff := cmp.Diff(step.want, listedNames(t, &s)); diff != "" {
				t.Errorf("list order (-want +got):\n%s", diff)
			}
		})
	}
}
