// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package whatif

import (
	"slices"
	"strings"

	"github.com/rouse-scheduler/rouse/framework"
)

// nodeOrder has the nodes of a snapshot in the order of their names. Of equally good nodes the first is chosen.
type nodeOrder struct {
	sorted []namedNode
	// places has the place in sorted of each node index.
	places  []int
	changed bool
	// latest are the names that were returned last, of the nodes of latestIndexes.
	latest        []string
	latestIndexes []int
}

type namedNode struct {
	name  string
	index int // -1 until the snapshot has it
}

func (n *nodeOrder) find(name string) (int, bool) {
	return slices.BinarySearchFunc(n.sorted, name, func(node namedNode, name string) int { return strings.Compare(node.name, name) })
}

func (n *nodeOrder) add(name string) {
	if at, found := n.find(name); !found {
		n.sorted = slices.Insert(n.sorted, at, namedNode{name: name, index: -1})
		n.changed = true
	}
}

func (n *nodeOrder) remove(name string) {
	if at, found := n.find(name); found {
		n.sorted = slices.Delete(n.sorted, at, at+1)
		n.changed = true
	}
}

// update takes over the node indexes of a snapshot.
func (n *nodeOrder) update(snapshot framework.IndexedSnapshot) {
	if !n.changed {
		return
	}
	n.changed, n.latestIndexes = false, n.latestIndexes[:0]
	n.places = slices.Grow(n.places[:0], snapshot.IndexCount())[:snapshot.IndexCount()]
	for place := range n.sorted {
		node := &n.sorted[place]
		if node.index < 0 {
			node.index, _ = snapshot.NodeIndex(node.name)
		}
		n.places[node.index] = place
	}
}

// of returns the names of nodes, sorted. The slice must not be changed: as long as the nodes are the same, it is returned again. A
// list of thousands of names for every question would cost more, in garbage, than the rest of the question.
func (n *nodeOrder) of(nodeIndexes []int) []string {
	if len(nodeIndexes) == 0 {
		return nil
	}
	if slices.Equal(nodeIndexes, n.latestIndexes) {
		return n.latest
	}
	places := make([]int, len(nodeIndexes))
	for i, nodeIndex := range nodeIndexes {
		places[i] = n.places[nodeIndex]
	}
	slices.Sort(places)
	names := make([]string, len(places))
	for i, place := range places {
		names[i] = n.sorted[place].name
	}
	n.latest, n.latestIndexes = names, append(n.latestIndexes[:0], nodeIndexes...)
	return names
}
