// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package podtopologyspread

import (
	"context"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/statedata"
	"github.com/rouse-scheduler/rouse/plugins/internal/topology"
)

// PreScoreAll implements framework.ScoreAllPlugin.
func (pl *plugin) PreScoreAll(_ context.Context, state fwk.CycleState, pod *v1.Pod, nodes framework.IndexedSnapshot) *fwk.Status {
	table, err := pl.tableFor(pod, v1.ScheduleAnyway, nodes, true)
	if err != nil {
		return fwk.AsStatus(err)
	}
	if table == nil {
		return fwk.NewStatus(fwk.Skip)
	}
	state.Write(preScoreKey, &preScoreState{table: table})
	return nil
}

// AddScoreGroups implements framework.ScoreGroupsPlugin.
func (pl *plugin) AddScoreGroups(groups *framework.NodeGroups, state fwk.CycleState, _ *v1.Pod, nodes framework.IndexedSnapshot) bool {
	spread, err := statedata.Read[*preScoreState](state, preScoreKey)
	if err != nil || spread.nodes != nodes {
		return false
	}
	for i := range spread.counts {
		counts := &spread.counts[i]
		switch {
		case counts.placement == nil:
			for node := range counts.selection.ByNode.All() {
				groups.Exceptions = append(groups.Exceptions, int(node))
			}
			counts.domains.ExceptLacking(groups)
		case counts.domains.Few():
			counts.domains.Group(groups, &counts.sums)
		default: // a node's score depends on whether there are others of its domain, even without pods
			return false
		}
	}
	return true
}

// ScoreAll implements framework.ScoreAllPlugin.
func (pl *plugin) ScoreAll(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes framework.IndexedSnapshot, indexes []int, scores []int64) *fwk.Status {
	return pl.ScoreGroups(ctx, state, pod, nodes, indexes, nil, scores)
}

// ScoreGroups implements framework.ScoreGroupsPlugin. Without counts, each node stands for itself.
func (pl *plugin) ScoreGroups(_ context.Context, state fwk.CycleState, _ *v1.Pod, _ framework.IndexedSnapshot, indexes, counts []int, scores []int64) *fwk.Status {
	spread, err := statedata.Read[*preScoreState](state, preScoreKey)
	if err != nil {
		return fwk.AsStatus(err)
	}
	s, ok := pl.scoring.Get().(*scoring)
	if !ok {
		s = &scoring{}
	}
	defer pl.scoring.Put(s)
	s.score(spread.table, candidates{indexes, counts}, scores)
	return nil
}

// candidates are the nodes that take the pod.
type candidates struct {
	indexes []int
	// counts are for how many nodes each of them stands; nil if for one.
	counts []int
}

// count returns for how many nodes a candidate stands.
func (c *candidates) count(i int) int {
	if c.counts == nil {
		return 1
	}
	return c.counts[i]
}

// all is how many nodes take the pod.
func (c *candidates) all() int {
	if c.counts == nil {
		return len(c.indexes)
	}
	sum := 0
	for _, count := range c.counts {
		sum += count
	}
	return sum
}

// ignoredScore marks nodes that lack a topology key while scores are worked out.
const ignoredScore = math.MinInt64

// scoring is the working space for the scores of all nodes.
type scoring struct {
	candidates
	sums         []float64
	pods         []int64   // by node index; zeros outside of addOwnPods
	domainScores []float64 // by domain
	seen         []bool    // by domain
	scaled       []int64   // by score
}

// score sets the final scores of the candidates.
func (s *scoring) score(t *table, candidates candidates, scores []int64) {
	s.candidates = candidates
	defer func() { s.candidates.indexes, s.candidates.counts = nil, nil }()
	scored := s.all() - s.markIgnored(t, scores)
	s.sums = slices.Grow(s.sums[:0], len(s.indexes))[:len(s.indexes)]
	clear(s.sums)
	for i := range t.counts {
		s.addConstraint(t, i, scores, scored)
	}
	least, most := int64(math.MaxInt64), int64(0)
	for i, sum := range s.sums {
		if scores[i] != ignoredScore {
			score := rounded(sum)
			scores[i] = score
			least, most = min(least, score), max(most, score)
		}
	}
	s.normalize(scores, least, most)
}

