// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import "iter"

// slotTable gives live nodes their slots. Slots stay small: the one freed last is given out first, and a new one is
// made only when none is free. The zero value is empty.
type slotTable struct {
	// entries has the live entry of each slot; nil where the slot is free.
	entries []*nodeEntry
	free    []int
	changes changeLog
}

// take gives a slot to an entry that has none.
func (t *slotTable) take(e *nodeEntry) {
	if last := len(t.free) - 1; last >= 0 {
		e.slot = t.free[last]
		t.free = t.free[:last]
		t.entries[e.slot] = e
		return
	}
	e.slot = len(t.entries)
	t.entries = append(t.entries, e)
}

// touch notes that the node info of an entry has just changed. Entries without a slot are in no snapshot, and nothing
// is noted about them.
func (t *slotTable) touch(e *nodeEntry) {
	if e.live() {
		t.changes.record(e.slot, e.info.GetGeneration())
	}
}

// release takes the slot from an entry whose node info has just lost its node.
func (t *slotTable) release(e *nodeEntry) {
	t.touch(e)
	t.entries[e.slot] = nil
	t.free = append(t.free, e.slot)
	e.slot = noSlot
}

// changeLog knows when each slot changed last and keeps slots in that order. The zero value is an empty log.
type changeLog struct {
	// ring is a doubly linked list in a slice. Element 0 is where the ring begins and ends, element slot+1 belongs to
	// that slot. An element linked to itself is a slot that never changed.
	ring []change
}

type change struct {
	generation   int64
	newer, older int
}

// record notes that a slot changed at a generation, which must be larger than all recorded before.
func (l *changeLog) record(slot int, generation int64) {
	at := slot + 1
	for i := len(l.ring); i <= at; i++ {
		l.ring = append(l.ring, change{newer: i, older: i})
	}
	moved := &l.ring[at]
	l.ring[moved.newer].older = moved.older
	l.ring[moved.older].newer = moved.newer

	moved.generation = generation
	moved.newer, moved.older = 0, l.ring[0].older
	l.ring[moved.older].newer = at
	l.ring[0].older = at
}

// since yields the slots that changed after a generation, the latest change first.
func (l *changeLog) since(generation int64) iter.Seq[int] {
	return func(yield func(int) bool) {
		if len(l.ring) == 0 {
			return
		}
		for at := l.ring[0].older; at != 0 && l.ring[at].generation > generation; at = l.ring[at].older {
			if !yield(at - 1) {
				return
			}
		}
	}
}

// changedAt returns the generation at which a slot that has changed did so last.
func (l *changeLog) changedAt(slot int) int64 { return l.ring[slot+1].generation }

// latest returns the generation of the latest change, zero if there was none.
func (l *changeLog) latest() int64 {
	if len(l.ring) == 0 {
		return 0
	}
	return l.ring[l.ring[0].older].generation
}
