// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/internal/lru"
	"github.com/rouse-scheduler/rouse/runtime/internal/verdicts"
)

// uncachedScorers are the Score plugins of a cycle that are not asked through the score cache, as indexes in Framework.score.
type uncachedScorers struct {
	scoreAll []int // they are asked about all nodes at once
	unseen   []int // they have keys that were not seen before
	perNode  []int // they are asked about one node after the other
}

// none reports whether all plugins are asked through the score cache.
func (s *uncachedScorers) none() bool { return len(s.scoreAll)+len(s.unseen)+len(s.perNode) == 0 }

// best returns the name of the best of all nodes that take the pod.
func (s *cachedSearch) best(equals chooser) (string, *fwk.Status) {
	scores, others, failure := s.startScores()
	if failure != nil {
		return "", failure
	}
	if !s.filteredFurther && others.none() && !s.cache.plainPreScore {
		return s.nameAt(scores.best(s, equals)), nil
	}
	if !s.filteredFurther {
		nodeIndex, _, failure := s.bestOfGroups(scores, others, equals)
		if failure != nil {
			return "", failure
		}
		if nodeIndex >= 0 {
			return s.nameAt(nodeIndex), nil
		}
	}
	return s.bestOf(scores, others, s.feasibleIndexes(), equals)
}

// bestOf returns the name of the best of some nodes that take the pod.
func (s *cachedSearch) bestOf(scores *scoreCache, others uncachedScorers, nodeIndexes []int, equals chooser) (string, *fwk.Status) {
	totals, failure := s.finishScores(scores, others, nodeIndexes)
	if failure != nil {
		return "", failure
	}
	return s.nameAt(equals.ofTotals(totals, nodeIndexes)), nil
}

// startScores runs PreScore of the plugins that do not depend on which nodes take the pod, and brings the score cache up to date.
func (s *cachedSearch) startScores() (*scoreCache, uncachedScorers, *fwk.Status) {
	if failure := s.runPreScore(false, nil); failure != nil {
		return nil, uncachedScorers{}, failedWith("preparing the scores", failure.Plugin(), failure.AsError())
	}
	var others uncachedScorers
	skipped := s.state.GetSkipScorePlugins()
	for i := range s.f.score {
		switch role := &s.cache.scorers[i]; {
		case len(skipped) > 0 && skipped.Has(s.f.score[i].name):
		case role.all != nil:
			others.scoreAll = append(others.scoreAll, i)
		case role.key == nil:
			others.perNode = append(others.perNode, i)
		}
	}
	scores, failure := s.findScores(&others)
	return scores, others, scoring(failure)
}

// finishScores runs PreScore of the other plugins, and returns the totals of nodes that take the pod.
func (s *cachedSearch) finishScores(scores *scoreCache, others uncachedScorers, nodeIndexes []int) ([]int64, *fwk.Status) {
	if s.cache.plainPreScore {
		if failure := s.runPreScore(true, s.infosOf(nodeIndexes)); failure != nil {
			return nil, failedWith("preparing the scores", failure.Plugin(), failure.AsError())
		}
		skipped := s.state.GetSkipScorePlugins()
		others.perNode = slices.DeleteFunc(others.perNode, func(index int) bool { return skipped.Has(s.f.score[index].name) })
	}
	totals, failure := s.sum(scores, others, nodeIndexes)
	return totals, scoring(failure)
}

// scoring says what failed; nil stays nil.
func scoring(failure *fwk.Status) *fwk.Status {
	if failure == nil {
		return nil
	}
	return failedWith("scoring the nodes", failure.Plugin(), failure.AsError())
}

