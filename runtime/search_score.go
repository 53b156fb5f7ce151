// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"encoding/binary"
	"fmt"

	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// scorers are the Score plugins of a cycle by how they are asked: through the ranking, about all nodes at once, or one
// node after the other. They are indexes in Framework.score.
type scorers struct {
	all      []int
	once     []int // they have keys that were not met before
	oneByOne []int
}

// none tells whether all plugins are asked through the ranking.
func (s *scorers) none() bool { return len(s.all)+len(s.once)+len(s.oneByOne) == 0 }

// best returns the slot of the best node; pick decides between several.
func (s *search) best(pick func(count int) int) (int, *fwk.Status) {
	ranking, others, failure := s.rank()
	if failure != nil {
		return 0, failure
	}
	if !s.narrowed && others.none() {
		return ranking.best(s, pick), nil
	}
	slots := s.feasibleSlots()
	totals, failure := s.sum(ranking, others, slots)
	if failure != nil {
		return 0, scoring(failure)
	}
	best, ties := winnersOf(totals)
	return slots[winnerOf(totals, best, pickOne(pick, ties))], nil
}

func pickOne(pick func(count int) int, count int) int {
	if count == 1 {
		return 0
	}
	return pick(count)
}

// totals returns the total scores of the given nodes, which are all that take the pod.
func (s *search) totals(slots []int) ([]int64, *fwk.Status) {
	ranking, others, failure := s.rank()
	if failure != nil {
		return nil, failure
	}
	totals, failure := s.sum(ranking, others, slots)
	return totals, scoring(failure)
}

// rank prepares the scores, and brings the ranking up to date.
func (s *search) rank() (*ranking, scorers, *fwk.Status) {
	others, failure := s.prepareScores()
	if failure != nil {
		return nil, others, failedWith("preparing the scores", failure.Plugin(), failure.AsError())
	}
	ranking, failure := s.findRanking(&others)
	return ranking, others, scoring(failure)
}

// scoring says what failed; nil stays nil.
func scoring(failure *fwk.Status) *fwk.Status {
	if failure == nil {
		return nil
	}
	return failedWith("scoring the nodes", failure.Plugin(), failure.AsError())
}

// prepareScores runs PreScore, and finds the plugins that are not asked through the ranking because they are no
// [framework.ScoreKeyPlugin].
func (s *search) prepareScores() (others scorers, status *fwk.Status) {
	pass := s.f.startPoint(s.ctx, MethodPreScore, s.state, s.pod)
	defer pass.end(&status)
	all, _ := s.nodes.NodeInfos().List() // a list of slots never fails
	var feasible []fwk.NodeInfo
	skipped := sets.New[string]()
	for i := range s.f.preScore {
		plugin := &s.f.preScore[i]
		ctx := pass.enter(s.ctx, &plugin.identity)
		var returned *fwk.Status
		switch role := s.roleOf(plugin.name); {
		case role != nil && role.all != nil:
			returned = role.all.PreScoreAll(ctx, s.state, s.pod, s.nodes)
		case role != nil && role.key != nil:
			returned = plugin.plugin.PreScore(ctx, s.state, s.pod, all)
		default:
			if feasible == nil {
				feasible = s.feasibleNodes()
			}
			returned = plugin.plugin.PreScore(ctx, s.state, s.pod, feasible)
		}
		pass.leave(returned)
		if returned.IsSkip() {
			skipped.Insert(plugin.name)
			continue
		}
		plugin.countEvaluation()
		if !returned.IsSuccess() {
			return others, failed(fmt.Sprintf("running PreScore plugin %q", plugin.name), plugin.name, returned)
		}
	}
	s.state.SetSkipScorePlugins(skipped)
	for i := range s.f.score {
		switch role := &s.columns.scorers[i]; {
		case len(skipped) > 0 && skipped.Has(s.f.score[i].name):
		case role.all != nil:
			others.all = append(others.all, i)
		case role.key == nil:
			others.oneByOne = append(others.oneByOne, i)
		}
	}
	return others, nil
}

// roleOf returns what the Score plugin of a name offers, nil if there is none.
func (s *search) roleOf(plugin string) *scorerRole {
	for i := range s.f.score {
		if s.f.score[i].name == plugin {
			return &s.columns.scorers[i]
		}
	}
	return nil
}

// feasibleNodes returns the nodes that take the pod in the order of the snapshot.
func (s *search) feasibleNodes() []fwk.NodeInfo {
	verdicts := s.board.verdicts
	if s.narrowed {
		verdicts = s.verdicts
	}
	nodes := make([]fwk.NodeInfo, 0, s.feasible())
	for _, slot := range s.nodes.ListOrder() {
		if verdicts[slot] == accepted {
			nodes = append(nodes, s.nodes.NodeAt(slot))
		}
	}
	return nodes
}

