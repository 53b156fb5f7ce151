// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"fmt"
	"iter"
	"slices"

	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/runtime/internal/verdicts"
)

// Plugins that look at other pods don't tell most nodes apart: those of a zone get the same verdict and the same score. So the
// best node of a zone is the one with the highest total of the other plugins, which the score cache knows. It is enough to ask about
// that one, for each group of nodes alike, and about the exceptions, such as nodes that have pods of the same kind.

// groupTotals are the totals of a score cache by groups.
type groupTotals struct {
	verdicts.GroupTotals
	position int // in the change log
	scores   *scoreCache
	revision int // of the score cache
}

// sync brings the totals up to date. The score cache and the groups must be already.
func (t *groupTotals) sync(s *cachedSearch, scores *scoreCache, groups *verdicts.Groups) {
	changed, ok := s.changedSince(t.position)
	t.position = s.changes().End()
	if !ok || t.scores != scores || t.revision != scores.revision || !t.Covers(groups) {
		t.scores, t.revision = scores, scores.revision
		t.Build(groups, scores.sums(s))
		return
	}
	for _, nodeIndex := range changed {
		t.Set(nodeIndex, scores.total(s, nodeIndex))
	}
}

// groupCandidates are nodes that may be the best, each of which stands for all with the same scores. In indexes and counts is what
// plugins are shown. The winners of a group are those with the highest known total; group is negative for a node that is an
// exception.
type groupCandidates struct {
	indexes, counts []int
	totals          []int64
	groups          []int
	winners         []int
}

func (c *groupCandidates) clear() {
	c.indexes, c.counts, c.totals = c.indexes[:0], c.counts[:0], c.totals[:0]
	c.groups, c.winners = c.groups[:0], c.winners[:0]
}

func (c *groupCandidates) add(nodeIndex, count int, total int64, group, winners int) {
	c.indexes, c.counts, c.totals = append(c.indexes, nodeIndex), append(c.counts, count), append(c.totals, total)
	c.groups, c.winners = append(c.groups, group), append(c.winners, winners)
}

// keep removes the candidates for which the function returns false.
func (c *groupCandidates) keep(keep func(i int) bool) {
	kept := *c
	kept.clear()
	for i := range c.indexes {
		if keep(i) {
			kept.add(c.indexes[i], c.counts[i], c.totals[i], c.groups[i], c.winners[i])
		}
	}
	*c = kept
}

// bestOfGroups returns the best of all nodes, and how many take the pod. It returns none if plugins tell too many nodes apart, if
// no node takes the pod, or if perhaps no such pod comes again.
func (s *cachedSearch) bestOfGroups(scores *scoreCache, others uncachedScorers, equals chooser) (nodeIndex, feasible int, failure *fwk.Status) {
	const none = -1
	if scores.uses == 1 || len(others.unseen)+len(others.perNode)+len(s.askedFirst) > 0 || s.cache.plainPreScore {
		return none, 0, nil
	}
	if known, failure := s.askForGroups(others); failure != nil || !known {
		return none, 0, scoring(failure)
	}
	asked := &s.cache.groups
	groups := s.groups(asked.Labels)
	if groups.Len()+len(asked.Exceptions) > max(alwaysFewGroups, s.nodes.IndexCount()/nodesToGroup) {
		return none, 0, nil
	}
	if len(s.rest)+len(s.nominated) > 0 {
		for i := range scores.scaled {
			if stands, failure := s.highestStands(&scores.scaled[i]); failure != nil || !stands {
				return none, 0, failure
			}
		}
	}
	g := s.newGroupSearch(s.groupTotals(scores, groups), groups, asked.Exceptions)
	defer g.restore()
	candidates := s.findCandidates(g)
	if len(s.rest) > 0 {
		if failure := s.askRest(candidates.indexes); failure != nil {
			return none, 0, failure
		}
		candidates.keep(func(i int) bool { return s.accepts(candidates.indexes[i]) })
	}
	if len(candidates.indexes) == 0 {
		return none, 0, nil
	}
	if failure := scoring(s.scoreCandidates(candidates, others.scoreAll)); failure != nil {
		return none, 0, failure
	}
	for _, count := range candidates.counts {
		feasible += count
	}
	return candidates.winner(g, equals), feasible, nil
}

// Nodes are looked at by groups where groups and exceptions are few, for the number of nodes.
const (
	alwaysFewGroups = 64
	nodesToGroup    = 4 // on average
)

