// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package verdicts

import (
	"iter"
	"math"
)

// NoTotal is the total of a node that cannot win.
const NoTotal = math.MinInt64

// blockSize is how many nodes a leaf of a WinnerTree has. Looking through so many totals, which lie side by side, takes as
// long as going up a level or two, and the tree takes a third of the memory that it would with a leaf for every node.
const blockSize = 16

// WinnerTree knows the highest of many totals, and how many have it, when few of them change: a binary tree over blocks of
// nodes, in which every inner node has the better of its two children. Changing one total costs the height of the tree, and
// so does finding any of the winners. The zero value is empty.
type WinnerTree struct {
	totals []int64 // by node index
	leaves int     // a power of two, not less than the number of blocks
	best   []int64
	ties   []int32 // how many nodes below have the best total
}

// Build starts again with the totals of the nodes 0 to len(totals)-1.
func (t *WinnerTree) Build(totals []int64) {
	leaves := 1
	for leaves*blockSize < len(totals) {
		leaves *= 2
	}
	if t.leaves != leaves {
		t.leaves, t.best, t.ties = leaves, make([]int64, 2*leaves), make([]int32, 2*leaves)
	}
	t.totals = append(t.totals[:0], totals...)
	for block := range leaves {
		t.best[leaves+block], t.ties[leaves+block] = t.bestOf(block)
	}
	for i := leaves - 1; i > 0; i-- {
		t.update(i)
	}
}

// block returns the totals of a block, and the index of its first node.
func (t *WinnerTree) block(block int) (totals []int64, first int) {
	first = min(block*blockSize, len(t.totals))
	return t.totals[first:min(first+blockSize, len(t.totals))], first
}

func (t *WinnerTree) bestOf(block int) (best int64, ties int32) {
	totals, _ := t.block(block)
	best, count := Highest(totals)
	return best, int32(count)
}

// Set changes one total.
func (t *WinnerTree) Set(nodeIndex int, total int64) {
	if t.totals[nodeIndex] == total {
		return
	}
	t.totals[nodeIndex] = total
	i := t.leaves + nodeIndex/blockSize
	best, ties := t.bestOf(nodeIndex / blockSize)
	if t.best[i] == best && t.ties[i] == ties {
		return
	}
	t.best[i], t.ties[i] = best, ties
	for i /= 2; i > 0; i /= 2 {
		t.update(i)
	}
}

// update recomputes an inner node of the tree from its children.
func (t *WinnerTree) update(i int) {
	left, right := 2*i, 2*i+1
	switch {
	case t.best[left] > t.best[right]:
		t.best[i], t.ties[i] = t.best[left], t.ties[left]
	case t.best[left] < t.best[right]:
		t.best[i], t.ties[i] = t.best[right], t.ties[right]
	default:
		t.best[i], t.ties[i] = t.best[left], t.ties[left]+t.ties[right]
	}
}

// Total returns the total of a node.
func (t *WinnerTree) Total(nodeIndex int) int64 { return t.totals[nodeIndex] }

// Covers reports whether the tree was built for so many nodes.
func (t *WinnerTree) Covers(count int) bool { return len(t.totals) == count }

// Winners is how many nodes have the highest total.
func (t *WinnerTree) Winners() int { return int(t.ties[1]) }

// Winner returns the winner with the given index, in the order of node indexes.
func (t *WinnerTree) Winner(index int) int {
	i := 1
	for i < t.leaves {
		left := 2 * i
		switch {
		case t.best[left] < t.best[i]:
			i = left + 1
		case index < int(t.ties[left]):
			i = left
		default: // both have it
			index -= int(t.ties[left])
			i = left + 1
		}
	}
	totals, first := t.block(i - t.leaves)
	return first + Nth(totals, t.best[i], index)
}

// AllWinners yields the node indexes of the nodes with the highest total, in their order.
func (t *WinnerTree) AllWinners() iter.Seq[int] {
	return func(yield func(int) bool) { t.eachWinner(1, yield) }
}

func (t *WinnerTree) eachWinner(i int, yield func(int) bool) bool {
	if i >= 2*t.leaves || t.best[i] != t.best[1] {
		return true
	}
	if i < t.leaves {
		return t.eachWinner(2*i, yield) && t.eachWinner(2*i+1, yield)
	}
	totals, first := t.block(i - t.leaves)
	for j, total := range totals {
		if total == t.best[1] && !yield(first+j) {
			return false
		}
	}
	return true
}

// Bytes is the size of the tree.
func (t *WinnerTree) Bytes() int { return 12*len(t.best) + 8*cap(t.totals) }

// Highest finds the highest total by looking at all of them: what it is and how many have it.
func Highest(totals []int64) (best int64, ties int) {
	best = NoTotal
	for _, total := range totals {
		if total > best {
			best, ties = total, 1
		} else if total == best {
			ties++
		}
	}
	return best, ties
}

// Nth returns the index of one of those with the highest total.
func Nth(totals []int64, best int64, index int) int {
	for i, total := range totals {
		if total == best {
			if index == 0 {
				return i
			}
			index--
		}
	}
	return -1
}