// runPreScore runs the PreScore plugins that offer nothing beyond the official interfaces, which are shown the nodes that take
// the pod, or the others, which are shown all nodes.
func (s *cachedSearch) runPreScore(plain bool, feasible []fwk.NodeInfo) (status *fwk.Status) {
	calls := s.f.startCalls(s.ctx, MethodPreScore, s.state, s.pod)
	if plain == s.cache.plainPreScore {
		calls = s.f.startExtensionPoint(s.ctx, MethodPreScore, s.state, s.pod)
	}
	defer calls.end(&status)
	nodes := feasible
	if !plain {
		nodes, _ = s.nodes.NodeInfos().List() // a list by node index never fails
	}
	skipped := sets.New[string]()
	if plain {
		skipped = s.state.GetSkipScorePlugins().Union(skipped)
	}
	for i := range s.f.preScore {
		plugin := &s.f.preScore[i]
		role := s.cache.roleOf(s.f, plugin.name)
		if role.plain() != plain {
			continue
		}
		ctx := calls.enter(s.ctx, &plugin.identity)
		var returned *fwk.Status
		if role != nil && role.all != nil {
			returned = role.all.PreScoreAll(ctx, s.state, s.pod, s.nodes)
		} else {
			returned = plugin.plugin.PreScore(ctx, s.state, s.pod, nodes)
		}
		calls.leave(returned)
		if returned.IsSkip() {
			skipped.Insert(plugin.name)
			continue
		}
		plugin.countEvaluation()
		if !returned.IsSuccess() {
			return failed(fmt.Sprintf("running PreScore plugin %q", plugin.name), plugin.name, returned)
		}
	}
	s.state.SetSkipScorePlugins(skipped)
	return nil
}

// roleOf returns what the Score plugin of a name offers, nil if there is none.
func (c *verdictCache) roleOf(f *Framework, plugin string) *scorerRole {
	for i := range f.score {
		if f.score[i].name == plugin {
			return &c.scorers[i]
		}
	}
	return nil
}

// plain reports whether the plugin, which may have no role, offers nothing beyond the official interfaces.
func (r *scorerRole) plain() bool { return r == nil || r.key == nil && r.all == nil }

// infosOf returns nodes by their indexes.
func (s *cachedSearch) infosOf(nodeIndexes []int) []fwk.NodeInfo {
	infos := make([]fwk.NodeInfo, len(nodeIndexes))
	for i, nodeIndex := range nodeIndexes {
		infos[i] = s.nodes.NodeAt(nodeIndex)
	}
	return infos
}

// findScores brings the score cache of this pod up to date. Plugins that have no key for the pod, or one that was never seen
// before, join the others.
func (s *cachedSearch) findScores(others *uncachedScorers) (*scoreCache, *fwk.Status) {
	c := s.cache
	scorersFrom, failure := s.writeScoreKeys(others)
	if failure != nil {
		return nil, failure
	}
	entry := c.store.Get(c.scoresKey)
	if entry == nil {
		others.unseen = s.takeUnseen(scorersFrom)
		entry = c.store.Get(c.scoresKey)
	}
	if entry == nil {
		entry = c.store.Put(c.scoresKey, s.newScoreCache(c.scoresKey[scorersFrom:]))
	}
	scores := entry.Value.(*scoreCache)
	if scores.combined != s.combined { // they were evicted and made again
		scores.combined, scores.position = s.combined, -1
	}
	scores.syncPlugins(&c.store, s.changes())
	if failure := scores.sync(s); failure != nil {
		c.store.Remove(entry)
		return nil, failure
	}
	return scores, nil
}

// writeScoreKeys writes the key of the score cache, and returns where in it the keys of the plugins begin.
func (s *cachedSearch) writeScoreKeys(others *uncachedScorers) (from int, status *fwk.Status) {
	calls := s.f.startCalls(s.ctx, MethodScore, s.state, s.pod)
	defer calls.end(&status)
	c := s.cache
	skipped := s.state.GetSkipScorePlugins()
	// With the length of the key of the combined verdicts, its parts can't be taken for those of the scorers.
	c.scoresKey = binary.AppendUvarint(append(c.scoresKey[:0], keyOfScoreCache), uint64(len(s.combinedKey)))
	c.scoresKey = append(c.scoresKey, s.combinedKey...)
	from = len(c.scoresKey)
	for i := range s.f.score {
		role := &c.scorers[i]
		if role.key == nil || role.all != nil || len(skipped) > 0 && skipped.Has(s.f.score[i].name) {
			continue
		}
		calls.beginCall(&s.f.score[i].identity)
		key, ok := appendKey(c.scoresKey, i, func(key []byte) ([]byte, bool) {
			return role.key.AppendScoreKey(key, s.state, s.pod)
		})
		calls.endCall()
		if c.scoresKey = key; !ok {
			others.perNode = append(others.perNode, i)
		}
	}
	return from, nil
}

