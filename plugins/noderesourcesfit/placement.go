// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package noderesourcesfit

import (
	"context"

	fwk "k8s.io/kube-scheduler/framework"
)

// ScorePlacement implements fwk.PlacementScorePlugin: the fuller a group of pods would leave the nodes of a placement,
// all taken together, the better. This goes for every scoring strategy, since a placement that is nearly full leaves the
// roomier ones to larger groups.
func (pl *plugin) ScorePlacement(
	_ context.Context, _ fwk.PlacementCycleState, _ fwk.PodGroupInfo, placement *fwk.PodGroupAssignments,
) (int64, *fwk.Status) {
	asked := make([]int64, len(pl.resources))
	for _, assignment := range placement.ProposedAssignments {
		for i, amount := range pl.scoredAmounts(assignment.GetPod()) {
			asked[i] += amount
		}
	}
	sum := weightedSum{strategy: mostAllocated()}
	for i := range pl.resources {
		resource := &pl.resources[i]
		var requested, allocatable int64
		for _, nodeInfo := range placement.Nodes {
			if offered := resource.Allocatable(nodeInfo, asked[i]); offered != 0 {
				allocatable += offered
				requested += taken(resource, nodeInfo)
			}
		}
		if allocatable != 0 {
			sum.add(resource.Weight, requested+asked[i], allocatable)
		}
	}
	return sum.score(), nil
}

// PlacementScoreExtensions implements fwk.PlacementScorePlugin; scores need no normalisation.
func (pl *plugin) PlacementScoreExtensions() fwk.PlacementScoreExtensions { return nil }
