// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// imageStates knows, for every name of every image in the cluster, how large the image is and how many nodes have it. A
// tag and a digest of one image are two names. The zero value knows none.
type imageStates struct {
	byName map[string]*imageState
	// current tells that summaries always have the present number of nodes: they are changed in place.
	current bool
	// version changes with every change of any image.
	version int64
}

// imageState is a name of an image.
type imageState struct {
	name  string
	size  int64
	nodes int
	// summary is what plugins get to see; nil if it was not needed since the number of nodes changed.
	summary *fwk.ImageStateSummary
}

// imagesOfNode is the images of one node, and the summaries of them as they were when they were last asked for.
type imagesOfNode struct {
	states    []*imageState
	summaries map[string]*fwk.ImageStateSummary
	version   int64
}

// replace enters the images of a node, nil for none, in place of those that it had. The size of an image is the one seen
// first; images that no node has any more are forgotten.
func (s *imageStates) replace(images *imagesOfNode, node *v1.Node) {
	if s.unchanged(images, node) {
		return
	}
	s.version++
	for _, state := range images.states {
		s.count(state, -1)
		if state.nodes == 0 {
			delete(s.byName, state.name)
		}
	}
	*images = imagesOfNode{}
	if node == nil {
		return
	}
	seen := map[string]bool{}
	for i := range node.Status.Images {
		image := &node.Status.Images[i]
		for _, name := range image.Names {
			if !seen[name] {
				seen[name] = true
				images.states = append(images.states, s.enter(name, image.SizeBytes))
			}
		}
	}
}

// unchanged reports whether nothing is to be done, because the node has the images that it had, in the same order.
func (s *imageStates) unchanged(images *imagesOfNode, node *v1.Node) bool {
	rest := images.states
	if node != nil {
		for i := range node.Status.Images {
			image := &node.Status.Images[i]
			for _, name := range image.Names {
				// Where no other node has the image its size may become another one.
				if len(rest) == 0 || rest[0].name != name || rest[0].nodes == 1 && rest[0].size != image.SizeBytes {
					return false
				}
				rest = rest[1:]
			}
		}
	}
	return len(rest) == 0
}

// upToDate reports whether neither replace nor summaries would change anything for a version of a node.
func (s *imageStates) upToDate(images *imagesOfNode, node *v1.Node) bool {
	return s.unchanged(images, node) && (images.version == s.version || images.upToDate())
}

// enter counts a node that has an image.
func (s *imageStates) enter(name string, size int64) *imageState {
	state, ok := s.byName[name]
	if !ok {
		if s.byName == nil {
			s.byName = map[string]*imageState{}
		}
		state = &imageState{name: name, size: size}
		s.byName[name] = state
	}
	s.count(state, 1)
	return state
}

// count notes that more nodes have an image, or fewer.
func (s *imageStates) count(state *imageState, change int) {
	state.nodes += change
	if s.current && state.summary != nil {
		state.summary.NumNodes = state.nodes
		return
	}
	state.summary = nil
}

// summaries returns what is known of the images of a node at this moment, nil if it has none, and whether that differs
// from what it returned last. The map must not be changed.
func (s *imageStates) summaries(images *imagesOfNode) (known map[string]*fwk.ImageStateSummary, changed bool) {
	if images.version == s.version || images.upToDate() {
		images.version = s.version
		return images.summaries, false
	}
	images.version = s.version
	images.summaries = make(map[string]*fwk.ImageStateSummary, len(images.states))
	for _, state := range images.states {
		if state.summary == nil {
			state.summary = &fwk.ImageStateSummary{Size: state.size, NumNodes: state.nodes}
		}
		images.summaries[state.name] = state.summary
	}
	return images.summaries, true
}

func (i *imagesOfNode) upToDate() bool {
	return !slices.ContainsFunc(i.states, func(state *imageState) bool {
		known := i.summaries[state.name]
		return known == nil || known != state.summary
	})
}