// takeUnseen takes the parts that were not seen before out of the key of the score cache, and returns their plugins.
func (s *cachedSearch) takeUnseen(from int) (indexes []int) {
	c := s.cache
	seen := c.scoresKey[:from]
	for at := from; at < len(c.scoresKey); {
		index, part := nextKey(c.scoresKey[at:])
		at += len(part)
		if !c.store.Seen(s.storeKeyOf(keyOfScores, part), s.bytesOfShape()) {
			indexes = append(indexes, index)
			continue
		}
		seen = append(seen, part...) // never overtakes what is read
	}
	c.scoresKey = seen
	return indexes
}

func (s *cachedSearch) newScoreCache(keys []byte) *scoreCache {
	r := &scoreCache{position: -1, treeAt: -1, combined: s.combined}
	for len(keys) > 0 {
		index, part := nextKey(keys)
		keys = keys[len(part):]
		scorer := cachedScorer{index: index, entry: s.pluginScores(part)}
		if scale := s.cache.scorers[index].key.Scale(); scale == framework.ScaleNone {
			r.plain = append(r.plain, scorer)
		} else {
			r.scaled = append(r.scaled, scaledScorer{cachedScorer: scorer, reversed: scale == framework.ScaleToHighestReversed})
		}
	}
	return r
}

// pluginScores finds or makes the cached scores of a plugin, by its part of a key.
func (s *cachedSearch) pluginScores(part []byte) *lru.Entry[cacheable] {
	key := s.storeKeyOf(keyOfScores, part)
	entry := s.cache.store.Get(key)
	if entry == nil {
		entry = s.cache.store.Put(key, nil)
	}
	if entry.Value == nil {
		entry.Value = verdicts.NewPluginScores()
	}
	return entry
}

// askUnknownScores asks a plugin about those of the nodes for which it has no cached score.
func (s *cachedSearch) askUnknownScores(scorer cachedScorer, nodeIndexes []int) *fwk.Status {
	c, known := s.cache, scorer.cached().ByNode
	c.unknown = c.unknown[:0]
	for _, nodeIndex := range nodeIndexes {
		if known[nodeIndex] == verdicts.UnknownScore {
			c.unknown = append(c.unknown, nodeIndex)
		}
	}
	if len(c.unknown) == 0 {
		return nil
	}
	c.scores = sized(c.scores, len(c.unknown))
	asked, answers := c.unknown, c.scores
	if failure := s.askScores(scorer.index, asked, answers); failure != nil {
		return failure
	}
	for i, nodeIndex := range asked {
		known[nodeIndex] = answers[i]
	}
	return nil
}

// askScores asks a plugin with a key for its raw scores.
func (s *cachedSearch) askScores(index int, nodeIndexes []int, scores []int64) *fwk.Status {
	plugin, batch := &s.f.score[index], s.cache.scorers[index].batch
	return s.each(&plugin.identity, MethodScore, nodeIndexes, func(ctx context.Context, from, to int) *fwk.Status {
		if batch != nil {
			plugin.countEvaluation()
			return batch.ScoreBatch(ctx, s.state, s.pod, s.nodes, nodeIndexes[from:to], scores[from:to])
		}
		return s.scoreNodes(ctx, plugin, nodeIndexes[from:to], scores[from:to])
	})
}

// scoreNodes asks a plugin about one node after the other.
func (s *cachedSearch) scoreNodes(ctx context.Context, plugin *member[fwk.ScorePlugin], nodeIndexes []int, scores []int64) *fwk.Status {
	for i, nodeIndex := range nodeIndexes {
		plugin.countEvaluation()
		score, status := plugin.plugin.Score(ctx, s.state, s.pod, s.nodes.NodeAt(nodeIndex))
		if !status.IsSuccess() {
			return status
		}
		scores[i] = score
	}
	return nil
}

