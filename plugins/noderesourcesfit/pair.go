// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package noderesourcesfit

import (
	"context"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/noderesources"
	"github.com/rouse-scheduler/rouse/plugins/internal/statedata"
)

// pairShares is what the score of a pair of resources reads of a node.
type pairShares struct {
	free, allocatable [2]int64
	// odd nodes have none of a resource, which then does not count, or too much for floating-point numbers.
	odd bool
}

// exactShares is up to where percent is exact: 100 times as much is an integer that a float64 can hold, and a quotient
// that is no integer is further from the next one than rounding can take it.
const exactShares = 1 << 46

func newPairShares(node fwk.NodeInfo, resources []noderesources.WeightedResource, pair noderesources.Pair) pairShares {
	var s pairShares
	for i, place := range pair {
		resource := &resources[place]
		s.allocatable[i] = framework.AmountOf(framework.View(node).Allocatable(), resource.Name)
		s.free[i] = s.allocatable[i] - taken(resource, node)
		s.odd = s.odd || s.allocatable[i] <= 0 || s.allocatable[i] >= exactShares
	}
	return s
}

// with is the share of a resource that counts with a pod on the node that wants so much of it, in percent.
func (s *pairShares) with(i int, requested int64, counts share) int64 {
	part := max(s.free[i]-requested, 0)
	if counts == takenShare {
		part = s.allocatable[i] - part
	}
	return percent(part, s.allocatable[i])
}

// percent is part*100/whole, which a processor divides faster like this. The part is from zero to whole, and whole below
// exactShares.
func percent(part, whole int64) int64 { return int64(float64(part*fwk.MaxScore) / float64(whole)) }

// ScoreBatch implements framework.BatchScorePlugin.
func (pl *plugin) ScoreBatch(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes framework.IndexedSnapshot, indexes []int, scores []int64) *fwk.Status {
	request, err := statedata.Read[*scoredRequest](state, preScoreKey)
	if err != nil {
		return fwk.AsStatus(err)
	}
	counts := pl.scoring.share
	requested, onlyPair := pl.pair.Of(request.amounts)
	var pairs []pairShares
	var weights [2]int64
	if onlyPair = onlyPair && counts != noShare; onlyPair {
		pairs = pl.pairs.Rows(nodes)
		weights = [2]int64{pl.resources[pl.pair[0]].Weight, pl.resources[pl.pair[1]].Weight}
	}
	for i, index := range indexes {
		if onlyPair && !pairs[index].odd {
			pair := &pairs[index]
			sum := pair.with(0, requested[0], counts)*weights[0] + pair.with(1, requested[1], counts)*weights[1]
			scores[i] = int64(float64(sum) / float64(weights[0]+weights[1]))
			continue
		}
		var status *fwk.Status
		if scores[i], status = pl.Score(ctx, state, pod, nodes.NodeAt(index)); !status.IsSuccess() {
			return status
		}
	}
	return nil
}