// findRanking brings the ranking of this pod up to date. Plugins that have no key for the pod, or one that was never met
// before, join the others.
func (s *search) findRanking(others *scorers) (*ranking, *fwk.Status) {
	c := s.columns
	scorersFrom, failure := s.writeScoreKeys(others)
	if failure != nil {
		return nil, failure
	}
	entry := c.store.find(c.rankingKey)
	if entry == nil {
		others.once = s.takeUnmet(scorersFrom)
		entry = c.store.find(c.rankingKey)
	}
	if entry == nil {
		entry = c.store.put(c.rankingKey, s.newRanking(c.rankingKey[scorersFrom:]))
	}
	ranking := entry.value.(*ranking)
	if ranking.board != s.board { // the board was dropped and made anew
		ranking.board, ranking.position = s.board, -1
	}
	ranking.syncColumns(&c.store, s.log())
	if failure := ranking.sync(s); failure != nil {
		c.store.drop(entry)
		return nil, failure
	}
	return ranking, nil
}

// writeScoreKeys writes the key of the ranking, and returns where in it the keys of the plugins begin.
func (s *search) writeScoreKeys(others *scorers) (from int, status *fwk.Status) {
	pass := s.f.startPass(s.ctx, MethodScore, s.state, s.pod)
	defer pass.end(&status)
	c := s.columns
	skipped := s.state.GetSkipScorePlugins()
	// With the length of the board's key, its parts can't be taken for those of the scorers.
	c.rankingKey = binary.AppendUvarint(append(c.rankingKey[:0], 'r'), uint64(len(s.boardKey)))
	c.rankingKey = append(c.rankingKey, s.boardKey...)
	from = len(c.rankingKey)
	for i := range s.f.score {
		role := &c.scorers[i]
		if role.key == nil || role.all != nil || len(skipped) > 0 && skipped.Has(s.f.score[i].name) {
			continue
		}
		pass.consult(&s.f.score[i].identity)
		key, ok := appendKey(c.rankingKey, i, func(key []byte) ([]byte, bool) {
			return role.key.AppendScoreKey(key, s.state, s.pod)
		})
		pass.consulted()
		if c.rankingKey = key; !ok {
			others.oneByOne = append(others.oneByOne, i)
		}
	}
	return from, nil
}

// takeUnmet takes the parts that never came before out of the key of the ranking, and returns their plugins.
func (s *search) takeUnmet(from int) (indexes []int) {
	c := s.columns
	met := c.rankingKey[:from]
	for at := from; at < len(c.rankingKey); {
		index, part := nextKey(c.rankingKey[at:])
		at += len(part)
		if !c.store.meet(s.columnKeyOf('s', part)) {
			indexes = append(indexes, index)
			continue
		}
		met = append(met, part...) // never overtakes what is read
	}
	c.rankingKey = met
	return indexes
}

func (s *search) newRanking(keys []byte) *ranking {
	r := &ranking{position: -1, treeAt: -1, board: s.board}
	for len(keys) > 0 {
		index, part := nextKey(keys)
		keys = keys[len(part):]
		scorer := rankedScorer{index: index, entry: s.scoreColumn(part)}
		if scale := s.columns.scorers[index].key.Scale(); scale == framework.ScaleNone {
			r.plain = append(r.plain, scorer)
		} else {
			r.scaled = append(r.scaled, scaledScorer{rankedScorer: scorer, reversed: scale == framework.ScaleToHighestReversed})
		}
	}
	return r
}

// scoreColumn finds or makes the column of a plugin, by its part of a key.
func (s *search) scoreColumn(part []byte) *keptEntry {
	key := s.columnKeyOf('s', part)
	entry := s.columns.store.find(key)
	if entry == nil {
		entry = s.columns.store.put(key, nil)
	}
	if entry.value == nil {
		entry.value = &scoreColumn{position: -1}
	}
	return entry
}

