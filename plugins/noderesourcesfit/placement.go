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
func (pl *Plugin) ScorePlacement(
	_ context.Context, _ fwk.PlacementCycleState, _ fwk.PodGroupInfo, placement *fwk.PodGroupAssignments,
) (int64, *fwk.Status) {
	wanted := make([]int64, len(pl.weighed))
	for _, assignment := range placement.ProposedAssignments {
		for i, amount := range pl.newScoredRequest(assignment.GetPod()).amounts {
			wanted[i] += amount
		}
	}
	sum := weightedSum{strategy: mostAllocated()}
	for i := range pl.weighed {
		weighed := &pl.weighed[i]
		var requested, allocatable int64
		for _, nodeInfo := range placement.Nodes {
			if offered := weighed.Allocatable(nodeInfo, wanted[i]); offered != 0 {
				allocatable += offered
				requested += taken(weighed, nodeInfo)
			}
		}
		if allocatable != 0 {
			sum.add(weighed.Weight, requested+wanted[i], allocatable)
		}
	}
	return sum.score(), nil
}

// PlacementScoreExtensions implements fwk.PlacementScorePlugin; scores need no normalisation.
func (pl *Plugin) PlacementScoreExtensions() fwk.PlacementScoreExtensions { return nil }
