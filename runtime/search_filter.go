// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	fwk "k8s.io/kube-scheduler/framework"
)

// filter finds the nodes that take the pod. The plugins up to the first one without a key are asked through a board;
// those after it one by one, about the nodes that are left.
func (s *search) filter() (status *fwk.Status) {
	pass := s.f.startPoint(s.ctx, MethodFilter, s.state, s.pod)
	defer pass.end(&status)
	rest, failure := s.findBoard(&pass)
	if failure != nil {
		return failure
	}
	claimed := s.claimedNodes()
	if len(rest) == 0 && len(claimed) == 0 {
		return nil
	}
	s.narrowed = true
	s.columns.slots = s.board.acceptedSlots(s.columns.slots[:0], s.allSlots())
	s.slots = s.columns.slots
	s.columns.verdicts = append(s.columns.verdicts[:0], s.board.verdicts...)
	s.verdicts = s.columns.verdicts
	s.setAside(claimed)
	for _, index := range rest {
		if failure := s.narrow(&pass, index); failure != nil {
			return failure
		}
	}
	return s.reconsider(claimed, len(rest) == 0)
}

// findBoard brings the board of this pod up to date, and returns the indexes of the plugins that are not part of it.
func (s *search) findBoard(pass *run) (rest []int, failure *fwk.Status) {
	c := s.columns
	c.key, rest = s.f.appendFilterKeys(pass, append(c.key[:0], 'b'), s.state, s.pod)
	entry := c.store.find(c.key)
	if entry == nil {
		if unmet := s.cutUnmet(); len(unmet) > 0 {
			rest = append(unmet, rest...)
			entry = c.store.find(c.key)
		}
	}
	if entry == nil {
		var filters []boardFilter
		for key := c.key[1:]; len(key) > 0; {
			index, part := nextKey(key)
			filters = append(filters, boardFilter{index: index, entry: s.filterColumn(part)})
			key = key[len(part):]
		}
		entry = c.store.put(c.key, &board{position: -1, filters: filters})
	}
	s.board, s.boardKey = entry.value.(*board), c.key
	for i := range s.board.filters {
		c.store.touch(s.board.filters[i].entry)
	}
	if failure := s.board.sync(s); failure != nil {
		c.store.drop(entry)
		return nil, failure
	}
	return rest, nil
}

// cutUnmet ends the key of the board before the first part that never came before, because it may never come again, and
// returns the plugins that are then no part of the board.
func (s *search) cutUnmet() (indexes []int) {
	c := s.columns
	keys := c.key
	for at := 1; at < len(keys); {
		index, part := nextKey(keys[at:])
		met := c.store.meet(s.columnKeyOf('f', part))
		if len(indexes) == 0 && !met {
			c.key = keys[:at]
		}
		if len(indexes) > 0 || !met {
			indexes = append(indexes, index)
		}
		at += len(part)
	}
	return indexes
}

// columnKeyOf returns the key of a column in the store, in working space.
func (s *search) columnKeyOf(kind byte, part []byte) []byte {
	s.columns.storeKey = append(append(s.columns.storeKey[:0], kind), part...)
	return s.columns.storeKey
}

// keyHeader is how many bytes stand before what a plugin says itself: its index and the length of what follows.
const keyHeader = 2 * 4

// appendKey appends the key of one plugin: its index, the length of what follows, and what it says itself.
func appendKey(key []byte, index int, appendOwn func([]byte) ([]byte, bool)) ([]byte, bool) {
	start := len(key)
	key = binary.LittleEndian.AppendUint32(key, uint32(index))
	key = append(key, 0, 0, 0, 0)
	key, ok := appendOwn(key)
	if !ok {
		return key[:start], false
	}
	binary.LittleEndian.PutUint32(key[start+4:], uint32(len(key)-start-keyHeader))
	return key, true
}

// nextKey returns the first of a series of keys, and the index of its plugin.
func nextKey(keys []byte) (index int, key []byte) {
	return int(binary.LittleEndian.Uint32(keys)), keys[:keyHeader+binary.LittleEndian.Uint32(keys[4:])]
}

