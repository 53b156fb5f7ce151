// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/internal/lru"
	"github.com/rouse-scheduler/rouse/runtime/internal/verdicts"
)

// filter finds the nodes that take the pod. The plugins up to the first one without a key are asked through the combined verdicts;
// those after it one by one, about the nodes that are left.
func (s *cachedSearch) filter() (status *fwk.Status) {
	calls := s.f.startExtensionPoint(s.ctx, MethodFilter, s.state, s.pod)
	defer calls.end(&status)
	rest, failure := s.findCombined(&calls)
	if failure != nil {
		return failure
	}
	nominated := s.nominatedNodes()
	if len(rest) == 0 && len(nominated) == 0 {
		return nil
	}
	s.filteredFurther = true
	s.cache.indexes = s.combined.acceptedNodes(s.cache.indexes[:0], s.allNodes())
	s.remaining = s.cache.indexes
	s.cache.verdicts = append(s.cache.verdicts[:0], s.combined.verdicts...)
	s.verdicts = s.cache.verdicts
	s.exclude(nominated)
	for _, index := range rest {
		if failure := s.filterFurther(&calls, index); failure != nil {
			return failure
		}
	}
	return s.filterNominated(nominated, len(rest) == 0)
}

// findCombined brings the combined verdicts for this pod up to date, and returns the indexes of the plugins that are not part
// of them.
func (s *cachedSearch) findCombined(calls *pluginCalls) (rest []int, failure *fwk.Status) {
	c := s.cache
	c.combinedKey, rest = s.f.appendFilterKeys(calls, append(c.combinedKey[:0], keyOfCombinedVerdicts), s.state, s.pod)
	entry := c.store.Get(c.combinedKey)
	if entry == nil {
		if unseen := s.cutUnseen(); len(unseen) > 0 {
			rest = append(unseen, rest...)
			entry = c.store.Get(c.combinedKey)
		}
	}
	if entry == nil {
		var filters []combinedFilter
		for key := c.combinedKey[1:]; len(key) > 0; {
			index, part := nextKey(key)
			filters = append(filters, combinedFilter{index: index, entry: s.pluginVerdicts(part)})
			key = key[len(part):]
		}
		entry = c.store.Put(c.combinedKey, &combinedVerdicts{position: -1, filters: filters})
	}
	s.combined, s.combinedKey = entry.Value.(*combinedVerdicts), c.combinedKey
	for i := range s.combined.filters {
		c.store.Touch(s.combined.filters[i].entry)
	}
	if failure := s.combined.sync(s); failure != nil {
		c.store.Remove(entry)
		return nil, failure
	}
	return rest, nil
}

// cutUnseen ends the key of the combined verdicts before the first part that was not seen before, because it may never come
// again, and returns the plugins that are then no part of them.
func (s *cachedSearch) cutUnseen() (indexes []int) {
	c := s.cache
	keys := c.combinedKey
	for at := 1; at < len(keys); {
		index, part := nextKey(keys[at:])
		seen := c.store.Seen(s.storeKeyOf(keyOfVerdicts, part))
		if len(indexes) == 0 && !seen {
			c.combinedKey = keys[:at]
		}
		if len(indexes) > 0 || !seen {
			indexes = append(indexes, index)
		}
		at += len(part)
	}
	return indexes
}

// storeKeyOf returns the key in the store for the verdicts or scores of one plugin, in working space.
func (s *cachedSearch) storeKeyOf(kind byte, part []byte) []byte {
	s.cache.storeKey = append(append(s.cache.storeKey[:0], kind), part...)
	return s.cache.storeKey
}

// keyHeader is how many bytes stand before what a plugin says itself: its index and the length of what follows.
const keyHeader = 2 * 4

// appendKey appends the key of one plugin: its index, the length of what follows, and what it says itself.
func appendKey(key []byte, index int, appendOwn func([]byte) ([]byte, bool)) ([]byte, bool) {
	start := len(key)
	key = binary.LittleEndian.AppendUint32(key, uint32(index))
	key = append(key, 0, 0, 0, 0)
	key, ok := appendOwn(key)
	if !ok {
		return key[:start], false
	}
	binary.LittleEndian.PutUint32(key[start+4:], uint32(len(key)-start-keyHeader))
	return key, true
}

// nextKey returns the first of a series of keys, and the index of its plugin.
func nextKey(keys []byte) (index int, key []byte) {
	return int(binary.LittleEndian.Uint32(keys)), keys[:keyHeader+binary.LittleEndian.Uint32(keys[4:])]
}

