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
	var buffer [2 * expectedResources]float64
	for i, slot := range slots {
		row := &rows[slot]
		before, after := buffer[:0:expectedResources], buffer[expectedResources:expectedResources]
		for _, seat := range seats {
			if allocatable := row[seat.Allocatable]; allocatable != 0 {
				taken := row[noderesources.RequestedPlace(seat.Allocatable)]
				before = append(before, fraction(taken, allocatable))
				after = append(after, fraction(taken+seat.Wanted, allocatable))
			}
		}
		scores[i] = score(before, after)
	}
	return nil
}
