// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package noderesourcesbalancedallocation

import (
	"context"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/noderesources"
	"github.com/rouse-scheduler/rouse/plugins/internal/statedata"
)

// pairBalance is what the balance of a pair of resources on a node depends on.
type pairBalance struct {
	taken, allocatable [2]int64
	before             int64 // how balanced the node is without the pod
	partial            bool  // the node has none of a resource, which then does not count
}

func newPairBalance(node fwk.NodeInfo, resources []noderesources.WeightedResource, pair noderesources.Pair) pairBalance {
	var b pairBalance
	for i, place := range pair {
		b.taken[i] = framework.AmountOf(framework.View(node).Requested(), resources[place].Name)
		b.allocatable[i] = framework.AmountOf(framework.View(node).Allocatable(), resources[place].Name)
		b.partial = b.partial || b.allocatable[i] == 0
	}
	b.before = b.with([2]int64{})
	return b
}

// with is how balanced the node is with a pod that asks for the given amounts.
func (b *pairBalance) with(requested [2]int64) int64 {
	return balance(pairDeviation(
		fraction(b.taken[0]+requested[0], b.allocatable[0]),
		fraction(b.taken[1]+requested[1], b.allocatable[1])))
}

// ScoreBatch implements framework.BatchScorePlugin.
func (pl *plugin) ScoreBatch(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes framework.IndexedSnapshot, indexes []int, scores []int64) *fwk.Status {
	request, err := statedata.Read[*balancedRequest](state, preScoreKey)
	if err != nil {
		return fwk.AsStatus(err)
	}
	requested, onlyPair := pl.pair.Of(request.amounts)
	var pairs []pairBalance
	if onlyPair {
		pairs = pl.pairs.Rows(nodes)
	}
	for i, index := range indexes {
		if onlyPair && !pairs[index].partial {
			pair := &pairs[index]
			scores[i] = score(pair.before, pair.with(requested))
			continue
		}
		var status *fwk.Status
		if scores[i], status = pl.Score(ctx, state, pod, nodes.NodeAt(index)); !status.IsSuccess() {
			return status
		}
	}
	return nil
}
