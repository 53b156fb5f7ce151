// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"slices"

	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/runtime/internal/verdicts"
)

// chooseFromSample compares the first nodes that take the pod, as many as are enough.
func (s *cachedSearch) chooseFromSample(options SearchOptions) (choice Choice, failure *fwk.Status) {
	c, order := s.cache, s.nodes.ListOrder()
	sample := c.remaining[:0]
	for choice.Checked < len(order) && len(sample) < options.Sample {
		part := c.indexes[:0]
		for ; choice.Checked < len(order) && len(part) < options.Sample-len(sample); choice.Checked++ {
			nodeIndex := order[(options.Start+choice.Checked)%len(order)]
			if s.combined.verdicts[nodeIndex] == verdicts.Accepted {
				part = append(part, nodeIndex)
			}
		}
		c.indexes = part
		if sample, failure = s.askAccepted(sample, part); failure != nil {
			return choice, failure
		}
	}
	c.remaining = sample
	choice.Feasible = len(sample)
	switch len(sample) {
	case 0:
		choice.Rejections, failure = s.reject()
	case 1:
		choice.Node = s.nameAt(sample[0])
	default:
		scores, others, failure := s.startScores()
		if failure != nil {
			return choice, failure
		}
		slices.Sort(sample) // among equals the choice is by node index
		choice.Node, failure = s.bestOf(scores, others, sample, options.chooser())
		return choice, failure
	}
	return choice, failure
}

// mayAskFew reports whether it does not matter if a Filter plugin would fail on a node that it need not be asked about. With
// in-tree plugins alone the attempt then fails, as in kube-scheduler; those that keep counts of all nodes, which are
// [framework.ScoreAllPlugin], fail on none.
func (s *cachedSearch) mayAskFew() bool {
	return !s.failed && !slices.ContainsFunc(s.rest, s.mustAskAll)
}

// mustAskAll reports whether it matters for a Filter plugin.
func (s *cachedSearch) mustAskAll(index int) bool {
	_, counts := s.f.filter[index].plugin.(framework.ScoreAllPlugin)
	return !counts && !s.f.filter[index].outOfTree
}

// chooseBestFirst looks at nodes in the order of their known scores, where plugins must be asked about nodes that are not
// known to reject the pod: Filter plugins until a node takes the pod whose score none can surpass, Score plugins about as
// many nodes as the options say.
func (s *cachedSearch) chooseBestFirst(options SearchOptions) (choice Choice, failure *fwk.Status) {
	few, failure := s.firstFeasible(2)
	switch {
	case failure != nil:
		return choice, failure
	case len(few) < 2: // they are all
		return s.chooseFromAll(options)
	}
	scores, others, failure := s.startScores()
	if failure != nil {
		return choice, failure
	}
	known := others.none() && !s.cache.plainPreScore
	if known {
		nodeIndex, found, failure := s.winner(scores, options.chooser())
		if failure != nil {
			return choice, failure
		}
		if found {
			return Choice{Node: s.nameAt(nodeIndex), Feasible: len(few)}, nil
		}
	}
	if nodeIndex, feasible, failure := s.bestOfGroups(scores, others, options.chooser()); failure != nil {
		return choice, failure
	} else if nodeIndex >= 0 {
		return Choice{Node: s.nameAt(nodeIndex), Feasible: feasible}, nil
	}
	if !known && options.Limit > 0 {
		if choice, failure = s.bestWithinReach(scores, others, options); failure != nil || choice.Node != "" {
			return choice, failure
		}
	}
	var nodeIndexes []int
	perNode := s.filtersPerNode() || len(others.perNode) > 0 || s.cache.plainPreScore
	if !known && perNode && options.Limit > 0 {
		nodeIndexes, failure = s.bestFirst(scores, others, options)
	} else {
		failure = s.askAll()
		nodeIndexes = s.feasibleIndexes()
	}
	if failure != nil {
		return choice, failure
	}
	choice.Feasible = len(nodeIndexes)
	choice.Node, failure = s.bestOf(scores, others, nodeIndexes, options.chooser())
	return choice, failure
}

// filtersPerNode reports whether a Filter plugin must be asked about one node after the other.
func (s *cachedSearch) filtersPerNode() bool {
	return slices.ContainsFunc(s.rest, func(index int) bool { return s.cache.filters[index].batch == nil })
}

