// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"slices"

	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/runtime/internal/verdicts"
)

// A Score plugin without a key that does not see all its scores at once adds between nothing and 100 times its weight. So no node
// can win whose known total is lower than the best one's total by more than that: such nodes are out of reach.

// bestWithinReach asks the plugins about nodes from the highest known total down, until no other node can have a higher total than
// the best one so far, or until so many take the pod as the options say. It finds no node where scores depend on which nodes
// take the pod, or if none of them does.
func (s *cachedSearch) bestWithinReach(scores *scoreCache, others uncachedScorers, options SearchOptions) (choice Choice, status *fwk.Status) {
	reach, bounded, failure := s.reach(scores, others)
	if failure != nil || !bounded {
		return choice, failure
	}
	known, failure := s.knownTotals(scores, others)
	if failure != nil {
		return choice, failure
	}
	calls := s.f.startExtensionPoint(s.ctx, MethodScore, s.state, s.pod)
	defer calls.end(&status)
	c := s.cache
	c.bestFirst.Begin(known, c.turn)
	found, totals, best := c.remaining[:0], c.sums[:0], int64(verdicts.NoTotal)
	for len(found) < options.Limit {
		c.indexes = c.bestFirst.Append(c.indexes[:0], min(max(len(found), fewAtOnce), max(options.Limit-len(found), fewAtOnce)))
		if len(c.indexes) == 0 || best != verdicts.NoTotal && known.Total(c.indexes[0])+reach <= best {
			break
		}
		from := len(found)
		if found, failure = s.askAccepted(found, c.indexes); failure != nil {
			return choice, failure
		}
		for _, nodeIndex := range found[from:] {
			totals = append(totals, known.Total(nodeIndex))
		}
		if failure := scoring(s.addPerNode(others.perNode, found[from:], totals[from:])); failure != nil {
			return choice, failure
		}
		highest, _ := verdicts.Highest(totals[from:])
		best = max(best, highest)
	}
	c.remaining, c.sums = found, totals
	if len(found) > 0 {
		choice = Choice{Node: s.nameAt(options.chooser().ofTotals(totals, found)), Feasible: len(found)}
	}
	return choice, nil
}

// fewAtOnce is how many nodes plugins without keys are asked about at once, at least.
const fewAtOnce = 32

// reach returns by how much the total of a node may exceed what is known of it. It is not bounded where it depends on which nodes
// take the pod.
func (s *cachedSearch) reach(scores *scoreCache, others uncachedScorers) (reach int64, bounded bool, failure *fwk.Status) {
	scaled := func(index int) bool { return s.cache.scorers[index].key.Scale() != framework.ScaleNone }
	if len(others.scoreAll) > 0 || s.cache.plainPreScore || slices.ContainsFunc(others.unseen, scaled) {
		return 0, false, nil
	}
	for _, index := range others.perNode {
		plugin := &s.f.score[index]
		if s.normalizes(plugin) {
			return 0, false, nil
		}
		reach += fwk.MaxScore * plugin.weight
	}
	for i := range scores.scaled {
		if len(others.unseen) > 0 && scores.scaled[i].highest > 0 {
			return 0, false, nil // knownTotals scales to those that the plugins asked first accept
		}
		if stands, failure := s.highestStands(&scores.scaled[i]); failure != nil || !stands {
			return 0, false, failure
		}
	}
	return reach, true, nil
}

// addPerNode adds the scores of plugins that do not see all their scores to totals.
func (s *cachedSearch) addPerNode(indexes, nodeIndexes []int, totals []int64) *fwk.Status {
	s.cache.scores = sized(s.cache.scores, len(nodeIndexes))
	for _, index := range indexes {
		if failure := s.askScores(index, nodeIndexes, s.cache.scores); failure != nil {
			return failure
		}
		if failure := s.addScores(index, totals, s.cache.scores); failure != nil {
			return failure
		}
	}
	return nil
}