// askForGroups asks the plugins which nodes they don't tell apart, and reports whether all can say.
func (s *cachedSearch) askForGroups(others uncachedScorers) (known bool, failure *fwk.Status) {
	asked := &s.cache.groups
	asked.Labels, asked.Exceptions = asked.Labels[:0], asked.Exceptions[:0]
	for _, index := range s.rest {
		if s.cache.filters[index].groups == nil {
			return false, nil
		}
	}
	for _, index := range others.scoreAll {
		if s.cache.scorers[index].groups == nil {
			return false, nil
		}
	}
	known, failure = s.askFiltersForGroups(asked)
	if known {
		known, failure = s.askScorersForGroups(asked, others.scoreAll)
	}
	for _, node := range s.nominated {
		asked.Exceptions = append(asked.Exceptions, node.index)
	}
	slices.Sort(asked.Labels)
	asked.Labels = slices.Compact(asked.Labels)
	slices.Sort(asked.Exceptions)
	asked.Exceptions = slices.Compact(asked.Exceptions)
	return known, failure
}

func (s *cachedSearch) askFiltersForGroups(groups *framework.NodeGroups) (known bool, status *fwk.Status) {
	calls := s.f.startCalls(s.ctx, MethodFilter, s.state, s.pod)
	defer calls.end(&status)
	for _, index := range s.rest {
		calls.beginCall(&s.f.filter[index].identity)
		known := s.cache.filters[index].groups.AddFilterGroups(groups, s.state, s.pod, s.nodes)
		calls.endCall()
		if !known {
			return false, nil
		}
	}
	return true, nil
}

func (s *cachedSearch) askScorersForGroups(groups *framework.NodeGroups, scorers []int) (known bool, status *fwk.Status) {
	calls := s.f.startCalls(s.ctx, MethodScore, s.state, s.pod)
	defer calls.end(&status)
	for _, index := range scorers {
		calls.beginCall(&s.f.score[index].identity)
		known := s.cache.scorers[index].groups.AddScoreGroups(groups, s.state, s.pod, s.nodes)
		calls.endCall()
		if !known {
			return false, nil
		}
	}
	return true, nil
}

// groups finds or makes the groups by some labels, and brings them up to date.
func (s *cachedSearch) groups(labels []string) *verdicts.Groups {
	c := s.cache
	c.storeKey = append(c.storeKey[:0], keyOfGroups)
	for _, label := range labels {
		c.storeKey = framework.AppendKeyString(c.storeKey, label)
	}
	entry := c.store.Get(c.storeKey)
	if entry == nil {
		entry = c.store.Put(c.storeKey, verdicts.NewGroups(slices.Clone(labels)))
	}
	groups := entry.Value.(*verdicts.Groups)
	groups.Sync(s.changes())
	return groups
}

// groupTotals finds or makes the totals of a score cache by groups, and brings them up to date. The keys of both must be those that
// were used last.
func (s *cachedSearch) groupTotals(scores *scoreCache, groups *verdicts.Groups) *groupTotals {
	c := s.cache
	key := s.storeKeyOf(keyOfGroupTotals, c.scoresKey)
	for _, label := range groups.Labels() {
		key = framework.AppendKeyString(key, label)
	}
	c.storeKey = key
	entry := c.store.Get(key)
	if entry == nil {
		entry = c.store.Put(key, &groupTotals{position: -1})
	}
	totals := entry.Value.(*groupTotals)
	totals.sync(s, scores, groups)
	return totals
}

// groupSearch are totals by groups in one search, without exceptions.
type groupSearch struct {
	*groupTotals
	exceptions []groupException // by node index
	// counts is how many nodes of a group have a total and are no exceptions, and hidden how many exceptions are among the
	// winners of the group; there is another winner, unless the group has none.
	counts, hidden []int
	// removed are exceptions that were taken out of the totals.
	removed []groupException
}

// groupException is an exception that has a total.
type groupException struct {
	nodeIndex, group int
	total            int64
}

// newGroupSearch finds the exceptions among the winners. From a group in which all winners are, it removes the exceptions.
func (s *cachedSearch) newGroupSearch(totals *groupTotals, groups *verdicts.Groups, exceptions []int) *groupSearch {
	g := &groupSearch{groupTotals: totals, exceptions: s.cache.exceptions[:0], counts: make([]int, groups.Len()), hidden: make([]int, groups.Len())}
	for group := range g.counts {
		g.counts[group] = g.Count(group)
	}
	for _, nodeIndex := range exceptions {
		if nodeIndex < 0 || nodeIndex >= s.nodes.IndexCount() {
			continue
		}
		group, total := g.Total(nodeIndex)
		if total == verdicts.NoTotal {
			continue
		}
		g.exceptions = append(g.exceptions, groupException{nodeIndex, group, total})
		g.counts[group]--
		if total == g.Best(group) {
			g.hidden[group]++
		}
	}
	s.cache.exceptions = g.exceptions
	for group, hidden := range g.hidden {
		if hidden > 0 && hidden == g.Winners(group) {
			g.remove(group, verdicts.NoTotal)
		}
	}
	return g
}

