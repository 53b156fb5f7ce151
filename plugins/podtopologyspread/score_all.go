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

// ScoreAll implements framework.ScoreAllPlugin.
func (pl *plugin) ScoreAll(_ context.Context, state fwk.CycleState, _ *v1.Pod, _ framework.IndexedSnapshot, indexes []int, scores []int64) *fwk.Status {
	spread, err := statedata.Read[*preScoreState](state, preScoreKey)
	if err != nil {
		return fwk.AsStatus(err)
	}
	s, ok := pl.scoring.Get().(*scoring)
	if !ok {
		s = &scoring{}
	}
	defer pl.scoring.Put(s)
	s.score(spread.table, indexes, scores)
	return nil
}

// ignoredScore marks nodes that lack a topology key while scores are worked out.
const ignoredScore = math.MinInt64

// scoring is the working space for the scores of all nodes.
type scoring struct {
	sums         []float64
	pods         []int64   // by node index; zeros outside of addConstraint
	domainScores []float64 // by domain
	seen         []bool    // by domain
	scaled       []int64   // by score
}

// score sets the final scores of the nodes at the indexes, which are all candidates.
func (s *scoring) score(t *table, indexes []int, scores []int64) {
	ignored := t.markIgnored(indexes, scores)
	s.sums = slices.Grow(s.sums[:0], len(indexes))[:len(indexes)]
	clear(s.sums)
	for i := range t.counts {
		s.addConstraint(t, i, indexes, scores, ignored)
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

// markIgnored marks the candidates that don't get a score, and returns how many they are.
func (t *table) markIgnored(indexes []int, scores []int64) (ignored int) {
	clear(scores)
	if !t.allKeys {
		return 0
	}
	for i := range t.counts {
		if t.counts[i].domains.Lacking() == 0 {
			continue
		}
		for j, domains := 0, t.counts[i].domains.ByNode(); j < len(indexes); j++ {
			if domains[indexes[j]] == topology.None && scores[j] != ignoredScore {
				scores[j] = ignoredScore
				ignored++
			}
		}
	}
	return ignored
}

// addConstraint adds the raw score of a constraint on each node.
func (s *scoring) addConstraint(t *table, index int, indexes []int, scores []int64, ignored int) {
	c, counts := &t.constraints[index], &t.counts[index]
	domains := counts.domains.ByNode()
	if counts.placement == nil {
		weight := weight(len(indexes) - ignored)
		s.pods = sized(s.pods, len(domains))
		counts.selection.ByNode.AddTo(s.pods, 1)
		for i, index := range indexes {
			if domains[index] != topology.None {
				s.sums[i] += c.rawScore(s.pods[index], weight)
			}
		}
		clear(s.pods)
		return
	}
	weight := weight(s.domainsOf(t, counts, indexes, scores, ignored))
	s.domainScores = slices.Grow(s.domainScores[:0], counts.domains.Size())[:counts.domains.Size()]
	for domain, none := 0, c.rawScore(0, weight); domain < len(s.domainScores); domain++ {
		s.domainScores[domain] = none
	}
	for domain, pods := range counts.sums.All() {
		s.domainScores[domain] = c.rawScore(pods, weight)
	}
	for i, index := range indexes {
		if domain := domains[index]; domain != topology.None {
			s.sums[i] += s.domainScores[domain]
		}
	}
}

// sized returns zeros of a length, in place of s, which has only zeros, if that is large enough.
func sized(s []int64, length int) []int64 {
	if cap(s) < length {
		return make([]int64, length)
	}
	return s[:length]
}

// domainsOf returns in how many domains the candidates are. Those that lack the key, but are not ignored, are together in
// the domain of the empty text.
func (s *scoring) domainsOf(t *table, counts *constraintCounts, indexes []int, scores []int64, ignored int) int {
	all := counts.domains
	if len(indexes) == t.nodes.NodeCount() && ignored == 0 {
		if all.Lacking() > 0 && !all.HasNodes(topology.Unnamed) {
			return all.Known() + 1
		}
		return all.Known()
	}
	s.seen = slices.Grow(s.seen[:0], all.Size())[:all.Size()]
	clear(s.seen)
	count := 0
	for i, index := range indexes {
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
