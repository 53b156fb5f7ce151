// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import "iter"

// nodeIndexes gives live nodes their indexes. They stay small: the one freed last is given out first, and a new one is
// made only when none is free. The zero value is empty.
type nodeIndexes struct {
	// entries has the live entry of each node index; nil where it is free.
	entries []*nodeEntry
	free    []int
	changes changeLog
}

// assign gives a node index to an entry that has none.
func (t *nodeIndexes) assign(e *nodeEntry) {
	if last := len(t.free) - 1; last >= 0 {
		e.index = t.free[last]
		t.free = t.free[:last]
		t.entries[e.index] = e
		return
	}
	e.index = len(t.entries)
	t.entries = append(t.entries, e)
}

// recordChange notes that the node info of an entry has just changed. Entries without a node index are in no snapshot, and nothing
// is noted about them.
func (t *nodeIndexes) recordChange(e *nodeEntry) {
	e.changedAt = e.info.GetGeneration()
	t.recordHeartbeat(e)
}

// recordHeartbeat notes that the node info of an entry has just got a node that differs as [onlyHeartbeat] says.
func (t *nodeIndexes) recordHeartbeat(e *nodeEntry) {
	if e.live() {
		t.changes.record(e.index, e.info.GetGeneration())
	}
}

// release takes the node index from an entry whose node info has just lost its node.
func (t *nodeIndexes) release(e *nodeEntry) {
	t.recordChange(e)
	t.entries[e.index] = nil
	t.free = append(t.free, e.index)
	e.index = noIndex
}

// changeLog knows when each node index changed last and keeps node indexes in that order. The zero value is an empty log.
type changeLog struct {
	// ring is a doubly linked list in a slice. Element 0 is where the ring begins and ends, element i+1 belongs to
	// that node index. An element linked to itself is a node index that never changed.
	ring []change
}

type change struct {
	generation   int64
	newer, older int
}

// record notes that a node index changed at a generation, which must be larger than all recorded before.
func (l *changeLog) record(index int, generation int64) {
	at := index + 1
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

// since yields the node indexes that changed after a generation, the latest change first.
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

// changedAt returns the generation at which a node index that has changed did so last.
func (l *changeLog) changedAt(index int) int64 { return l.ring[index+1].generation }

// latest returns the generation of the latest change, zero if there was none.
func (l *changeLog) latest() int64 {
	if len(l.ring) == 0 {
		return 0
	}
	return l.ring[l.ring[0].older].generation
}