// remove takes the exceptions out of a group that have at least a certain total.
func (g *groupSearch) remove(group int, least int64) {
	for _, exception := range g.exceptions {
		if exception.group == group && exception.total >= least {
			g.removed = append(g.removed, exception)
			g.Set(exception.nodeIndex, verdicts.NoTotal)
		}
	}
	g.hidden[group] = 0
}

// restore puts back what was removed.
func (g *groupSearch) restore() {
	for _, exception := range g.removed {
		g.Set(exception.nodeIndex, exception.total)
	}
}

// anyWinner returns one of the winners of a group that is no exception.
func (g *groupSearch) anyWinner(group int) int {
	hidden := g.hidden[group]
	apart := g.Winners(group) / (hidden + 1) // so of hidden+1 different winners, one is no exception
	for i := range hidden {
		nodeIndex := g.Winner(group, i*apart)
		_, found := slices.BinarySearchFunc(g.exceptions, nodeIndex, func(e groupException, nodeIndex int) int { return e.nodeIndex - nodeIndex })
		if !found {
			return nodeIndex
		}
	}
	return g.Winner(group, hidden*apart)
}

// winner returns a winner of a group that is no exception, by a number from zero on.
func (g *groupSearch) winner(group, index int) int {
	g.removeHidden(group)
	return g.Winner(group, index)
}

// winners yields all winners of a group that are no exceptions.
func (g *groupSearch) winners(group int) iter.Seq[int] {
	g.removeHidden(group)
	return g.AllWinners(group)
}

func (g *groupSearch) removeHidden(group int) {
	if g.hidden[group] > 0 {
		g.remove(group, g.Best(group))
	}
}

// findCandidates finds a node of each group, and the exceptions.
func (s *cachedSearch) findCandidates(g *groupSearch) *groupCandidates {
	c := &s.cache.candidates
	c.clear()
	for _, exception := range g.exceptions {
		if s.cache.asked[exception.nodeIndex] < verdicts.FirstRejection {
			c.add(exception.nodeIndex, 1, exception.total, -1, 1)
		}
	}
	for group, count := range g.counts {
		if count > 0 {
			c.add(g.anyWinner(group), count, g.Best(group), group, g.Winners(group)-g.hidden[group])
		}
	}
	return c
}

// scoreCandidates adds the scores of the plugins that look at other nodes.
func (s *cachedSearch) scoreCandidates(candidates *groupCandidates, scorers []int) (status *fwk.Status) {
	calls := s.f.startExtensionPoint(s.ctx, MethodScore, s.state, s.pod)
	defer calls.end(&status)
	s.cache.scores = sized(s.cache.scores, len(candidates.indexes))
	scores := s.cache.scores
	for _, index := range scorers {
		plugin := &s.f.score[index]
		calls.enter(s.ctx, &plugin.identity)
		plugin.countEvaluation()
		returned := s.cache.scorers[index].groups.ScoreGroups(s.ctx, s.state, s.pod, s.nodes, candidates.indexes, candidates.counts, scores)
		calls.leave(returned)
		if !returned.IsSuccess() {
			return failed(fmt.Sprintf("plugin %q failed with", plugin.name), plugin.name, returned)
		}
		if failure := s.addScores(index, candidates.totals, scores); failure != nil {
			return failure
		}
	}
	return nil
}

// winner returns one of the nodes with the highest total.
func (c *groupCandidates) winner(g *groupSearch, equals chooser) (nodeIndex int) {
	best, _ := verdicts.Highest(c.totals)
	if equals.order != nil {
		return c.firstWinner(g, best, equals)
	}
	winners := 0
	for i, total := range c.totals {
		if total == best {
			winners += c.winners[i]
		}
	}
	index := equals.index(winners)
	for i, total := range c.totals {
		switch {
		case total != best:
		case index >= c.winners[i]:
			index -= c.winners[i]
		case c.groups[i] < 0:
			return c.indexes[i]
		default:
			return g.winner(c.groups[i], index)
		}
	}
	return -1
}

// firstWinner returns the first one, in an order, of the nodes with the highest total.
func (c *groupCandidates) firstWinner(g *groupSearch, best int64, equals chooser) int {
	var firsts []int
	for i, total := range c.totals {
		switch {
		case total != best:
		case c.groups[i] < 0:
			firsts = append(firsts, c.indexes[i])
		default:
			firsts = append(firsts, equals.ofList(slices.Collect(g.winners(c.groups[i]))))
		}
	}
	return equals.ofList(firsts)
}
