// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package verdicts

import "github.com/rouse-scheduler/rouse/framework"

// ChangeLog lists the nodes that changed, in the order in which they did, so that whatever is cached about nodes can be
// brought up to date by reading on from the position where it stopped. The zero value is empty.
type ChangeLog struct {
	nodes      framework.IndexedSnapshot
	generation int64
	// changed are the indexes of the nodes that changed, from position base on.
	changed []int
	base    int
}

// CatchUp enters what changed in the snapshot since the last call. Old entries are dropped, and readers
// that were behind them start over; see Since.
func (l *ChangeLog) CatchUp(nodes framework.IndexedSnapshot) {
	if l.nodes != nodes { // another cluster: whatever is known of the old one is out of date
		l.nodes, l.generation = nodes, 0
		l.forget()
	}
	if nodes.Generation() == l.generation {
		return
	}
	if len(l.changed) > 4*nodes.IndexCount() {
		l.forget()
	}
	for nodeIndex := range nodes.ChangedSince(l.generation) {
		l.changed = append(l.changed, nodeIndex)
	}
	l.generation = nodes.Generation()
}

// Add enters nodes of which something else changed than what the snapshot has. What is no node index is left out.
func (l *ChangeLog) Add(nodeIndexes []int) {
	for _, nodeIndex := range nodeIndexes {
		if nodeIndex >= 0 && nodeIndex < l.nodes.IndexCount() {
			l.changed = append(l.changed, nodeIndex)
		}
	}
}

// forget drops the list, so that every reader starts again.
func (l *ChangeLog) forget() {
	l.base = l.End() + 1
	l.changed = l.changed[:0]
}

// End is the position after the last change.
func (l *ChangeLog) End() int { return l.base + len(l.changed) }

// Since returns the indexes of the nodes that changed from a position on, perhaps with duplicates, and false if the list no
// longer reaches back that far. No list reaches back to a negative position.
func (l *ChangeLog) Since(position int) ([]int, bool) {
	if position < l.base {
		return nil, false
	}
	return l.changed[position-l.base:], true
}
