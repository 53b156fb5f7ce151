// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import "github.com/rouse-scheduler/rouse/framework"

// changeLog lists the slots that changed, in the order in which they did, so that everything kept about nodes can be
// brought up to date by reading on from where it stopped. The zero value is empty.
type changeLog struct {
	nodes      framework.IndexedSnapshot
	generation int64
	// slots are the changes from position base on.
	slots []int
	base  int
}

// catchUp enters what changed in the snapshot since the last call. Of changes long past only the fact is kept; see
// since.
func (l *changeLog) catchUp(nodes framework.IndexedSnapshot) {
	if l.nodes != nodes { // another cluster: whatever is known of the old one is out of date
		l.nodes, l.generation = nodes, 0
		l.forget()
	}
	if nodes.Generation() == l.generation {
		return
	}
	if len(l.slots) > 4*nodes.IndexCount() {
		l.forget()
	}
	for slot := range nodes.ChangedSince(l.generation) {
		l.slots = append(l.slots, slot)
	}
	l.generation = nodes.Generation()
}

// forget drops the list, so that every reader must begin anew.
func (l *changeLog) forget() {
	l.base = l.end() + 1
	l.slots = l.slots[:0]
}

// end is the position after the last change.
func (l *changeLog) end() int { return l.base + len(l.slots) }

// since returns the slots that changed from a position on, the same slot several times perhaps, and false if the list
// no longer reaches back that far.
func (l *changeLog) since(position int) ([]int, bool) {
	if position < l.base {
		return nil, false
	}
	return l.slots[position-l.base:], true
}