// sum returns the totals of the given nodes, all those that take the pod, in working space.
func (s *cachedSearch) sum(r *scoreCache, others uncachedScorers, nodeIndexes []int) (_ []int64, status *fwk.Status) {
	calls := s.f.startExtensionPoint(s.ctx, MethodScore, s.state, s.pod)
	defer calls.end(&status)
	totals, failure := s.sumWithKeys(r, others.unseen, nodeIndexes)
	if failure != nil {
		return nil, failure
	}
	scores := s.cache.scores
	for _, index := range others.scoreAll {
		plugin := &s.f.score[index]
		calls.enter(s.ctx, &plugin.identity)
		plugin.countEvaluation()
		returned := s.cache.scorers[index].all.ScoreAll(s.ctx, s.state, s.pod, s.nodes, nodeIndexes, scores)
		calls.leave(returned)
		if !returned.IsSuccess() {
			return nil, failed(fmt.Sprintf("plugin %q failed with", plugin.name), plugin.name, returned)
		}
		if failure := s.addScores(index, totals, scores); failure != nil {
			return nil, failure
		}
	}
	for _, index := range others.perNode {
		if failure := s.scorePerNode(index, nodeIndexes, scores); failure != nil {
			return nil, failure
		}
		if failure := s.addScores(index, totals, scores); failure != nil {
			return nil, failure
		}
	}
	return totals, nil
}

// sumWithKeys is sum for the plugins with keys. It leaves working space for as many scores.
func (s *cachedSearch) sumWithKeys(r *scoreCache, unseen, nodeIndexes []int) ([]int64, *fwk.Status) {
	s.cache.sums = sized(s.cache.sums, len(nodeIndexes))
	totals := s.cache.sums
	for i, nodeIndex := range nodeIndexes {
		totals[i] = r.base[nodeIndex]
	}
	for i := range r.scaled {
		r.scaled[i].addTo(totals, nodeIndexes, s.f.score[r.scaled[i].index].weight)
	}
	s.cache.scores = sized(s.cache.scores, len(nodeIndexes))
	scores := s.cache.scores
	for _, index := range unseen {
		if failure := s.askScores(index, nodeIndexes, scores); failure != nil {
			return nil, failure
		}
		scaleAll(scores, s.cache.scorers[index].key.Scale())
		if failure := s.addScores(index, totals, scores); failure != nil {
			return nil, failure
		}
	}
	return totals, nil
}

// scorePerNode asks a plugin that offers nothing beyond the official interfaces, and lets it normalise.
func (s *cachedSearch) scorePerNode(index int, nodeIndexes []int, scores []int64) *fwk.Status {
	plugin := &s.f.score[index]
	failure := s.each(&plugin.identity, MethodScore, nodeIndexes, func(ctx context.Context, from, to int) *fwk.Status {
		return s.scoreNodes(ctx, plugin, nodeIndexes[from:to], scores[from:to])
	})
	if failure != nil || !s.normalizes(plugin) {
		return failure
	}
	list := make(fwk.NodeScoreList, len(nodeIndexes))
	for i, nodeIndex := range nodeIndexes {
		list[i] = fwk.NodeScore{Name: s.nameAt(nodeIndex), Score: scores[i]}
	}
	if failure := s.f.normalize(s.ctx, s.state, s.pod, plugin, list); failure != nil {
		return failure
	}
	for i := range list {
		scores[i] = list[i].Score
	}
	return nil
}

// normalizes reports whether a plugin wants to see all its scores. One that fails to say so fails when it is asked to.
func (s *cachedSearch) normalizes(plugin *member[fwk.ScorePlugin]) (wants bool) {
	var failure *fwk.Status
	calls := s.f.startCalls(s.ctx, MethodNormalizeScore, s.state, s.pod)
	defer calls.end(&failure)
	wants = true
	calls.beginCall(&plugin.identity)
	wants = plugin.plugin.ScoreExtensions() != nil
	calls.endCall()
	return wants
}

// addScores adds the final scores of a plugin to totals.
func (s *cachedSearch) addScores(index int, totals, scores []int64) *fwk.Status {
	weight := s.f.score[index].weight
	totals = totals[:len(scores)]
	for i, score := range scores {
		if uint64(score-fwk.MinScore) > uint64(fwk.MaxScore-fwk.MinScore) {
			return s.invalidScore(index, score)
		}
		totals[i] += score * weight
	}
	return nil
}

func (s *cachedSearch) invalidScore(index int, score int64) *fwk.Status {
	name := s.f.score[index].name
	return failedWith("applying score defaultWeights on Score plugins", name, fmt.Errorf(
		"plugin %q returns an invalid score %v, it should in the range of [%v, %v] after normalizing",
		name, score, fwk.MinScore, fwk.MaxScore))
}