// fillScoreColumn asks a plugin about those of the nodes that its column does not know.
func (s *search) fillScoreColumn(scorer rankedScorer, slots []int) *fwk.Status {
	c, known := s.columns, scorer.column().scores
	c.unknown = c.unknown[:0]
	for _, slot := range slots {
		if known[slot] == unknownScore {
			c.unknown = append(c.unknown, slot)
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
	for i, slot := range asked {
		known[slot] = answers[i]
	}
	return nil
}

// askScores asks a plugin with a key for its raw scores.
func (s *search) askScores(index int, slots []int, scores []int64) *fwk.Status {
	plugin, many := &s.f.score[index], s.columns.scorers[index].slots
	return s.each(&plugin.identity, MethodScore, len(slots), func(ctx context.Context, from, to int) *fwk.Status {
		if many != nil {
			plugin.countEvaluation()
			return many.ScoreBatch(ctx, s.state, s.pod, s.nodes, slots[from:to], scores[from:to])
		}
		return s.scoreNodes(ctx, plugin, slots[from:to], scores[from:to])
	})
}

// scoreNodes asks a plugin about one node after the other.
func (s *search) scoreNodes(ctx context.Context, plugin *member[fwk.ScorePlugin], slots []int, scores []int64) *fwk.Status {
	for i, slot := range slots {
		plugin.countEvaluation()
		score, status := plugin.plugin.Score(ctx, s.state, s.pod, s.nodes.NodeAt(slot))
		if !status.IsSuccess() {
			return status
		}
		scores[i] = score
	}
	return nil
}

// sum returns the totals of the given nodes, all those that take the pod, in working space.
func (s *search) sum(r *ranking, others scorers, slots []int) (_ []int64, status *fwk.Status) {
	pass := s.f.startPoint(s.ctx, MethodScore, s.state, s.pod)
	defer pass.end(&status)
	s.columns.sums = sized(s.columns.sums, len(slots))
	totals := s.columns.sums
	for i, slot := range slots {
		totals[i] = r.base[slot]
	}
	for i := range r.scaled {
		r.scaled[i].addTo(totals, slots, s.f.score[r.scaled[i].index].weight)
	}
	s.columns.scores = sized(s.columns.scores, len(slots))
	scores := s.columns.scores
	for _, index := range others.all {
		plugin := &s.f.score[index]
		pass.enter(s.ctx, &plugin.identity)
		plugin.countEvaluation()
		returned := s.columns.scorers[index].all.ScoreAll(s.ctx, s.state, s.pod, s.nodes, slots, scores)
		pass.leave(returned)
		if !returned.IsSuccess() {
			return nil, failed(fmt.Sprintf("plugin %q failed with", plugin.name), plugin.name, returned)
		}
		if failure := s.addScores(index, totals, scores); failure != nil {
			return nil, failure
		}
	}
	for _, index := range others.once {
		if failure := s.askScores(index, slots, scores); failure != nil {
			return nil, failure
		}
		scaleAll(scores, s.columns.scorers[index].key.Scale())
		if failure := s.addScores(index, totals, scores); failure != nil {
			return nil, failure
		}
	}
	for _, index := range others.oneByOne {
		if failure := s.scoreOneByOne(index, slots, scores); failure != nil {
			return nil, failure
		}
		if failure := s.addScores(index, totals, scores); failure != nil {
			return nil, failure
		}
	}
	return totals, nil
}

// scoreOneByOne asks a plugin that offers nothing beyond the official interfaces, and lets it normalise.
func (s *search) scoreOneByOne(index int, slots []int, scores []int64) *fwk.Status {
	plugin := &s.f.score[index]
	failure := s.each(&plugin.identity, MethodScore, len(slots), func(ctx context.Context, from, to int) *fwk.Status {
		return s.scoreNodes(ctx, plugin, slots[from:to], scores[from:to])
	})
	if failure != nil || !s.normalizes(plugin) {
		return failure
	}
	list := make(fwk.NodeScoreList, len(slots))
	for i, slot := range slots {
		list[i] = fwk.NodeScore{Name: s.nameAt(slot), Score: scores[i]}
	}
	if failure := s.f.normalize(s.ctx, s.state, s.pod, plugin, list); failure != nil {
		return failure
	}
	for i := range list {
		scores[i] = list[i].Score
	}
	return nil
}

// normalizes tells whether a plugin wants to see all its scores. One that fails to say so fails when it is asked to.
func (s *search) normalizes(plugin *member[fwk.ScorePlugin]) (wants bool) {
	var failure *fwk.Status
	pass := s.f.startPass(s.ctx, MethodNormalizeScore, s.state, s.pod)
	defer pass.end(&failure)
	wants = true
	pass.consult(&plugin.identity)
	wants = plugin.plugin.ScoreExtensions() != nil
	pass.consulted()
	return wants
}

// addScores adds the final scores of a plugin to totals.
func (s *search) addScores(index int, totals, scores []int64) *fwk.Status {
	weight := s.f.score[index].weight
	for i, score := range scores {
		if score < fwk.MinScore || score > fwk.MaxScore {
			return s.invalidScore(index, score)
		}
		totals[i] += score * weight
	}
	return nil
}

func (s *search) invalidScore(index int, score int64) *fwk.Status {
	name := s.f.score[index].name
	return failedWith("applying score defaultWeights on Score plugins", name, fmt.Errorf(
		"plugin %q returns an invalid score %v, it should in the range of [%v, %v] after normalizing",
		name, score, fwk.MinScore, fwk.MaxScore))
}
