// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package topology

// Position is how far sums of selected pods by domain are up to date: with the moves of nodes between domains, and with the
// changes of the selection. The zero position is that before everything.
type Position struct{ moves, pods int }

// maxPairs is up to how many pairs of moves and changes are looked at.
const maxPairs = 1 << 14

// Follow brings sums up to date with a selection and a log of moves, which both are, by adding what changed. Domains has the
// domain of each node now. It returns false where the sums have to be added up again, since too much changed.
func (p *Position) Follow(moves *MoveLog, pods *Selection, domains []int32, add func(domain int32, delta int64)) bool {
	moved, nextMove, known := moves.Since(p.moves)
	changes, nextChange, remembered := pods.ChangesSince(p.pods)
	p.moves, p.pods = nextMove, nextChange
	if !known || !remembered || len(moved)*len(changes) > maxPairs {
		return false
	}
	for _, move := range moved {
		before := pods.ByNode.At(move.Node)
		for _, change := range changes {
			if change.Node == move.Node {
				before -= change.Delta
			}
		}
		if before == 0 {
			continue
		}
		if move.From != None {
			add(move.From, -int64(before))
		}
		if move.To != None {
			add(move.To, int64(before))
		}
	}
	for _, change := range changes {
		if domain := domains[change.Node]; domain != None {
			add(domain, int64(change.Delta))
		}
	}
	return true
}

// AddUp returns the sums of a selection by domain.
func AddUp(pods *Selection, domains []int32) (sums Sparse[int64]) {
	for node, count := range pods.ByNode.All() {
		if domain := domains[node]; domain != None {
			sums.Add(domain, int64(count))
		}
	}
	return sums
}
