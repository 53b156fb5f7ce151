// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package interpodaffinity

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
func (pl *plugin) PreScoreAll(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes framework.IndexedSnapshot) *fwk.Status {
	return pl.preScore(ctx, state, pod, nodes, true)
}

// AddScoreGroups implements framework.ScoreGroupsPlugin.
func (pl *plugin) AddScoreGroups(groups *framework.NodeGroups, state fwk.CycleState, _ *v1.Pod, _ framework.IndexedSnapshot) bool {
	values, err := statedata.Read[*preScoreState](state, preScoreKey)
	if err != nil {
		return false
	}
	for _, p := range values.preferred {
		p.keys[0].domains.Group(groups, &p.keys[0].sums)
	}
	for _, t := range values.existing {
		t.domains.Group(groups, &t.weights)
	}
	return true
}

// ScoreGroups implements framework.ScoreGroupsPlugin. For how many nodes one stands does not matter.
func (pl *plugin) ScoreGroups(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes framework.IndexedSnapshot, indexes, _ []int, scores []int64) *fwk.Status {
	return pl.ScoreAll(ctx, state, pod, nodes, indexes, scores)
}

// ScoreAll implements framework.ScoreAllPlugin.
func (pl *plugin) ScoreAll(_ context.Context, state fwk.CycleState, _ *v1.Pod, _ framework.IndexedSnapshot, indexes []int, scores []int64) *fwk.Status {
	values, err := statedata.Read[*preScoreState](state, preScoreKey)
	if err != nil {
		return fwk.AsStatus(err)
	}
	s, ok := pl.scoring.Get().(*scoring)
	if !ok {
		s = &scoring{}
	}
	defer pl.scoring.Put(s)
	s.score(values, indexes, scores)
	return nil
}

// scoring is the working space for the scores of all nodes.
type scoring struct {
	done         []*topology.Domains
	domainScores []int64 // by domain
	scaled       []int64 // by score above the least
}

// score sets the final scores of the nodes at the indexes.
func (s *scoring) score(v *preScoreState, indexes []int, scores []int64) {
	clear(scores)
	s.done = s.done[:0]
	for _, p := range v.preferred {
		s.addKey(v, p.keys[0].domains, indexes, scores)
	}
	for _, t := range v.existing {
		s.addKey(v, t.domains, indexes, scores)
	}
	least, most := int64(math.MaxInt64), int64(math.MinInt64)
	for _, score := range scores {
		least, most = min(least, score), max(most, score)
	}
	s.normalize(scores, least, most)
}

// addKey adds the scores of the domains of one topology key, unless that is done already.
func (s *scoring) addKey(v *preScoreState, of *topology.Domains, indexes []int, scores []int64) {
	if slices.Contains(s.done, of) {
		return
	}
	s.done = append(s.done, of)
	domains := of.ByNode()
	if 16*len(indexes)*(len(v.preferred)+len(v.existing)) < of.Size() { // less work than to look at all domains
		for i, index := range indexes {
			if domain := domains[index]; domain != topology.None {
				scores[i] += v.sumAt(of, domain)
			}
		}
		return
	}
	s.domainScores = slices.Grow(s.domainScores[:0], of.Size())[:of.Size()]
	clear(s.domainScores)
	for _, p := range v.preferred {
		if p.keys[0].domains == of {
			p.keys[0].sums.AddTo(s.domainScores, p.weight)
		}
	}
	for _, t := range v.existing {
		if t.domains == of {
			t.weights.AddTo(s.domainScores, 1)
		}
	}
	for i, index := range indexes {
		if domain := domains[index]; domain != topology.None {
			scores[i] += s.domainScores[domain]
		}
	}
}

// sumAt is the score of a domain of one topology key.
func (v *preScoreState) sumAt(of *topology.Domains, domain int32) (sum int64) {
	for _, p := range v.preferred {
		if p.keys[0].domains == of {
			sum += p.weight * p.keys[0].sums.At(domain)
		}
	}
	for _, t := range v.existing {
		if t.domains == of {
			sum += t.weights.At(domain)
		}
	}
	return sum
}

// maxScaled is up to how many different scores each is normalised once, and looked up.
const maxScaled = 1 << 12

func (s *scoring) normalize(scores []int64, least, most int64) {
	if most <= least {
		clear(scores)
		return
	}
	if most-least >= min(maxScaled, int64(len(scores))) {
		for i, score := range scores {
			scores[i] = normalized(score, least, most)
		}
		return
	}
	s.scaled = s.scaled[:0]
	for score := least; score <= most; score++ {
		s.scaled = append(s.scaled, normalized(score, least, most))
	}
	for i, score := range scores {
		scores[i] = s.scaled[score-least]
	}
}
