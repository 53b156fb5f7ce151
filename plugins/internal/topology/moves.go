// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package topology

// Move is a node that changed from one domain to another; None is no domain.
type Move struct{ Node, From, To int32 }

// maxMoves is how many moves are remembered. Who is behind by more adds up everything again.
const maxMoves = 1 << 13

// MoveLog is the moves of nodes between domains, for readers that follow them at their own pace. The zero value is empty.
type MoveLog struct{ moves log[Move] }

// Add appends a move.
func (l *MoveLog) Add(node, from, to int32) {
	l.moves.add(Move{Node: node, From: from, To: to}, maxMoves)
}

// Forget drops all moves, so that every reader starts again.
func (l *MoveLog) Forget() { l.moves.forget() }

// Since returns the moves from a position on, in the order in which they were made, and the position to go on from. It
// returns false if they are not remembered; those from the zero position on never are.
func (l *MoveLog) Since(position int) (moves []Move, next int, ok bool) {
	moves, ok = l.moves.since(position)
	return moves, l.moves.end(), ok
}

// log is a list of changes that readers follow at their own pace, each from the position where it stopped. Of changes long
// past only the fact is kept. The zero value is empty.
type log[Entry any] struct {
	entries []Entry
	base    int // the position of the first entry
}

// end is the position after the last entry. It is at least one, so that the position zero of a new reader is always too
// long ago.
func (l *log[Entry]) end() int { return l.base + len(l.entries) + 1 }

// since returns the entries from a position on, and false if they are not remembered.
func (l *log[Entry]) since(position int) ([]Entry, bool) {
	if position < l.base+1 {
		return nil, false
	}
	return l.entries[position-l.base-1:], true
}

// add appends an entry and forgets the older half of them if they are more than twice the limit.
func (l *log[Entry]) add(entry Entry, limit int) {
	if len(l.entries) >= 2*limit {
		l.base += len(l.entries) - limit
		l.entries = append(l.entries[:0], l.entries[len(l.entries)-limit:]...)
	}
	l.entries = append(l.entries, entry)
}

// forget drops all entries, so that every reader starts again.
func (l *log[Entry]) forget() {
	l.base = l.end()
	l.entries = nil
}