// markIgnored marks the candidates that don't get a score, and returns for how many nodes they stand.
func (s *scoring) markIgnored(t *table, scores []int64) (ignored int) {
	clear(scores)
	if !t.allKeys {
		return 0
	}
	for i := range t.counts {
		if t.counts[i].domains.Lacking() == 0 {
			continue
		}
		for j, domains := 0, t.counts[i].domains.ByNode(); j < len(s.indexes); j++ {
			if domains[s.indexes[j]] == topology.None && scores[j] != ignoredScore {
				scores[j] = ignoredScore
				ignored += s.count(j)
			}
		}
	}
	return ignored
}

// addConstraint adds the raw score of a constraint on each node, of which so many are not ignored.
func (s *scoring) addConstraint(t *table, index int, scores []int64, scored int) {
	c, counts := &t.constraints[index], &t.counts[index]
	domains := counts.domains.ByNode()
	if counts.placement == nil {
		s.addOwnPods(c, counts, weight(scored))
		return
	}
	weight := weight(s.domainsOf(t, counts, scores, scored))
	s.domainScores = slices.Grow(s.domainScores[:0], counts.domains.Size())[:counts.domains.Size()]
	for domain, none := 0, c.rawScore(0, weight); domain < len(s.domainScores); domain++ {
		s.domainScores[domain] = none
	}
	for domain, pods := range counts.sums.All() {
		s.domainScores[domain] = c.rawScore(pods, weight)
	}
	for i, index := range s.indexes {
		if domain := domains[index]; domain != topology.None {
			s.sums[i] += s.domainScores[domain]
		}
	}
}

// addOwnPods adds the raw score of a constraint about each node alone.
func (s *scoring) addOwnPods(c *constraint, counts *constraintCounts, weight float64) {
	domains, byNode := counts.domains.ByNode(), &counts.selection.ByNode
	if 16*len(s.indexes) < len(domains) { // less work than to look at all nodes
		for i, index := range s.indexes {
			if domains[index] != topology.None {
				s.sums[i] += c.rawScore(int64(byNode.At(int32(index))), weight)
			}
		}
		return
	}
	s.pods = sized(s.pods, len(domains))
	byNode.AddTo(s.pods, 1)
	for i, index := range s.indexes {
		if domains[index] != topology.None {
			s.sums[i] += c.rawScore(s.pods[index], weight)
		}
	}
	clear(s.pods)
}

// sized returns zeros of a length, in place of s, which has only zeros, if that is large enough.
func sized(s []int64, length int) []int64 {
	if cap(s) < length {
		return make([]int64, length)
	}
	return s[:length]
}

// domainsOf returns in how many domains the candidates are, of which so many nodes are not ignored. Those that lack the key, but
// are not ignored, are together in the domain of the empty text.
func (s *scoring) domainsOf(t *table, counts *constraintCounts, scores []int64, scored int) int {
	all := counts.domains
	if scored == t.nodes.NodeCount() {
		if all.Lacking() > 0 && !all.HasNodes(topology.Unnamed) {
			return all.Known() + 1
		}
		return all.Known()
	}
	s.seen = slices.Grow(s.seen[:0], all.Size())[:all.Size()]
	clear(s.seen)
	count := 0
	for i, index := range s.indexes {
		domain := max(all.ByNode()[index], topology.Unnamed)
		if !s.seen[domain] && scores[i] != ignoredScore {
			s.seen[domain] = true
			count++
		}
	}
	return count
}

// maxScaled is up to how many different scores each is normalised once, and looked up.
const maxScaled = 1 << 12

func (s *scoring) normalize(scores []int64, least, most int64) {
	s.scaled = s.scaled[:0]
	if least <= most && most-least < min(maxScaled, int64(len(scores))) {
		for score := least; score <= most; score++ {
			s.scaled = append(s.scaled, normalized(score, least, most))
		}
	}
	for i, score := range scores {
		switch {
		case score == ignoredScore:
			scores[i] = 0
		case len(s.scaled) > 0:
			scores[i] = s.scaled[score-least]
		default:
			scores[i] = normalized(score, least, most)
		}
	}
}
