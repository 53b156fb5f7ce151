// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package topology

import v1 "k8s.io/api/core/v1"

// nodeObjects has the object of every node, and a log of those that became others. A node on which only pods come and go
// keeps its object.
type nodeObjects struct {
	byIndex []*v1.Node
	changed log[int32]
}

// set records the object of the node at an index, nil if there is no node.
func (o *nodeObjects) set(index int, node *v1.Node) {
	for len(o.byIndex) <= index {
		o.byIndex = append(o.byIndex, nil)
	}
	if o.byIndex[index] == node {
		return
	}
	o.byIndex[index] = node
	o.changed.add(int32(index), max(1024, len(o.byIndex)))
}

// eachSince calls do for the nodes whose objects changed from a position on, perhaps more than once, and returns the
// position to go on from. If that is too long ago, it calls do for all.
func (o *nodeObjects) eachSince(position int, do func(index int, node *v1.Node)) int {
	changed, ok := o.changed.since(position)
	if !ok || len(changed) > len(o.byIndex) {
		for index, node := range o.byIndex {
			do(index, node)
		}
		return o.changed.end()
	}
	for _, index := range changed {
		do(int(index), o.byIndex[index])
	}
	return o.changed.end()
}
