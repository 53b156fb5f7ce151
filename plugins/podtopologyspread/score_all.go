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
func (pl *Plugin) PreScoreAll(_ context.Context, state fwk.CycleState, pod *v1.Pod, nodes framework.IndexedSnapshot) *fwk.Status {
	table, err := pl.tableFor(pod, v1.ScheduleAnyway, nodes, true)
	if err != nil {
		return fwk.AsStatus(err)
	}
	if table == nil {
		return fwk.NewStatus(fwk.Skip)
	}
	state.Write(preScoreKey, &softSpread{table: table})
	return nil
}

// ScoreAll implements framework.ScoreAllPlugin.
func (pl *Plugin) ScoreAll(_ context.Context, state fwk.CycleState, _ *v1.Pod, _ framework.IndexedSnapshot, slots []int, scores []int64) *fwk.Status {
	spread, err := statedata.Read[*softSpread](state, preScoreKey)
	if err != nil {
		return fwk.AsStatus(err)
	}
	s, ok := pl.scoring.Get().(*scoring)
	if !ok {
		s = &scoring{}
	}
	defer pl.scoring.Put(s)
	s.score(spread.table, slots, scores)
	return nil
}

// ignoredScore marks nodes that lack a topology key while scores are worked out.
const ignoredScore = math.MinInt64

// scoring is the working space for the scores of all nodes.
type scoring struct {
	sums   []float64
	worth  []float64 // by domain
	seen   []bool    // by domain
	scaled []int64   // by score
}

// score sets the final scores of the nodes in slots, which are all candidates.
func (s *scoring) score(t *table, slots []int, scores []int64) {
	ignored := t.markIgnored(slots, scores)
	s.sums = slices.Grow(s.sums[:0], len(slots))[:len(slots)]
	clear(s.sums)
	for i := range t.columns {
		s.addColumn(t, i, slots, scores, ignored)
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
func (t *table) markIgnored(slots []int, scores []int64) (ignored int) {
	clear(scores)
	if !t.allKeys {
		return 0
	}
	for i := range t.columns {
		if t.columns[i].domains.Lacking() == 0 {
			continue
		}
		for j, domains := 0, t.columns[i].domains.BySlot(); j < len(slots); j++ {
			if domains[slots[j]] == topology.None && scores[j] != ignoredScore {
				scores[j] = ignoredScore
				ignored++
			}
		}
	}
	return ignored
}

// addColumn adds what a constraint is worth on each node.
func (s *scoring) addColumn(t *table, index int, slots []int, scores []int64, ignored int) {
	c, column := &t.constraints[index], &t.columns[index]
	domains := column.domains.BySlot()
	if !column.byDomain {
		weight := weight(len(slots) - ignored)
		if column.domains.Lacking() == 0 {
			for i, slot := range slots {
				s.sums[i] += c.worth(int64(column.matching[slot]), weight)
			}
			return
		}
		for i, slot := range slots {
			if domains[slot] != topology.None {
				s.sums[i] += c.worth(int64(column.matching[slot]), weight)
			}
		}
		return
	}
	weight := weight(s.domainsOf(t, column, slots, scores, ignored))
	s.worth = s.worth[:0]
	for _, pods := range column.sums {
		s.worth = append(s.worth, c.worth(pods, weight))
	}
	for i, slot := range slots {
		if domain := domains[slot]; domain != topology.None {
			s.sums[i] += s.worth[domain]
		}
	}
}

// domainsOf returns in how many domains the candidates are. Those that lack the key, but are not ignored, are together in
// the domain of the empty text.
func (s *scoring) domainsOf(t *table, column *column, slots []int, scores []int64, ignored int) int {
	all := column.domains
	if len(slots) == t.nodes.NodeCount() && ignored == 0 {
		if all.Lacking() > 0 && !all.HasNodes(topology.Unnamed) {
			return all.Known() + 1
		}
		return all.Known()
	}
	s.seen = slices.Grow(s.seen[:0], all.Size())[:all.Size()]
	clear(s.seen)
	count := 0
	for i, slot := range slots {
		domain := max(all.BySlot()[slot], topology.Unnamed)
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
