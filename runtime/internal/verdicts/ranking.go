// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package verdicts

import "math/bits"

// Ranking lists the nodes of a tree from the highest total down, at a cost that depends on how many are asked for and hardly on
// how many there are. It is good until the tree changes.
type Ranking struct {
	tree *WinnerTree
	from int
	heap []int32 // subtrees none of whose nodes were listed yet; the first has the highest total
}

// Ranking begins a list. Of equal nodes roughly those from the given node index on come first.
func (t *WinnerTree) Ranking(from int) *Ranking {
	r := &Ranking{tree: t, from: from}
	if t.leaves > 0 {
		r.heap = append(r.heap, 1)
	}
	return r
}

// Next returns the next node; ok is false if there are no more with a total.
func (r *Ranking) Next() (nodeIndex int, ok bool) {
	for len(r.heap) > 0 {
		top := r.heap[0]
		if r.tree.best[top] == NoTotal {
			return 0, false
		}
		if int(top) >= r.tree.leaves {
			r.removeFirst()
			return int(top) - r.tree.leaves, true
		}
		r.heap[0] = 2 * top
		r.down(0)
		r.heap = append(r.heap, 2*top+1)
		r.up(len(r.heap) - 1)
	}
	return 0, false
}

func (r *Ranking) removeFirst() {
	last := len(r.heap) - 1
	r.heap[0] = r.heap[last]
	r.heap = r.heap[:last]
	r.down(0)
}

// before reports whether a subtree comes before another.
func (r *Ranking) before(a, b int32) bool {
	if r.tree.best[a] != r.tree.best[b] {
		return r.tree.best[a] > r.tree.best[b]
	}
	return r.distance(a) < r.distance(b)
}

// distance is how far the first node of a subtree is from the beginning.
func (r *Ranking) distance(i int32) int {
	level := bits.Len32(uint32(i)) // 1 for the root
	first := int(i)<<(bits.Len32(uint32(r.tree.leaves))-level) - r.tree.leaves
	return (first - r.from) & (r.tree.leaves - 1)
}

func (r *Ranking) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !r.before(r.heap[i], r.heap[parent]) {
			return
		}
		r.heap[i], r.heap[parent] = r.heap[parent], r.heap[i]
		i = parent
	}
}

func (r *Ranking) down(i int) {
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
