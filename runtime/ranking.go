// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// ranking is the sum of the weighted scores that a series of Score plugins gave the nodes of a board, shared by all pods
// with the same keys. Scores that are taken as they are lie in base; those that are scaled to the highest one are kept
// raw beside it, because the highest may change.
type ranking struct {
	position int // in the change log
	board    *board
	plain    []rankedScorer // ScaleNone
	scaled   []scaledScorer
	base     []int64 // by slot; noTotal for nodes that the board does not accept
	// totals are base and the scaled scores, as of position treeAt of the change log.
	totals tournament
	treeAt int
	uses   int
}

type rankedScorer struct {
	index int // in Framework.score
	entry *keptEntry
}

func (s *rankedScorer) column() *scoreColumn { return s.entry.value.(*scoreColumn) }

type scaledScorer struct {
	rankedScorer
	reversed bool
	raw      []int64 // by slot; noTotal as in base
	highest  int64   // of raw, at least zero
	holders  int     // how many of raw are the highest
}

func (r *ranking) bytes() int {
	bytes := 8*cap(r.base) + r.totals.bytes()
	for i := range r.scaled {
		bytes += 8 * cap(r.scaled[i].raw)
	}
	return bytes
}

// sync brings base and the raw scores up to date. The board must be up to date already. After a failure the ranking must
// not be used any more.
func (r *ranking) sync(s *search) *fwk.Status {
	slots, ok := s.changedSince(r.position)
	stale := !ok || r.treeAt != r.position || r.totals.leaves < s.nodes.IndexCount()
	r.position = s.log().end()
	r.uses++
	r.base = extend(r.base, s.nodes.IndexCount(), noTotal)
	for i := range r.scaled {
		r.scaled[i].raw = extend(r.scaled[i].raw, s.nodes.IndexCount(), noTotal)
	}
	if failure := r.addUp(s, r.accepting(slots)); failure != nil {
		return failure
	}
	if moved := r.rescale(slots, !ok); stale || moved {
		r.treeAt = -1
		return nil
	}
	r.treeAt = r.position
	for _, slot := range slots {
		r.totals.set(slot, r.total(s, slot))
	}
	return nil
}

// accepting returns those of the slots that the board accepts, and takes the others out of base.
func (r *ranking) accepting(slots []int) []int {
	if r.board.accepted == len(r.base) {
		return slots
	}
	accepting := make([]int, 0, len(slots))
	for _, slot := range slots {
		if r.board.verdicts[slot] == accepted {
			accepting = append(accepting, slot)
		} else {
			r.base[slot] = noTotal
		}
	}
	return accepting
}

// best returns the slot with the highest total.
func (r *ranking) best(s *search, pick func(count int) int) int {
	if r.treeAt != r.position {
		sums := r.sums(s)
		if r.uses == 1 { // perhaps no such pod comes again
			best, ties := winnersOf(sums)
			return winnerOf(sums, best, pickOne(pick, ties))
		}
		r.totals.build(sums)
		r.treeAt = r.position
	}
	return r.totals.winner(pickOne(pick, r.totals.winners()))
}

// syncColumns brings the columns of the scorers up to date.
func (r *ranking) syncColumns(store *columnStore, log *changeLog) {
	for i := range r.plain {
		store.touch(r.plain[i].entry)
		r.plain[i].column().sync(log)
	}
	for i := range r.scaled {
		store.touch(r.scaled[i].entry)
		r.scaled[i].column().sync(log)
	}
}

// addUp works out base for nodes that the board accepts.
func (r *ranking) addUp(s *search, slots []int) *fwk.Status {
	for _, slot := range slots {
		r.base[slot] = 0
	}
	for _, scorer := range r.plain {
		if failure := s.fillScoreColumn(scorer, slots); failure != nil {
			return failure
		}
		weight := s.f.score[scorer.index].weight
		for _, slot := range slots {
			score := scorer.column().scores[slot]
			if score < fwk.MinScore || score > fwk.MaxScore {
				return s.invalidScore(scorer.index, score)
			}
			r.base[slot] += score * weight
		}
	}
	for i := range r.scaled {
		if failure := s.fillScoreColumn(r.scaled[i].rankedScorer, slots); failure != nil {
			return failure
		}
	}
	return nil
}

