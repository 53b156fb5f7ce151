// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"slices"

	fwk "k8s.io/kube-scheduler/framework"
)

// board is what a series of Filter plugins said together about every node: the first rejection, or that all accept. It
// is made of the columns of these plugins, and shared by all pods with the same keys.
type board struct {
	position int // in the change log
	filters  []boardFilter
	verdicts []verdict
	accepted int // how many of the verdicts are
}

type boardFilter struct {
	index int // in Framework.filter
	entry *keptEntry
}

func (f *boardFilter) column() *filterColumn { return f.entry.value.(*filterColumn) }

func (b *board) bytes() int { return 4 * cap(b.verdicts) }

// sync brings a board up to date: plugins are asked about the nodes that changed, and only about those that no earlier
// plugin rejects. After a failure the board must not be used any more.
func (b *board) sync(s *search) *fwk.Status {
	for i := range b.filters {
		b.filters[i].column().sync(s.log())
	}
	slots, ok := s.changedSince(b.position)
	if !ok {
		clear(b.verdicts)
		b.accepted = 0
	}
	b.verdicts = extend(b.verdicts, s.nodes.IndexCount(), unknown)
	b.position = s.log().end()
	return b.judge(s, slots)
}

// judge finds the verdicts on the given slots, which are distinct.
func (b *board) judge(s *search, slots []int) *fwk.Status {
	remaining := make([]int, 0, len(slots))
	for _, slot := range slots {
		if b.verdicts[slot] == accepted {
			b.accepted--
		}
		if s.nodes.NodeAt(slot) == nil {
			b.verdicts[slot] = vacant
			continue
		}
		remaining = append(remaining, slot)
	}
	for i := range b.filters {
		filter, column := &b.filters[i], b.filters[i].column()
		if failure := s.fillFilterColumn(filter.index, column, remaining); failure != nil {
			return failure
		}
		remaining = slices.DeleteFunc(remaining, func(slot int) bool {
			v := column.verdicts[slot]
			b.verdicts[slot] = v
			return v != accepted
		})
	}
	for _, slot := range remaining {
		b.verdicts[slot] = accepted
	}
	b.accepted += len(remaining)
	return nil
}

// acceptedSlots appends the slots of the nodes that all plugins accept. All has all slots in their order.
func (b *board) acceptedSlots(slots, all []int) []int {
	if b.accepted == len(b.verdicts) {
		return append(slots, all...)
	}
	for slot, v := range b.verdicts {
		if v == accepted {
			slots = append(slots, slot)
		}
	}
	return slots
}
