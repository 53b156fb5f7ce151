// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package verdicts

import "math/bits"

// BestFirst lists the nodes of a tree from the highest total down, at a cost that depends on how many are asked for and hardly on
// how many there are. It is good until the tree changes.
type BestFirst struct {
	tree *WinnerTree
	from int
	// heap has subtrees none of whose nodes were listed yet, by their place in the tree, and nodes, by their index after
	// all places; the first has the highest total.
	heap []int32
	// next are nodes that come before all in the heap.
	next   []int
	buffer [blockSize]int
}

// BestFirst begins a list. Of equal nodes those from the given node index on come first.
func (t *WinnerTree) BestFirst(from int) *BestFirst {
	r := &BestFirst{tree: t, from: from}
	if t.leaves > 0 {
		r.heap = append(r.heap, 1)
	}
	return r
}

// Next returns the next node; ok is false if there are no more with a total.
func (r *BestFirst) Next() (nodeIndex int, ok bool) {
	leaves := r.tree.leaves
	for len(r.next) == 0 && len(r.heap) > 0 && r.total(r.heap[0]) != NoTotal {
		top := int(r.heap[0])
		switch {
		case top >= 2*leaves:
			r.removeFirst()
			return top - 2*leaves, true
		case top >= leaves:
			r.removeFirst()
			r.open(top)
		default:
			r.heap[0] = int32(2 * top)
			r.down(0)
			r.add(2*top + 1)
		}
	}
	if len(r.next) == 0 {
		return 0, false
	}
	nodeIndex, r.next = r.next[0], r.next[1:]
	return nodeIndex, true
}

// open lists the nodes of a block, which came first. Its best nodes are next, unless only some of them are, since the order begins
// within the block.
func (r *BestFirst) open(place int) {
	totals, first := r.tree.block(place - r.tree.leaves)
	within := first < r.from && r.from < first+len(totals)
	r.next = r.buffer[:0]
	for i, total := range totals {
		switch {
		case total == NoTotal:
		case total == r.tree.best[place] && !within:
			r.next = append(r.next, first+i)
		default:
			r.add(2*r.tree.leaves + first + i)
		}
	}
}

func (r *BestFirst) add(place int) {
	r.heap = append(r.heap, int32(place))
	r.up(len(r.heap) - 1)
}

func (r *BestFirst) removeFirst() {
	last := len(r.heap) - 1
	r.heap[0] = r.heap[last]
	r.heap = r.heap[:last]
	r.down(0)
}

// total is that of a node, or the highest of a subtree.
func (r *BestFirst) total(place int32) int64 {
	if nodeIndex := int(place) - 2*r.tree.leaves; nodeIndex >= 0 {
		return r.tree.totals[nodeIndex]
	}
	return r.tree.best[place]
}

// before reports whether a node or subtree comes before another.
func (r *BestFirst) before(a, b int32) bool {
	if totalOfA, totalOfB := r.total(a), r.total(b); totalOfA != totalOfB {
		return totalOfA > totalOfB
	}
	return r.distance(a) < r.distance(b)
}

// distance is how far a node, or the nearest one of a subtree, comes after the beginning.
func (r *BestFirst) distance(place int32) int {
	all := r.tree.leaves * blockSize // a power of two
	first, count := int(place)-2*r.tree.leaves, 1
	if first < 0 {
		depth := bits.Len32(uint32(place)) - 1
		count = all >> depth
		first = (int(place) - 1<<depth) * count
	}
	if first <= r.from && r.from < first+count {
		return 0
	}
	return (first - r.from) & (all - 1)
}

func (r *BestFirst) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !r.before(r.heap[i], r.heap[parent]) {
			return
		}
		r.heap[i], r.heap[parent] = r.heap[parent], r.heap[i]
		i = parent
	}
}

func (r *BestFirst) down(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(r.heap); child++ {
			if r.before(r.heap[child], r.heap[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		r.heap[i], r.heap[least] = r.heap[least], r.heap[i]
		i = least
	}
}
