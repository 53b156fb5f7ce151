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

// ScoreSlots implements framework.ScoreSlotsPlugin.
func (pl *Plugin) ScoreSlots(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes framework.SlotLister, slots []int, scores []int64) *fwk.Status {
	request, err := statedata.Read[*balancedRequest](state, preScoreKey)
	if err != nil {
		return fwk.AsStatus(err)
	}
	seats, ok := noderesources.Seats(pl.weighed, request.amounts)
	if !ok || len(seats) > expectedResources {
		for i, slot := range slots {
			var status *fwk.Status
			if scores[i], status = pl.Score(ctx, state, pod, nodes.NodeAt(slot)); !status.IsSuccess() {
				return status
			}
		}
		return nil
	}
	rows := pl.table.Rows(nodes)
	var buffer [expectedResources]float64
	for i, slot := range slots {
		row, after := &rows[slot], buffer[:0]
		for j := range seats {
			if allocatable := row[seats[j].Allocatable]; allocatable != 0 {
				taken := row[noderesources.RequestedPlace(seats[j].Allocatable)]
				after = append(after, fraction(taken+seats[j].Wanted, allocatable))
			}
		}
		scores[i] = score(row[noderesources.Derived], balance(after))
	}
	return nil
}

// balanceOf is how balanced a node is without the pod, as long as no scalar resource counts.
func (pl *Plugin) balanceOf(row *noderesources.Row) int64 {
	fractions := make([]float64, 0, expectedResources)
	for i := range pl.weighed {
		place, ok := noderesources.AllocatablePlace(pl.weighed[i].Name)
		if ok && row[place] != 0 {
			fractions = append(fractions, fraction(row[noderesources.RequestedPlace(place)], row[place]))
		}
	}
	return balance(fractions)
}