// firstFeasible returns so many nodes that take the pod, from another one on each time; fewer only if there are no more.
func (s *cachedSearch) firstFeasible(count int) ([]int, *fwk.Status) {
	var found, part []int
	nodeCount, atOnce := len(s.combined.verdicts), count
	for i := range nodeCount {
		s.cache.turn = (s.cache.turn + 1) % nodeCount
		nodeIndex := s.cache.turn
		if s.combined.verdicts[nodeIndex] == verdicts.Accepted {
			part = append(part, nodeIndex)
		}
		if len(part) < atOnce && i < nodeCount-1 {
			continue
		}
		var failure *fwk.Status
		if found, failure = s.askAccepted(found, part); failure != nil || len(found) >= count {
			return found, failure
		}
		part, atOnce = part[:0], 2*atOnce
	}
	return found, nil
}

// maxTried is how many nodes, or holders of a highest score, are tried before it is less work to ask about all nodes at once.
const maxTried = 64

// winner finds the best node where only Filter plugins have to be asked about nodes: of the best ones one after the other, chosen
// among equals, the first that takes the pod. It finds none if many reject the pod, or if a score of all nodes may
// depend on which ones do.
func (s *cachedSearch) winner(scores *scoreCache, equals chooser) (nodeIndex int, found bool, failure *fwk.Status) {
	for i := range scores.scaled {
		stands, failure := s.highestStands(&scores.scaled[i])
		if failure != nil || !stands {
			return 0, false, failure
		}
	}
	tree := scores.tree(s)
	tried := make([]int, 0, maxTried)
	defer func() {
		for _, nodeIndex := range tried {
			tree.Set(nodeIndex, scores.total(s, nodeIndex))
		}
	}()
	giveUpAfter := maxTried
	for len(tried) < giveUpAfter {
		part := []int{0}
		if winners := tree.Winners(); len(tried) >= maxTriedSingly && winners <= maxTiesAtOnce && !s.filtersPerNode() {
			giveUpAfter = max(maxTried, s.nodes.IndexCount()/8)
			part = make([]int, winners)
			for i := range part {
				part[i] = tree.Winner(i)
			}
		} else {
			part[0] = equals.ofTree(tree)
		}
		accepted, failure := s.askAccepted(nil, part)
		if failure != nil || len(accepted) > 0 {
			if failure == nil {
				nodeIndex = equals.ofList(accepted)
			}
			return nodeIndex, failure == nil, failure
		}
		tried = append(tried, part...)
		for _, nodeIndex := range part {
			tree.Set(nodeIndex, verdicts.NoTotal)
		}
	}
	return 0, false, nil
}

// maxTriedSingly is how many nodes are tried one at a time before all that are equally good are tried at once, if these are at most
// maxTiesAtOnce: where the best nodes reject the pod, it often is because of what makes them the best, as that pods of the
// same kind are there.
const (
	maxTriedSingly = 4
	maxTiesAtOnce  = 1024
)

// highestStands reports whether a node that takes the pod has the highest raw score of those that the combined verdicts accept.
// Then the others are scaled to it, whichever of them take the pod.
func (s *cachedSearch) highestStands(scorer *scaledScorer) (bool, *fwk.Status) {
	if scorer.highest == 0 {
		return true, nil
	}
	tried := 0
	for nodeIndex, raw := range scorer.raw {
		if raw != scorer.highest {
			continue
		}
		if accepted, failure := s.askAccepted(nil, []int{nodeIndex}); failure != nil || len(accepted) > 0 {
			return true, failure
		}
		if tried++; tried == maxTried {
			return false, nil
		}
	}
	return false, nil
}

// bestFirst returns about as many nodes that take the pod as the options say, those with the highest known scores, in the
// order of node indexes. Among equals it begins with another one each time, so that none goes unseen forever.
func (s *cachedSearch) bestFirst(scores *scoreCache, others uncachedScorers, options SearchOptions) (found []int, failure *fwk.Status) {
	known, failure := s.knownTotals(scores, others)
	if failure != nil {
		return nil, failure
	}
	bestFirst := &s.cache.bestFirst
	bestFirst.Begin(known, s.cache.turn)
	found = s.cache.remaining[:0]
	for len(found) < options.Limit {
		part := bestFirst.Append(s.cache.indexes[:0], max(options.Limit-len(found), fewAtOnce))
		s.cache.indexes = part
		if len(part) == 0 {
			break
		}
		if found, failure = s.askAccepted(found, part); failure != nil {
			return nil, failure
		}
	}
	slices.Sort(found)
	s.cache.remaining = found
	return found, nil
}
