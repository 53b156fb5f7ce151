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

// filter brings the combined verdicts for this pod up to date, and finds out what they leave to be asked: the plugins that are
// not part of them, and the nodes on which other pods are nominated to run.
//
// Plugins that are part of the combined verdicts are asked about nodes that others would reject before them: plugins that are
// not part of them, or any plugin because of nominated pods. If one fails, that may be on such a node, so all plugins are asked
// again, in their order.
func (s *cachedSearch) filter() (status *fwk.Status) {
	calls := s.f.startExtensionPoint(s.ctx, MethodFilter, s.state, s.pod)
	defer calls.end(&status)
	c := s.cache
	s.askChangedNodes(&calls)
	c.combinedKey, s.rest = s.f.appendFilterKeys(&calls, append(c.combinedKey[:0], keyOfCombinedVerdicts), s.state, s.pod)
	s.hasKeyless = len(s.rest) > 0
	s.nominated = s.nominatedNodes()
	failure := s.combine()
	if failure != nil && len(s.rest)+len(s.nominated) > 0 && context.Cause(s.ctx) == nil {
		c.combinedKey, s.rest, s.failed = c.combinedKey[:1], s.f.activeFilters(s.state), true
		failure = s.combine()
	}
	if failure != nil {
		return failure
	}
	c.asked = verdicts.Extend(c.asked, s.nodes.IndexCount(), verdicts.Unknown)
	return s.filterNominated()
}

// combine brings the combined verdicts of the plugins in the key up to date, except for those that it moves to the rest.
func (s *cachedSearch) combine() *fwk.Status {
	c := s.cache
	entry := c.store.Get(c.combinedKey)
	if entry == nil && s.takeUnseenFilters() {
		entry = c.store.Get(c.combinedKey)
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
	failure := s.combined.sync(s)
	if failure != nil {
		c.store.Remove(entry)
	}
	return failure
}

// askChangedNodes asks the plugins that know of more changes than the snapshot.
func (s *cachedSearch) askChangedNodes(calls *pluginCalls) {
	c, skipped := s.cache, s.state.GetSkipFilterPlugins()
	for i := range c.filters {
		if c.filters[i].changed == nil || len(skipped) > 0 && skipped.Has(s.f.filter[i].name) {
			continue
		}
		calls.beginCall(&s.f.filter[i].identity)
		s.askingForChanges = true
		c.changed = c.filters[i].changed.AppendChangedNodes(c.changed[:0], s.nodes)
		s.askingForChanges = false
		calls.endCall()
		c.changes.Add(c.changed)
		s.snapshotOnly = true
	}
}

// takeUnseenFilters takes the parts that were not seen before out of the key of the combined verdicts, because they may never
// come again: their plugins are asked themselves. It reports whether there are any.
func (s *cachedSearch) takeUnseenFilters() bool {
	c := s.cache
	seen, before := c.combinedKey[:1], len(s.rest)
	for at := 1; at < len(c.combinedKey); {
		index, part := nextKey(c.combinedKey[at:])
		at += len(part)
		if c.store.Seen(s.storeKeyOf(keyOfVerdicts, part), s.bytesOfShape()) {
			seen = append(seen, part...) // never overtakes what is read
		} else {
			s.rest = append(s.rest, index)
		}
	}
	c.combinedKey = seen
	slices.Sort(s.rest)
	return len(s.rest) > before
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
	var last *fwk.Status // plugins share statuses between nodes
	v := verdicts.Accepted
	for i, nodeIndex := range c.unknown {
		if answers[i] != last {
			if v, failure = s.verdictOf(index, answers[i]); failure != nil {
				return failure
			}
			last = answers[i]
		}
		cached.ByNode[nodeIndex] = v
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
	failure := s.each(&plugin.identity, MethodFilter, nodeIndexes, func(ctx context.Context, from, to int) *fwk.Status {
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