// pluginVerdicts finds or makes the cached verdicts of a plugin, by its part of a key.
func (s *cachedSearch) pluginVerdicts(part []byte) *lru.Entry[cacheable] {
	key := s.storeKeyOf(keyOfVerdicts, part)
	entry := s.cache.store.Get(key)
	if entry == nil {
		entry = s.cache.store.Put(key, nil)
	}
	if entry.Value == nil {
		entry.Value = verdicts.NewPluginVerdicts()
	}
	return entry
}

// filterFurther asks a plugin that is not part of the combined verdicts about the nodes that are left.
func (s *cachedSearch) filterFurther(calls *pluginCalls, index int) *fwk.Status {
	c := s.cache
	if c.filters[index].key != nil {
		key, ok := s.f.appendFilterKey(calls, c.pluginKey[:0], index, s.state, s.pod)
		c.pluginKey = key
		if ok && c.store.Seen(s.storeKeyOf(keyOfVerdicts, key)) {
			cached := s.pluginVerdicts(key).Value.(*verdicts.PluginVerdicts)
			cached.Sync(s.changes())
			if failure := s.askUnknown(index, cached, s.remaining); failure != nil {
				return failure
			}
			s.remaining = slices.DeleteFunc(s.remaining, func(nodeIndex int) bool {
				s.verdicts[nodeIndex] = cached.ByNode[nodeIndex]
				return cached.ByNode[nodeIndex] != verdicts.Accepted
			})
			return nil
		}
	}
	answers, failure := s.askFilter(index, s.remaining)
	if failure != nil {
		return failure
	}
	kept := s.remaining[:0]
	for i, nodeIndex := range s.remaining {
		if answers[i] == nil {
			kept = append(kept, nodeIndex)
			continue
		}
		v, failure := s.verdictOf(index, answers[i])
		if failure != nil {
			return failure
		}
		if v == verdicts.Accepted {
			kept = append(kept, nodeIndex)
		} else {
			s.verdicts[nodeIndex] = v
		}
	}
	s.remaining = kept
	return nil
}

// askUnknown asks a plugin about those of the nodes on which it has no cached verdict.
func (s *cachedSearch) askUnknown(index int, cached *verdicts.PluginVerdicts, nodeIndexes []int) *fwk.Status {
	c := s.cache
	c.unknown = c.unknown[:0]
	for _, nodeIndex := range nodeIndexes {
		if cached.ByNode[nodeIndex] == verdicts.Unknown {
			c.unknown = append(c.unknown, nodeIndex)
		}
	}
	if len(c.unknown) == 0 {
		return nil
	}
	answers, failure := s.askFilter(index, c.unknown)
	if failure != nil {
		return failure
	}
	for i, nodeIndex := range c.unknown {
		if answers[i] == nil {
			cached.ByNode[nodeIndex] = verdicts.Accepted
			continue
		}
		if cached.ByNode[nodeIndex], failure = s.verdictOf(index, answers[i]); failure != nil {
			return failure
		}
	}
	return nil
}

// verdictOf is the verdict that a status stands for; it is a failure if the status is neither success nor a rejection.
func (s *cachedSearch) verdictOf(index int, status *fwk.Status) (verdicts.Verdict, *fwk.Status) {
	name := s.f.filter[index].name
	switch {
	case status.IsSuccess():
		return verdicts.Accepted, nil
	case status.IsRejected():
		return s.cache.rejections.Number(status, name), nil
	default:
		return verdicts.Unknown, failed(fmt.Sprintf("running %q filter plugin", name), name, status)
	}
}

// askFilter asks a plugin about nodes, in parallel if they are many. The answers are good until the next call.
func (s *cachedSearch) askFilter(index int, nodeIndexes []int) ([]*fwk.Status, *fwk.Status) {
	c := s.cache
	c.answers = sized(c.answers, len(nodeIndexes))
	answers := c.answers
	clear(answers)
	plugin, batch := &s.f.filter[index], c.filters[index].batch
	failure := s.each(&plugin.identity, MethodFilter, len(nodeIndexes), func(ctx context.Context, from, to int) *fwk.Status {
		if batch != nil {
			plugin.countEvaluation()
			return batch.FilterBatch(ctx, s.state, s.pod, s.nodes, nodeIndexes[from:to], answers[from:to])
		}
		for i := from; i < to; i++ {
			plugin.countEvaluation()
			answers[i] = plugin.plugin.Filter(ctx, s.state, s.pod, s.nodes.NodeAt(nodeIndexes[i]))
		}
		return nil
	})
	return answers, failure
}
