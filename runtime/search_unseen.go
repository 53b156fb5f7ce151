// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"slices"

	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/runtime/internal/verdicts"
)

// For a pod whose keys were not seen before, in-tree plugins are asked about all nodes, many at a time. Plugins without keys would
// take most of the time if they were, too: they are asked best first all the same.

// askInTree asks the in-tree plugins that are not part of the combined verdicts about all nodes, if they come before those without
// keys and there are any of these. Then only the latter are left to be asked.
func (s *cachedSearch) askInTree() *fwk.Status {
	count := len(s.rest)
	for count > 0 && !s.mustAskAll(s.rest[count-1]) {
		count--
	}
	before := s.rest[:count]
	outOfTree := func(index int) bool { return s.f.filter[index].outOfTree }
	if count == 0 || s.failed || slices.ContainsFunc(before, outOfTree) || !s.cache.needsNodes && !slices.ContainsFunc(s.rest, outOfTree) {
		return nil
	}
	mayFail := s.mayFail()
	c := s.cache
	c.remaining = s.notRejected(c.remaining[:0])
	if _, failure := s.askInOrder(before, c.remaining); failure != nil {
		return failure
	}
	rest := s.rest[count:]
	s.askedFirst, s.rest = before, nil
	if mayFail {
		if failure := s.explain(); failure != nil {
			return failure
		}
	}
	s.rest = rest
	return nil
}

// notRejected appends the nodes that the combined verdicts accept, and that no plugin is known to reject.
func (s *cachedSearch) notRejected(nodeIndexes []int) []int {
	for nodeIndex, v := range s.combined.verdicts {
		if v == verdicts.Accepted && s.cache.asked[nodeIndex] < verdicts.FirstRejection {
			nodeIndexes = append(nodeIndexes, nodeIndex)
		}
	}
	return nodeIndexes
}

// knownTotals returns the totals by the plugins that have keys.
func (s *cachedSearch) knownTotals(scores *scoreCache, others uncachedScorers) (*verdicts.WinnerTree, *fwk.Status) {
	if len(others.unseen) == 0 {
		return scores.tree(s), nil
	}
	c := s.cache
	c.indexes = s.notRejected(c.indexes[:0])
	totals, failure := s.sumWithKeys(scores, others.unseen, c.indexes)
	if failure != nil {
		return nil, scoring(failure)
	}
	c.totals = sized(c.totals, s.nodes.IndexCount())
	verdicts.Fill(c.totals, verdicts.NoTotal)
	for i, nodeIndex := range c.indexes {
		c.totals[nodeIndex] = totals[i]
	}
	c.totalsOfUnseen.Build(c.totals)
	return &c.totalsOfUnseen, nil
}
