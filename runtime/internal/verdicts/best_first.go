// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package verdicts

import (
	"cmp"
	"math/bits"
	"slices"
)

// BestFirst lists the nodes of a tree from the highest total down. Unless the nodes asked for are all winners, it goes through all
// totals twice, whenever the list gets twice as long: it sorts nodes by counting how many have which total, as totals are
// small numbers. It is good until the tree changes. The zero value lists nothing.
type BestFirst struct {
	tree *WinnerTree
	from int
	// list has the first nodes, of which next were given out.
	list []int
	next int
}

// Begin begins a list, in the working space of the last one. Of equal nodes those from the given node index on come first.
func (r *BestFirst) Begin(tree *WinnerTree, from int) {
	*r = BestFirst{tree: tree, from: from, list: r.list[:0]}
}

// Append appends the next nodes, as many as count if there are.
func (r *BestFirst) Append(nodeIndexes []int, count int) []int {
	if r.next+count > len(r.list) {
		r.extend(max(2*len(r.list), r.next+count))
	}
	part := r.list[r.next:min(r.next+count, len(r.list))]
	r.next += len(part)
	return append(nodeIndexes, part...)
}

// extend makes the list so long, if there are as many nodes with a total.
func (r *BestFirst) extend(length int) {
	if r.tree == nil || r.tree.leaves == 0 {
		return
	}
	const share = 16 // to list this share of the nodes costs no more than to go through all totals
	longer := max(length, len(r.tree.totals)/share)
	if winners := r.tree.Winners(); length <= winners {
		r.listWinners(min(longer, winners))
	} else {
		r.sort(longer)
	}
}

// parts are the nodes in the order of the list, but for their totals: they begin within the tree, and go on at its start.
func (r *BestFirst) parts() [2][2]int {
	return [2][2]int{{r.from, len(r.tree.totals)}, {0, r.from}}
}

func (r *BestFirst) listWinners(length int) {
	r.list = r.list[:0]
	best := r.tree.best[1]
	for _, part := range r.parts() {
		for nodeIndex := part[0]; nodeIndex < part[1] && len(r.list) < length; nodeIndex++ {
			if r.tree.totals[nodeIndex] == best {
				r.list = append(r.list, nodeIndex)
			}
		}
	}
}

// steps is how many totals are told apart by counting, from the highest down. The weights of the default plugins add up to 1,200.
const steps = 1 << 12

func (r *BestFirst) sort(length int) {
	best, shift := r.tree.best[1], 0
	if best == NoTotal {
		return
	}
	if lowest := r.lowest(); best-lowest >= steps {
		shift = bits.Len64(uint64(best-lowest)) - bits.Len64(steps-1)
	}
	var places [steps]int // of the next node of each step
	for _, total := range r.tree.totals {
		if total != NoTotal {
			places[(best-total)>>shift]++
		}
	}
	last, sum := 0, 0
	for step, count := range places {
		if sum >= length {
			break
		}
		places[step], last, sum = sum, step, sum+count
	}
	if shift == 0 {
		sum = min(sum, length)
	}
	r.list = slices.Grow(r.list[:0], sum)[:sum]
	for _, part := range r.parts() {
		for nodeIndex := part[0]; nodeIndex < part[1]; nodeIndex++ {
			total := r.tree.totals[nodeIndex]
			if total == NoTotal || (best-total)>>shift > int64(last) {
				continue
			}
			if step := (best - total) >> shift; places[step] < sum {
				r.list[places[step]] = nodeIndex
				places[step]++
			}
		}
	}
	if shift > 0 {
		slices.SortStableFunc(r.list, func(a, b int) int { return cmp.Compare(r.tree.totals[b], r.tree.totals[a]) })
	}
}

// lowest is the lowest total, without those of nodes that have none.
func (r *BestFirst) lowest() int64 {
	lowest := r.tree.best[1]
	for _, total := range r.tree.totals {
		if total != NoTotal {
			lowest = min(lowest, total)
		}
	}
	return lowest
}
