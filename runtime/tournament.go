// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import "math"

// noTotal is the total of a slot that is out of the competition.
const noTotal = math.MinInt64

// tournament knows the highest of many totals, and how many have it, when few of them change: a binary tree in which
// every inner node has the better of its two children. Changing one total costs the height of the tree, and so does
// finding any of the winners. The zero value is empty.
type tournament struct {
	leaves int // a power of two, not less than the number of totals
	best   []int64
	ties   []int32 // how many leaves below have the best total
}

// build begins anew with the totals of slots 0 to len(totals)-1.
func (t *tournament) build(totals []int64) {
	leaves := 1
	for leaves < len(totals) {
		leaves *= 2
	}
	if t.leaves != leaves {
		t.leaves, t.best, t.ties = leaves, make([]int64, 2*leaves), make([]int32, 2*leaves)
	}
	copy(t.best[leaves:], totals)
	fill(t.best[leaves+len(totals):], noTotal)
	fill(t.ties[leaves:], 1)
	for i := leaves - 1; i > 0; i-- {
		t.play(i)
	}
}

// set changes one total.
func (t *tournament) set(slot int, total int64) {
	i := t.leaves + slot
	if t.best[i] == total {
		return
	}
	t.best[i] = total
	for i /= 2; i > 0; i /= 2 {
		t.play(i)
	}
}

// play decides between the children of an inner node.
func (t *tournament) play(i int) {
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

// winners is how many slots have the highest total.
func (t *tournament) winners() int { return int(t.ties[1]) }

// winner returns the winner with the given index, in the order of slots.
func (t *tournament) winner(index int) int {
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
	return i - t.leaves
}

func (t *tournament) bytes() int { return 12 * len(t.best) }

// winnersOf finds the highest total by looking at all of them: what it is and how many have it.
func winnersOf(totals []int64) (best int64, ties int) {
	best = noTotal
	for _, total := range totals {
		if total > best {
			best, ties = total, 1
		} else if total == best {
			ties++
		}
	}
	return best, ties
}

// winnerOf returns the index of one of those with the highest total.
func winnerOf(totals []int64, best int64, index int) int {
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
