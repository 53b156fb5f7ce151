// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"slices"

	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/internal/lru"
	"github.com/rouse-scheduler/rouse/runtime/internal/verdicts"
)

// scoreCache is the sum of the weighted scores that a series of Score plugins gave the nodes that combined verdicts accept, shared
// by all pods with the same keys. Scores that are taken as they are are added up in base; those that are scaled to the highest
// one are kept raw, because the highest may change.
type scoreCache struct {
	position int // in the change log
	combined *combinedVerdicts
	plain    []cachedScorer // ScaleNone
	scaled   []scaledScorer
	base     []int64 // by node index; NoTotal for nodes that are not accepted
	// totals are base and the scaled scores, as of position treeAt of the change log.
	totals verdicts.WinnerTree
	treeAt int
	uses   int
	// revision is another one whenever all totals may have changed.
	revision int
}

type cachedScorer struct {
	index int // in Framework.score
	entry *lru.Entry[cacheable]
}

func (s *cachedScorer) cached() *verdicts.PluginScores { return s.entry.Value.(*verdicts.PluginScores) }

type scaledScorer struct {
	cachedScorer
	reversed bool
	raw      []int64 // by node index; NoTotal as in base; nil as long as all are zero
	highest  int64   // of raw, at least zero
	holders  int     // how many of raw are the highest
}

func (c *scoreCache) Bytes() int {
	bytes := 8*cap(c.base) + c.totals.Bytes()
	for i := range c.scaled {
		bytes += 8 * cap(c.scaled[i].raw)
	}
	return bytes
}

// sync brings base and the raw scores up to date. The combined verdicts must be up to date already. After a failure the
// score cache must not be used any more.
func (c *scoreCache) sync(s *cachedSearch) *fwk.Status {
	nodeIndexes, ok := s.changedSince(c.position)
	stale := !ok || c.treeAt != c.position || !c.totals.Covers(s.nodes.IndexCount())
	c.position = s.changes().End()
	c.uses++
	c.base = verdicts.Extend(c.base, s.nodes.IndexCount(), verdicts.NoTotal)
	for i := range c.scaled {
		if c.scaled[i].raw != nil {
			c.scaled[i].raw = verdicts.Extend(c.scaled[i].raw, s.nodes.IndexCount(), verdicts.NoTotal)
		}
	}
	if failure := c.addUp(s, c.acceptedOf(nodeIndexes)); failure != nil {
		return failure
	}
	moved := c.rescale(nodeIndexes, !ok)
	if moved || !ok {
		c.revision++
	}
	if stale || moved {
		c.treeAt = -1
		return nil
	}
	c.treeAt = c.position
	for _, nodeIndex := range nodeIndexes {
		c.totals.Set(nodeIndex, c.total(s, nodeIndex))
	}
	return nil
}

// acceptedOf returns those of the nodes that are accepted, and takes the others out of base.
func (c *scoreCache) acceptedOf(nodeIndexes []int) []int {
	if c.combined.accepted == len(c.base) {
		return nodeIndexes
	}
	accepting := make([]int, 0, len(nodeIndexes))
	for _, nodeIndex := range nodeIndexes {
		if c.combined.verdicts[nodeIndex] == verdicts.Accepted {
			accepting = append(accepting, nodeIndex)
		} else {
			c.base[nodeIndex] = verdicts.NoTotal
		}
	}
	return accepting
}

// best returns the index of the node with the highest total.
func (c *scoreCache) best(s *cachedSearch, equals chooser) int {
	if c.treeAt != c.position {
		sums := c.sums(s)
		if c.uses == 1 { // perhaps no such pod comes again
			return equals.ofTotals(sums, nil)
		}
		c.build(sums)
	}
	return equals.ofTree(&c.totals)
}

// tree returns the totals of all nodes that the combined verdicts accept.
func (c *scoreCache) tree(s *cachedSearch) *verdicts.WinnerTree {
	if c.treeAt != c.position {
		c.build(c.sums(s))
	}
	return &c.totals
}

func (c *scoreCache) build(sums []int64) {
	c.totals.Build(sums)
	c.treeAt = c.position
}

// syncPlugins brings the cached scores of the plugins up to date.
func (c *scoreCache) syncPlugins(store *lru.Cache[cacheable], log *verdicts.ChangeLog) {
	for i := range c.plain {
		store.Touch(c.plain[i].entry)
		c.plain[i].cached().Sync(log)
	}
	for i := range c.scaled {
		store.Touch(c.scaled[i].entry)
		c.scaled[i].cached().Sync(log)
	}
}

