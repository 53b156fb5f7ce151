// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"slices"

	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/runtime/internal/verdicts"
)

// setAsked records what came of asking the plugins about a node in this search. The verdict is as [cachedSearch.accepts] has it.
func (c *verdictCache) setAsked(nodeIndex int, v verdicts.Verdict) {
	if c.asked[nodeIndex] == verdicts.Unknown {
		c.askedNodes = append(c.askedNodes, nodeIndex)
	}
	c.asked[nodeIndex] = v
}

// forgetAsked makes room for the next search.
func (c *verdictCache) forgetAsked() {
	for _, nodeIndex := range c.askedNodes {
		c.asked[nodeIndex] = verdicts.Unknown
	}
	c.askedNodes = c.askedNodes[:0]
}

// askRest asks the plugins that are not part of the combined verdicts, in their order, about those of the nodes about which they
// were not asked yet. All of the nodes must be accepted by the combined verdicts.
func (s *cachedSearch) askRest(nodeIndexes []int) *fwk.Status {
	c := s.cache
	if len(s.rest) == 0 {
		return nil
	}
	c.unasked = c.unasked[:0]
	for _, nodeIndex := range nodeIndexes {
		if c.asked[nodeIndex] == verdicts.Unknown {
			c.unasked = append(c.unasked, nodeIndex)
		}
	}
	remaining, failure := s.askInOrder(s.rest, c.unasked)
	for _, nodeIndex := range remaining {
		c.setAsked(nodeIndex, verdicts.Accepted)
	}
	return failure
}

// askInOrder asks some of the plugins that are not part of the combined verdicts about nodes, each about those that the ones before
// it accept, and returns the nodes that all accept, in place. It records the rejections.
func (s *cachedSearch) askInOrder(plugins, remaining []int) ([]int, *fwk.Status) {
	for _, index := range plugins {
		if len(remaining) == 0 {
			break
		}
		answers, failure := s.askFilter(index, remaining)
		if failure != nil {
			return nil, failure
		}
		kept, from := remaining[:0], 0
		var last *fwk.Status // plugins share statuses between nodes
		v := verdicts.Accepted
		for i, answer := range answers {
			if answer == nil {
				continue
			}
			if answer != last {
				if v, failure = s.verdictOf(index, answer); failure != nil {
					return nil, failure
				}
				last = answer
			}
			if v != verdicts.Accepted {
				s.cache.setAsked(remaining[i], v)
				kept = append(kept, remaining[from:i]...)
				from = i + 1
			}
		}
		kept = append(kept, remaining[from:]...)
		remaining = kept
	}
	return remaining, nil
}

// accepts reports whether all plugins accept a node that the combined verdicts accept, and about which
// [cachedSearch.askRest] was called.
func (s *cachedSearch) accepts(nodeIndex int) bool {
	switch s.cache.asked[nodeIndex] {
	case verdicts.Accepted:
		return true
	case verdicts.Unknown:
		return len(s.rest) == 0
	}
	return false
}

// askAccepted appends to found those of the nodes that all plugins accept, of nodes that the combined verdicts accept.
func (s *cachedSearch) askAccepted(found, nodeIndexes []int) ([]int, *fwk.Status) {
	if failure := s.askRest(nodeIndexes); failure != nil {
		return nil, failure
	}
	for _, nodeIndex := range nodeIndexes {
		if s.accepts(nodeIndex) {
			found = append(found, nodeIndex)
		}
	}
	return found, nil
}

// onlyCombined reports whether the combined verdicts are the final ones.
func (s *cachedSearch) onlyCombined() bool {
	return len(s.askedFirst)+len(s.rest)+len(s.nominated) == 0
}

// askAll asks about all nodes. After it, feasibleIndexes has all that take the pod.
func (s *cachedSearch) askAll() *fwk.Status {
	c := s.cache
	if s.onlyCombined() {
		return nil
	}
	c.indexes = s.combined.acceptedNodes(c.indexes[:0], s.allNodes())
	var failure *fwk.Status
	if len(c.askedNodes) == 0 {
		c.remaining, failure = s.askInOrder(s.rest, append(c.remaining[:0], c.indexes...))
	} else {
		c.remaining, failure = s.askAccepted(c.remaining[:0], c.indexes)
	}
	s.remaining, s.filteredFurther = c.remaining, true
	return failure
}

// explain finds out why nodes don't take the pod, after askAll: for each the first plugin that rejects it, with nominated
// pods on the node if there are any.
func (s *cachedSearch) explain() *fwk.Status {
	c := s.cache
	if s.onlyCombined() {
		s.verdicts = s.combined.verdicts
		return nil
	}
	c.verdicts = append(c.verdicts[:0], s.combined.verdicts...)
	s.verdicts = c.verdicts
	for _, nodeIndex := range c.askedNodes {
		s.verdicts[nodeIndex] = c.asked[nodeIndex]
	}
	for _, index := range slices.Concat(s.askedFirst, s.rest) {
		if failure := s.explainBy(index); failure != nil {
			return failure
		}
	}
	return nil
}

// explainBy asks a plugin that is not part of the combined verdicts about the nodes that a plugin after it rejects there.
func (s *cachedSearch) explainBy(index int) *fwk.Status {
	c := s.cache
	var later []int
	for nodeIndex, v := range s.verdicts {
		if v >= verdicts.FirstRejection && c.asked[nodeIndex] == verdicts.Unknown && c.rejector(s.f, v) > index {
			later = append(later, nodeIndex)
		}
	}
	if len(later) == 0 {
		return nil
	}
	answers, failure := s.askFilter(index, later)
	if failure != nil {
		return failure
	}
	for i, nodeIndex := range later {
		if answers[i] == nil {
			continue
		}
		v, failure := s.verdictOf(index, answers[i])
		if failure != nil {
			return failure
		}
		if v != verdicts.Accepted {
			c.setAsked(nodeIndex, v)
			s.verdicts[nodeIndex] = v
		}
	}
	return nil
}

// rejector returns the index of the Filter plugin whose rejection it is.
func (c *verdictCache) rejector(f *Framework, v verdicts.Verdict) int {
	for i := len(c.rejectors); i < len(c.rejections.Statuses); i++ {
		index := 0
		for index < len(f.filter)-1 && f.filter[index].name != c.rejections.Statuses[i].Plugin() {
			index++
		}
		c.rejectors = append(c.rejectors, index)
	}
	return c.rejectors[v-verdicts.FirstRejection]
}
