// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"slices"

	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/internal/lru"
	"github.com/rouse-scheduler/rouse/runtime/internal/verdicts"
)

// combinedVerdicts is what a series of Filter plugins said together about every node: the first rejection, or that all accept. It
// is made of the cached verdicts of these plugins, and shared by all pods with the same keys.
type combinedVerdicts struct {
	position int // in the change log
	filters  []combinedFilter
	verdicts []verdicts.Verdict
	accepted int // how many of the verdicts are
}

type combinedFilter struct {
	index int // in Framework.filter
	entry *lru.Entry[cacheable]
}

// cached returns the plugin's own cached verdicts.
func (f *combinedFilter) cached() *verdicts.PluginVerdicts {
	return f.entry.Value.(*verdicts.PluginVerdicts)
}

// Bytes is the size of what is kept, for the budget of the cache.
func (c *combinedVerdicts) Bytes() int { return 4 * cap(c.verdicts) }

// sync brings the verdicts up to date: plugins are asked about the nodes that changed, and only about those that no earlier
// plugin rejects. After a failure the verdicts must not be used any more.
func (c *combinedVerdicts) sync(s *cachedSearch) *fwk.Status {
	for i := range c.filters {
		c.filters[i].cached().Sync(s.changes())
	}
	nodeIndexes, ok := s.changedSince(c.position)
	if !ok {
		clear(c.verdicts)
		c.accepted = 0
	}
	c.verdicts = verdicts.Extend(c.verdicts, s.nodes.IndexCount(), verdicts.Unknown)
	c.position = s.changes().End()
	return c.combine(s, nodeIndexes)
}

// combine finds the verdicts on the given nodes, which are distinct.
func (c *combinedVerdicts) combine(s *cachedSearch, nodeIndexes []int) *fwk.Status {
	remaining := make([]int, 0, len(nodeIndexes))
	for _, nodeIndex := range nodeIndexes {
		if c.verdicts[nodeIndex] == verdicts.Accepted {
			c.accepted--
		}
		if s.nodes.NodeAt(nodeIndex) == nil {
			c.verdicts[nodeIndex] = verdicts.NoNode
			continue
		}
		remaining = append(remaining, nodeIndex)
	}
	for i := range c.filters {
		filter, cached := &c.filters[i], c.filters[i].cached()
		if failure := s.askUnknown(filter.index, cached, remaining); failure != nil {
			return failure
		}
		remaining = slices.DeleteFunc(remaining, func(nodeIndex int) bool {
			v := cached.ByNode[nodeIndex]
			c.verdicts[nodeIndex] = v
			return v != verdicts.Accepted
		})
	}
	for _, nodeIndex := range remaining {
		c.verdicts[nodeIndex] = verdicts.Accepted
	}
	c.accepted += len(remaining)
	return nil
}

// acceptedNodes appends the indexes of the nodes that all plugins accept. All has all node indexes in their order.
func (c *combinedVerdicts) acceptedNodes(nodeIndexes, all []int) []int {
	if c.accepted == len(c.verdicts) {
		return append(nodeIndexes, all...)
	}
	for nodeIndex, v := range c.verdicts {
		if v == verdicts.Accepted {
			nodeIndexes = append(nodeIndexes, nodeIndex)
		}
	}
	return nodeIndexes
}
