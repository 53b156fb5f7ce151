// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package verdicts

import (
	v1 "k8s.io/api/core/v1"

	"github.com/rouse-scheduler/rouse/framework"
)

// Groups are the nodes with the same values of some labels; a label that is missing is a value, too.
type Groups struct {
	labels   []string
	position int // in the change log
	nodes    []groupedNode
	// members are the node indexes in each group, whose keys are made of the values. Groups without members are reused.
	members [][]int32
	keys    []string
	byKey   map[string]int32
	free    []int32
	// revision is another one whenever a node has come to a group or left one.
	revision int
	key      []byte
}

// groupedNode is where a node was when it was last looked at.
type groupedNode struct {
	object *v1.Node // nil if there was none
	group  int32
	place  int32 // in the group
}

// NewGroups returns groups by some labels, without nodes yet.
func NewGroups(labels []string) *Groups {
	return &Groups{labels: labels, position: -1, byKey: map[string]int32{}}
}

// Sync brings the groups up to date.
func (g *Groups) Sync(log *ChangeLog) {
	for len(g.nodes) < log.nodes.IndexCount() {
		g.nodes = append(g.nodes, groupedNode{})
	}
	changed, ok := log.Since(g.position)
	g.position = log.End()
	if !ok {
		for nodeIndex := range g.nodes {
			g.set(nodeIndex, objectOf(log.nodes, nodeIndex))
		}
		return
	}
	for _, nodeIndex := range changed {
		g.set(nodeIndex, objectOf(log.nodes, nodeIndex))
	}
}

func objectOf(nodes framework.IndexedSnapshot, nodeIndex int) *v1.Node {
	if info := nodes.NodeAt(nodeIndex); info != nil {
		return info.Node()
	}
	return nil
}

// set puts the node with an index where it belongs.
func (g *Groups) set(nodeIndex int, object *v1.Node) {
	known := &g.nodes[nodeIndex]
	if known.object == object {
		return
	}
	g.key = g.key[:0]
	if object != nil {
		for _, label := range g.labels {
			value, ok := object.Labels[label]
			if !ok {
				g.key = append(g.key, 0)
				continue
			}
			g.key = framework.AppendKeyString(append(g.key, 1), value)
		}
		if known.object != nil && g.keys[known.group] == string(g.key) {
			known.object = object
			return
		}
	}
	g.revision++
	if known.object != nil {
		g.remove(*known)
	}
	known.object = object
	if object != nil {
		known.group = g.groupOfKey()
		known.place = int32(len(g.members[known.group]))
		g.members[known.group] = append(g.members[known.group], int32(nodeIndex))
	}
}

// remove takes a node out of its group; the last one of the group gets its place.
func (g *Groups) remove(node groupedNode) {
	members := g.members[node.group]
	last := members[len(members)-1]
	members[node.place] = last
	g.nodes[last].place = node.place
	g.members[node.group] = members[:len(members)-1]
	if len(members) == 1 {
		delete(g.byKey, g.keys[node.group])
		g.free = append(g.free, node.group)
	}
}

// groupOfKey finds or makes the group of the key.
func (g *Groups) groupOfKey() int32 {
	if group, ok := g.byKey[string(g.key)]; ok {
		return group
	}
	key := string(g.key)
	var group int32
	if last := len(g.free) - 1; last >= 0 {
		group, g.free = g.free[last], g.free[:last]
		g.keys[group] = key
	} else {
		group = int32(len(g.keys))
		g.keys, g.members = append(g.keys, key), append(g.members, nil)
	}
	g.byKey[key] = group
	return group
}

// Labels are what the nodes are grouped by.
func (g *Groups) Labels() []string { return g.labels }

// Len is larger than every number of a group.
func (g *Groups) Len() int { return len(g.members) }

// Bytes is the size of what is kept.
func (g *Groups) Bytes() int {
	const each = 128 // a key, twice, and a list
	return 16*cap(g.nodes) + 4*len(g.nodes) + each*len(g.keys)
}