// rescale takes over the raw scores of changed slots, and tells whether a highest score is another one than before.
func (r *ranking) rescale(slots []int, anew bool) (moved bool) {
	for i := range r.scaled {
		scorer := &r.scaled[i]
		before := scorer.highest
		if anew {
			scorer.highest, scorer.holders = 0, 0
			fill(scorer.raw, noTotal)
		}
		for _, slot := range slots {
			if scorer.raw[slot] == scorer.highest {
				scorer.holders--
			}
			scorer.raw[slot] = noTotal
			if r.base[slot] != noTotal {
				scorer.enter(slot, scorer.column().scores[slot])
			}
		}
		if scorer.holders <= 0 && scorer.highest > 0 {
			scorer.recount()
		}
		moved = moved || scorer.highest != before
	}
	return moved
}

// enter takes over a raw score.
func (c *scaledScorer) enter(slot int, raw int64) {
	c.raw[slot] = raw
	switch {
	case raw > c.highest:
		c.highest, c.holders = raw, 1
	case raw == c.highest:
		c.holders++
	}
}

// recount finds the highest score among all.
func (c *scaledScorer) recount() {
	c.highest, c.holders = 0, 0
	for slot, raw := range c.raw {
		if raw != noTotal {
			c.enter(slot, raw)
		}
	}
}

// total is the final total of a slot.
func (r *ranking) total(s *search, slot int) int64 {
	total := r.base[slot]
	if total == noTotal {
		return noTotal
	}
	for i := range r.scaled {
		scorer := &r.scaled[i]
		total += s.f.score[scorer.index].weight * scale(scorer.raw[slot], scorer.highest, scorer.reversed)
	}
	return total
}

// sums returns the totals of all slots, in working space.
func (r *ranking) sums(s *search) []int64 {
	sums := append(s.columns.sums[:0], r.base...)
	for i := range r.scaled {
		scorer := &r.scaled[i]
		weight := s.f.score[scorer.index].weight
		if scorer.highest == 0 {
			if scorer.reversed {
				for slot, total := range sums {
					if total != noTotal {
						sums[slot] = total + weight*fwk.MaxScore
					}
				}
			}
			continue
		}
		for slot, raw := range scorer.raw {
			if raw != noTotal {
				sums[slot] += weight * scale(raw, scorer.highest, scorer.reversed)
			}
		}
	}
	s.columns.sums = sums
	return sums
}

// addTo adds the scores of the given nodes to their totals, scaled to the highest among them.
func (c *scaledScorer) addTo(totals []int64, slots []int, weight int64) {
	highest := int64(0)
	if c.highest > 0 {
		for _, slot := range slots {
			highest = max(highest, c.raw[slot])
		}
	}
	if highest == 0 {
		if c.reversed {
			for i := range totals {
				totals[i] += weight * fwk.MaxScore
			}
		}
		return
	}
	for i, slot := range slots {
		totals[i] += weight * scale(c.raw[slot], highest, c.reversed)
	}
}

// scaleAll scales raw scores to the highest of them, in place.
func scaleAll(scores []int64, by framework.Scale) {
	if by == framework.ScaleNone {
		return
	}
	highest := int64(0)
	for _, score := range scores {
		highest = max(highest, score)
	}
	for i, score := range scores {
		scores[i] = scale(score, highest, by == framework.ScaleToHighestReversed)
	}
}

// scale is what framework.DefaultNormalizeScore makes of a raw score.
func scale(raw, highest int64, reversed bool) int64 {
	switch {
	case highest == 0 && reversed:
		return fwk.MaxScore
	case highest == 0:
		return raw
	case reversed:
		return fwk.MaxScore - fwk.MaxScore*raw/highest
	default:
		return fwk.MaxScore * raw / highest
	}
}