// filterColumn finds or makes the column of a plugin, by its part of a key.
func (s *search) filterColumn(part []byte) *keptEntry {
	key := s.columnKeyOf('f', part)
	entry := s.columns.store.find(key)
	if entry == nil {
		entry = s.columns.store.put(key, nil)
	}
	if entry.value == nil {
		entry.value = &filterColumn{position: -1}
	}
	return entry
}

// narrow asks a plugin that is not part of the board about the nodes that are left.
func (s *search) narrow(pass *run, index int) *fwk.Status {
	c := s.columns
	if c.filters[index].key != nil {
		key, ok := s.f.appendFilterKey(pass, c.columnKey[:0], index, s.state, s.pod)
		c.columnKey = key
		if ok && c.store.meet(s.columnKeyOf('f', key)) {
			column := s.filterColumn(key).value.(*filterColumn)
			column.sync(s.log())
			if failure := s.fillFilterColumn(index, column, s.slots); failure != nil {
				return failure
			}
			s.slots = slices.DeleteFunc(s.slots, func(slot int) bool {
				s.verdicts[slot] = column.verdicts[slot]
				return column.verdicts[slot] != accepted
			})
			return nil
		}
	}
	answers, failure := s.askFilter(index, s.slots)
	if failure != nil {
		return failure
	}
	kept := s.slots[:0]
	for i, slot := range s.slots {
		if answers[i] == nil {
			kept = append(kept, slot)
			continue
		}
		v, failure := s.verdictOf(index, answers[i])
		if failure != nil {
			return failure
		}
		if v == accepted {
			kept = append(kept, slot)
		} else {
			s.verdicts[slot] = v
		}
	}
	s.slots = kept
	return nil
}

// fillFilterColumn asks a plugin about those of the slots that its column does not know.
func (s *search) fillFilterColumn(index int, column *filterColumn, slots []int) *fwk.Status {
	c := s.columns
	c.unknown = c.unknown[:0]
	for _, slot := range slots {
		if column.verdicts[slot] == unknown {
			c.unknown = append(c.unknown, slot)
		}
	}
	if len(c.unknown) == 0 {
		return nil
	}
	answers, failure := s.askFilter(index, c.unknown)
	if failure != nil {
		return failure
	}
	for i, slot := range c.unknown {
		if answers[i] == nil {
			column.verdicts[slot] = accepted
			continue
		}
		if column.verdicts[slot], failure = s.verdictOf(index, answers[i]); failure != nil {
			return failure
		}
	}
	return nil
}

// verdictOf is the verdict that a status stands for; it is a failure if the status is neither success nor a rejection.
func (s *search) verdictOf(index int, status *fwk.Status) (verdict, *fwk.Status) {
	name := s.f.filter[index].name
	switch {
	case status.IsSuccess():
		return accepted, nil
	case status.IsRejected():
		return s.columns.statuses.number(status, name), nil
	default:
		return unknown, failed(fmt.Sprintf("running %q filter plugin", name), name, status)
	}
}

// askFilter asks a plugin about nodes, in parallel if they are many. The answers are good until the next call.
func (s *search) askFilter(index int, slots []int) ([]*fwk.Status, *fwk.Status) {
	c := s.columns
	c.answers = sized(c.answers, len(slots))
	answers := c.answers
	clear(answers)
	plugin, many := &s.f.filter[index], c.filters[index].slots
	failure := s.each(&plugin.identity, MethodFilter, len(slots), func(ctx context.Context, from, to int) *fwk.Status {
		if many != nil {
			plugin.countEvaluation()
			return many.FilterBatch(ctx, s.state, s.pod, s.nodes, slots[from:to], answers[from:to])
		}
		for i := from; i < to; i++ {
			plugin.countEvaluation()
			answers[i] = plugin.plugin.Filter(ctx, s.state, s.pod, s.nodes.NodeAt(slots[i]))
		}
		return nil
	})
	return answers, failure
}