// addUp computes base for nodes that are accepted.
func (c *scoreCache) addUp(s *cachedSearch, nodeIndexes []int) *fwk.Status {
	for _, nodeIndex := range nodeIndexes {
		c.base[nodeIndex] = 0
	}
	for _, scorer := range c.plain {
		if failure := s.askUnknownScores(scorer, nodeIndexes); failure != nil {
			return failure
		}
		weight := s.f.score[scorer.index].weight
		for _, nodeIndex := range nodeIndexes {
			score := scorer.cached().ByNode[nodeIndex]
			if score < fwk.MinScore || score > fwk.MaxScore {
				return s.invalidScore(scorer.index, score)
			}
			c.base[nodeIndex] += score * weight
		}
	}
	for i := range c.scaled {
		if failure := s.askUnknownScores(c.scaled[i].cachedScorer, nodeIndexes); failure != nil {
			return failure
		}
	}
	return nil
}

// rescale takes over the raw scores of changed nodes, and reports whether a highest score is another one than before.
func (c *scoreCache) rescale(nodeIndexes []int, all bool) (moved bool) {
	for i := range c.scaled {
		scorer := &c.scaled[i]
		before := scorer.highest
		if all {
			scorer.raw, scorer.highest, scorer.holders = nil, 0, 0
		}
		known := scorer.cached().ByNode
		nonZero := func(nodeIndex int) bool { return c.base[nodeIndex] != verdicts.NoTotal && known[nodeIndex] != 0 }
		if scorer.raw == nil && !slices.ContainsFunc(nodeIndexes, nonZero) {
			moved = moved || scorer.highest != before
			continue
		}
		if scorer.raw == nil {
			scorer.raw = make([]int64, len(c.base))
			for nodeIndex, base := range c.base {
				if base == verdicts.NoTotal {
					scorer.raw[nodeIndex] = verdicts.NoTotal
				}
			}
		}
		for _, nodeIndex := range nodeIndexes {
			if scorer.raw[nodeIndex] == scorer.highest {
				scorer.holders--
			}
			scorer.raw[nodeIndex] = verdicts.NoTotal
			if c.base[nodeIndex] != verdicts.NoTotal {
				scorer.enter(nodeIndex, known[nodeIndex])
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
func (c *scaledScorer) enter(nodeIndex int, raw int64) {
	c.raw[nodeIndex] = raw
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
	for nodeIndex, raw := range c.raw {
		if raw != verdicts.NoTotal {
			c.enter(nodeIndex, raw)
		}
	}
}

// total is the final total of a node.
func (c *scoreCache) total(s *cachedSearch, nodeIndex int) int64 {
	total := c.base[nodeIndex]
	if total == verdicts.NoTotal {
		return verdicts.NoTotal
	}
	for i := range c.scaled {
		scorer := &c.scaled[i]
		raw := int64(0)
		if scorer.raw != nil {
			raw = scorer.raw[nodeIndex]
		}
		total += s.f.score[scorer.index].weight * scale(raw, scorer.highest, scorer.reversed)
	}
	return total
}

// sums returns the totals of all nodes, in working space.
func (c *scoreCache) sums(s *cachedSearch) []int64 {
	sums := append(s.cache.sums[:0], c.base...)
	for i := range c.scaled {
		scorer := &c.scaled[i]
		weight := s.f.score[scorer.index].weight
		if scorer.highest == 0 {
			if scorer.reversed {
				for nodeIndex, total := range sums {
					if total != verdicts.NoTotal {
						sums[nodeIndex] = total + weight*fwk.MaxScore
					}
				}
			}
			continue
		}
		for nodeIndex, raw := range scorer.raw {
			if raw != verdicts.NoTotal {
				sums[nodeIndex] += weight * scale(raw, scorer.highest, scorer.reversed)
			}
		}
	}
	s.cache.sums = sums
	return sums
}

// addTo adds the scores of the given nodes to their totals, scaled to the highest among them.
func (c *scaledScorer) addTo(totals []int64, nodeIndexes []int, weight int64) {
	highest := int64(0)
	if c.highest > 0 {
		for _, nodeIndex := range nodeIndexes {
			highest = max(highest, c.raw[nodeIndex])
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
	for i, nodeIndex := range nodeIndexes {
		totals[i] += weight * scale(c.raw[nodeIndex], highest, c.reversed)
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
