// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"fmt"

	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/profiles"
)

// selectNode returns the feasible node with the highest score; the seed decides among equals.
func (s *Scheduler) selectNode(ctx context.Context, search *search, feasible []fwk.NodeInfo) (string, error) {
	if len(feasible) == 1 {
		return feasible[0].Node().Name, nil
	}
	scores, err := s.score(ctx, search, feasible)
	if err != nil {
		return "", err
	}
	best, equals := 0, 1
	for i := 1; i < len(scores); i++ {
		switch {
		case scores[i] > scores[best]:
			best, equals = i, 1
		case scores[i] == scores[best]:
			// Each of n equals is kept with a chance of one in n.
			if equals++; s.random.IntN(equals) == 0 {
				best = i
			}
		}
	}
	return feasible[best].Node().Name, nil
}

// score returns the total scores of the nodes, in their order.
func (s *Scheduler) score(ctx context.Context, search *search, nodes []fwk.NodeInfo) ([]int64, error) {
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
	s.addExtenderScores(search, nodes, totals)
	return totals, nil
}
