// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"slices"

	fwk "k8s.io/kube-scheduler/framework"
)

// sublist is the part of a node list that has some property, in the order of that list. The zero value is empty.
type sublist struct {
	// positions are the places in the node list, ascending; infos are the node infos there.
	positions []int
	infos     []fwk.NodeInfo
}

// set says which node info is at a place of the node list, and whether it has the property.
func (l *sublist) set(position int, info fwk.NodeInfo, has bool) {
	at, found := slices.BinarySearch(l.positions, position)
	switch {
	case found && has:
		l.infos[at] = info
	case found:
		l.positions = slices.Delete(l.positions, at, at+1)
		l.infos = slices.Delete(l.infos, at, at+1)
	case has:
		l.positions = slices.Insert(l.positions, at, position)
		l.infos = slices.Insert(l.infos, at, info)
	}
}
