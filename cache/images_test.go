// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func (s *imageStates) nodesByName() map[string]int {
	result := map[string]int{}
	for name, state := range s.byName {
		result[name] = state.nodes
	}
	return result
}

func TestImageExistence(t *testing.T) {
	c := New(Options{})
	steps := []struct {
		name string
		do   func() error
		want map[string]int
	}{
		{
			name: "tags and digests are names of their own",
			do: func() error {
				return c.AddNode(objects.Node("a").Image(10, "app:v1", "app@sha256:1").Image(5, "tool:v1").Build())
			},
			want: map[string]int{"app:v1": 1, "app@sha256:1": 1, "tool:v1": 1},
		},
		{
			name: "a second node has some of them",
			do:   func() error { return c.AddNode(objects.Node("b").Image(11, "app:v1").Image(5, "other:v1").Build()) },
			want: map[string]int{"app:v1": 2, "app@sha256:1": 1, "tool:v1": 1, "other:v1": 1},
		},
		{
			name: "an update takes the place of what the node had",
			do:   func() error { return c.UpdateNode(objects.Node("a").Image(5, "tool:v2").Build()) },
			want: map[string]int{"app:v1": 1, "tool:v2": 1, "other:v1": 1},
		},
		{
			name: "a removed node has no images, even if its pods stay",
			do: func() error {
				must(t, c.AddPod(objects.Pod("pod").Node("b").Build()))
				return c.RemoveNode(objects.Node("b").Build())
			},
			want: map[string]int{"tool:v2": 1},
		},
		{
			name: "a node that comes back has what it brings",
			do:   func() error { return c.AddNode(objects.Node("b").Image(5, "tool:v2").Build()) },
			want: map[string]int{"tool:v2": 2},
		},
		{
			name: "nothing is left of nodes that are gone",
			do: func() error {
				must(t, c.RemoveNode(objects.Node("a").Build()))
				return c.RemoveNode(objects.Node("b").Build())
			},
			want: map[string]int{},
		},
	}
	for _, step := range steps {
		t.Run(step.name, func(t *testing.T) {
			must(t, step.do())
			if diff := cmp.Diff(step.want, c.images.nodesByName()); diff != "" {
				t.Errorf("nodes of each image (-want +got):\n%s", diff)
			}
		})
	}
}

func TestImageStatesOfNodes(t *testing.T) {
	c := New(Options{})
	var s Snapshot
	check := func(step, node string, want map[string]imageView) {
		t.Helper()
		update(t, c, &s)
		info, err := s.Get(node)
		must(t, err)
		if diff := cmp.Diff(want, viewOf(info).Images); diff != "" {
			t.Errorf("%s: images of node %s (-want +got):\n%s", step, node, diff)
		}
	}
	must(t, c.AddNode(objects.Node("a").Image(10, "app:v1").Image(5, "tool:v1").Build()))
	check("one node", "a", map[string]imageView{"app:v1": {10, 1}, "tool:v1": {5, 1}})

	must(t, c.AddNode(objects.Node("b").Image(99, "app:v1").Build()))
	check("the size seen first counts", "b", map[string]imageView{"app:v1": {10, 2}})
	check("the number of nodes is as of the last change of the node", "a", map[string]imageView{"app:v1": {10, 1}, "tool:v1": {5, 1}})

	must(t, c.AddPod(objects.Pod("pod").Node("a").Build()))
	check("any change will do", "a", map[string]imageView{"app:v1": {10, 2}, "tool:v1": {5, 1}})

	must(t, c.UpdateNode(objects.Node("a").Build()))
	check("the node has lost its images", "a", map[string]imageView{})
	must(t, c.UpdateNode(objects.Node("b").Image(99, "app:v1").Build()))
	check("the last node that has an image brings its own size", "b", map[string]imageView{"app:v1": {99, 1}})
}

// How many nodes have an image is known as it was when the node last changed. To count as changed because of something else
// that belongs to the node is no change of it.
func TestTouchedNodeKeepsItsImages(t *testing.T) {
	c, snapshot := New(Options{}), &Snapshot{}
	check := func(when string, want int) {
		t.Helper()
		must(t, c.UpdateSnapshot(snapshot))
		node, err := snapshot.Get("a")
		must(t, err)
		if got := node.GetImageStates()["app:v1"].NumNodes; got != want {
			t.Errorf("%s: the image is on %d nodes, want %d", when, got, want)
		}
	}
	must(t, c.AddNode(objects.Node("a").Image(10, "app:v1").Build()))
	check("at first", 1)
	must(t, c.AddNode(objects.Node("b").Image(10, "app:v1").Build()))
	c.TouchNode("a")
	c.TouchNode("a")
	check("touched", 1)
	c.TouchNode("a")
	must(t, c.AddPod(objects.Pod("pod").Node("a").Build()))
	c.TouchNode("a")
	check("touched and changed", 2)
}

// With the option, node infos show how many nodes have an image now, without counting as changed.
func TestCurrentImages(t *testing.T) {
	c := New(Options{CurrentImages: true})
	for _, name := range []string{"1", "2"} {
		must(t, c.AddNode(objects.Node(name).Image(7, "app").Build()))
	}
	var s Snapshot
	update(t, c, &s)
	generation := s.Generation()
	must(t, c.AddNode(objects.Node("3").Image(7, "app").Build()))
	must(t, c.RemoveNode(objects.Node("2").Build()))
	must(t, c.AddNode(objects.Node("4").Image(7, "app").Build()))
	update(t, c, &s)
	kept, err := s.Get("1")
	must(t, err)
	if got := framework.View(kept).ImageStates()["app"]; got == nil || got.NumNodes != 3 {
		t.Errorf("node 1 shows %+v, want 3 nodes", got)
	}
	for index := range s.ChangedSince(generation) {
		if node := s.NodeAt(index); node != nil && node.Node().Name == "1" {
			t.Error("node 1 counts as changed")
		}
	}
	if image, current := s.CurrentImage("app"); !current || image.NumNodes != 3 || image.Size != 7 {
		t.Errorf("got %+v, %v", image, current)
	}
	if image, current := s.CurrentImage("none"); !current || image.NumNodes != 0 {
		t.Errorf("got %+v, %v of an image that no node has", image, current)
	}
	if _, current := NewSnapshot(nil, nil).CurrentImage("app"); current {
		t.Error("images are current without the option")
	}
}
