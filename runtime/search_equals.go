// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import "github.com/rouse-scheduler/rouse/runtime/internal/verdicts"

// chooser decides between equally good nodes.
type chooser struct {
	pick  func(count int) int
	order []int // by node index; nil: pick decides
}

func (o *SearchOptions) chooser() chooser { return chooser{pick: o.Pick, order: o.Order} }

// index returns which of count nodes to take.
func (c chooser) index(count int) int {
	if count == 1 {
		return 0
	}
	return c.pick(count)
}

// ofTotals returns the node index of the node to take of those with the highest total. The totals are those of the given nodes, or
// of all node indexes if nodeIndexes is nil.
func (c chooser) ofTotals(totals []int64, nodeIndexes []int) int {
	best, ties := verdicts.Highest(totals)
	indexAt := func(i int) int {
		if nodeIndexes == nil {
			return i
		}
		return nodeIndexes[i]
	}
	if c.order == nil {
		return indexAt(verdicts.Nth(totals, best, c.index(ties)))
	}
	first := -1
	for i, total := range totals {
		if nodeIndex := indexAt(i); total == best && (first < 0 || c.order[nodeIndex] < c.order[first]) {
			first = nodeIndex
		}
	}
	return first
}

// ofTree returns the node index of the winner to take.
func (c chooser) ofTree(tree *verdicts.WinnerTree) int {
	if c.order == nil {
		return tree.Winner(c.index(tree.Winners()))
	}
	first := -1
	for nodeIndex := range tree.AllWinners() {
		if first < 0 || c.order[nodeIndex] < c.order[first] {
			first = nodeIndex
		}
	}
	return first
}

// ofList returns the node index to take of several.
func (c chooser) ofList(nodeIndexes []int) int {
	if c.order == nil {
		return nodeIndexes[c.index(len(nodeIndexes))]
	}
	first := nodeIndexes[0]
	for _, nodeIndex := range nodeIndexes {
		if c.order[nodeIndex] < c.order[first] {
			first = nodeIndex
		}
	}
	return first
}
