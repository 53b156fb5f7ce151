// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package verdicts

import "iter"

// GroupTotals knows the highest totals of each group of nodes: a [WinnerTree] for each.
type GroupTotals struct {
	groups   *Groups
	revision int
	trees    []WinnerTree // by group, over the places of nodes
	counts   []int        // how many nodes of a group have a total
}

// Covers reports whether the totals were built for groups as they are.
func (t *GroupTotals) Covers(groups *Groups) bool {
	return t.groups == groups && t.revision == groups.revision
}

// Build starts again with the totals of all nodes, by node index.
func (t *GroupTotals) Build(groups *Groups, totals []int64) {
	t.groups, t.revision = groups, groups.revision
	t.trees = Extend(t.trees[:min(len(t.trees), groups.Len())], groups.Len(), WinnerTree{})
	t.counts = Extend(t.counts[:0], groups.Len(), 0)
	var list []int64
	for group, members := range groups.members {
		list = list[:0]
		for _, nodeIndex := range members {
			total := totals[nodeIndex]
			list = append(list, total)
			if total != NoTotal {
				t.counts[group]++
			}
		}
		t.trees[group].Build(list)
	}
}

// Set changes the total of a node.
func (t *GroupTotals) Set(nodeIndex int, total int64) {
	node := &t.groups.nodes[nodeIndex]
	if node.object == nil {
		return
	}
	tree := &t.trees[node.group]
	switch before := tree.totals[node.place]; {
	case before == NoTotal && total != NoTotal:
		t.counts[node.group]++
	case before != NoTotal && total == NoTotal:
		t.counts[node.group]--
	}
	tree.Set(int(node.place), total)
}

// Total returns the group and the total of a node, NoTotal for one that is not there.
func (t *GroupTotals) Total(nodeIndex int) (group int, total int64) {
	node := &t.groups.nodes[nodeIndex]
	if node.object == nil {
		return 0, NoTotal
	}
	return int(node.group), t.trees[node.group].totals[node.place]
}

// Count is how many nodes of a group have a total.
func (t *GroupTotals) Count(group int) int { return t.counts[group] }

// Best is the highest total of a group, NoTotal if it has none.
func (t *GroupTotals) Best(group int) int64 { return t.trees[group].best[1] }

// Winners is how many nodes of a group have its highest total.
func (t *GroupTotals) Winners(group int) int { return t.trees[group].Winners() }

// Winner returns one of these nodes, by a number from zero on.
func (t *GroupTotals) Winner(group, index int) int {
	return int(t.groups.members[group][t.trees[group].Winner(index)])
}

// AllWinners yields all of these nodes.
func (t *GroupTotals) AllWinners(group int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for place := range t.trees[group].AllWinners() {
			if !yield(int(t.groups.members[group][place])) {
				return
			}
		}
	}
}

// Bytes is the size of what is kept.
func (t *GroupTotals) Bytes() int {
	bytes := 8 * cap(t.counts)
	for i := range t.trees {
		bytes += 80 + t.trees[i].Bytes()
	}
	return bytes
}
