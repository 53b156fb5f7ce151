// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/profiles"
)

// selectNode returns the name of the feasible node with the highest score (kube-scheduler: prioritizeNodes, and the end of
// schedulePod); the seed decides among equals. By default runtime's Search chooses the node instead, see
// [Scheduler.searchVerdictCaches]. The status is an error or nil.
func (s *Scheduler) selectNode(ctx context.Context, search *nodeSearch, feasible []fwk.NodeInfo) (string, *fwk.Status) {
	if len(feasible) == 1 {
		return feasible[0].Node().Name, nil
	}
	scores, err := s.score(ctx, search, feasible)
	if err != nil {
		return "", fwk.AsStatus(err)
	}
	best := slices.Max(scores)
	var equals []string
	for i, score := range scores {
		if score == best {
			equals = append(equals, feasible[i].Node().Name)
		}
	}
	if len(equals) == 1 {
		return equals[0], nil
	}
	// The same choice as runtime's Search would make.
	chosen := s.random.IntN(len(equals))
	slices.SortFunc(equals, func(a, b string) int { return cmp.Compare(s.nodeIndex(a), s.nodeIndex(b)) })
	return equals[chosen], nil
}

func (s *Scheduler) nodeIndex(node string) int {
	index, _ := s.snapshot.NodeIndex(node)
	return index
}

// score returns the total scores of the nodes, in their order.
func (s *Scheduler) score(ctx context.Context, search *nodeSearch, nodes []fwk.NodeInfo) ([]int64, error) {
	totals := make([]int64, len(nodes))
	if search.profile.Has(profiles.Score) {
		if status := search.profile.RunPreScorePlugins(ctx, search.state, search.pod, nodes); !status.IsSuccess() {
			return nil, fmt.Errorf("preparing the scores: %w", status.AsError())
		}
		scores, status := search.profile.RunScorePlugins(ctx, search.state, search.pod, nodes)
		if !status.IsSuccess() {
			return nil, fmt.Errorf("scoring the nodes: %w", status.AsError())
		}
		for i := range scores {
			totals[i] = scores[i].TotalScore
		}
	}
	s.addExtenderScores(ctx, search, nodes, totals)
	return totals, nil
}
