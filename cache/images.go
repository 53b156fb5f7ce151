// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
)

// imageStates knows, for every name of every image in the cluster, how large the image is and which nodes have it. A
// tag and a digest of one image are two names.
type imageStates map[string]*fwk.ImageStateSummary

// attach enters the images of a node and returns them by name. The size of an image is the one seen first. The
// summaries are shared with the other nodes that have the image and change with them.
func (s imageStates) attach(node *v1.Node) map[string]*fwk.ImageStateSummary {
	onNode := make(map[string]*fwk.ImageStateSummary)
	for _, image := range node.Status.Images {
		for _, name := range image.Names {
			state, ok := s[name]
			if !ok {
				state = &fwk.ImageStateSummary{Size: image.SizeBytes, Nodes: sets.New[string]()}
				s[name] = state
			}
			state.Nodes.Insert(node.Name)
			onNode[name] = state
		}
	}
	return onNode
}

// detach takes out the images of a node, which may be nil, and forgets those that no node has any more.
func (s imageStates) detach(node *v1.Node) {
	if node == nil {
		return
	}
	for _, image := range node.Status.Images {
		for _, name := range image.Names {
			state, ok := s[name]
			if !ok {
				continue
			}
			state.Nodes.Delete(node.Name)
			if state.Nodes.Len() == 0 {
				delete(s, name)
			}
		}
	}
}
