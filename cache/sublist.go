// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"slices"

	fwk "k8s.io/kube-scheduler/framework"
)

// sublist is the part of a node list that has some property, in the order of that list. The zero value is empty.
type sublist struct {
	// positions are the places in the node list, ascending; nodes are the nodes there.
	positions []int
	nodes     nodeList
}

// set says which node is at a place of the node list, and whether it has the property.
func (l *sublist) set(position int, node fwk.NodeInfo, has bool) {
	at, found := slices.BinarySearch(l.positions, position)
	switch {
	case found && has:
		l.nodes.replace(at, node)
	case found:
		l.positions = slices.Delete(l.positions, at, at+1)
		l.nodes.remove(at)
	case has:
		l.positions = slices.Insert(l.positions, at, position)
		l.nodes.insert(at, node)
	}
}
