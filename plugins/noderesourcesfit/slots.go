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

// What a node may lack; the sum of these is an index into rejections.
const (
	lacksPods = 1 << iota
	lacksCPU
	lacksMemory
	lacksStorage
	lacksForever // some of these it would lack if it were empty, too
	lackings
)

// rejections has a status for everything that a node may lack, as Filter would return it.
type rejections [lackings]*fwk.Status

func newRejections() *rejections {
	var r rejections
	reasons := []struct {
		bit  int
		text string
	}{
		{lacksPods, ReasonTooManyPods},
		{lacksCPU, "Insufficient " + string(v1.ResourceCPU)},
		{lacksMemory, "Insufficient " + string(v1.ResourceMemory)},
		{lacksStorage, "Insufficient " + string(v1.ResourceEphemeralStorage)},
	}
	for lacks := 1; lacks < lackings; lacks++ {
		code := fwk.Unschedulable
		if lacks&lacksForever != 0 {
			code = fwk.UnschedulableAndUnresolvable
		}
		var texts []string
		for _, reason := range reasons {
			if lacks&reason.bit != 0 {
				texts = append(texts, reason.text)
			}
		}
		r[lacks] = fwk.NewStatus(code, texts...).WithPlugin(Name)
	}
	return &r
}

// FilterSlots implements framework.FilterSlotsPlugin.
func (pl *Plugin) FilterSlots(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes framework.SlotLister, slots []int, statuses []*fwk.Status) *fwk.Status {
	request, err := statedata.Read[*podRequest](state, preFilterKey)
	if err != nil {
		return fwk.AsStatus(err)
	}
	if len(request.ScalarResources) > 0 {
		for i, slot := range slots {
			statuses[i] = pl.Filter(ctx, state, pod, nodes.NodeAt(slot))
		}
		return nil
	}
	rows := pl.table.Rows(nodes)
	for i, slot := range slots {
		if lacks := lacking(request.Resource, &rows[slot]); lacks != 0 {
			statuses[i] = pl.rejections[lacks]
		}
	}
	return nil
}

// lacking returns what a node lacks for a request without scalar resources.
func lacking(request *framework.Resource, row *noderesources.Row) int {
	lacks := 0
	if row[noderesources.RequestedPods]+1 > row[noderesources.AllocatablePods] {
		lacks = lacksPods
	}
	check := func(wanted, allocatable, requested int64, bit int) {
		if wanted > 0 && wanted > allocatable-requested {
			lacks |= bit
			if wanted > allocatable {
				lacks |= lacksForever
			}
		}
	}
	check(request.MilliCPU, row[noderesources.AllocatableCPU], row[noderesources.RequestedCPU], lacksCPU)
	check(request.Memory, row[noderesources.AllocatableMemory], row[noderesources.RequestedMemory], lacksMemory)
	check(request.EphemeralStorage, row[noderesources.AllocatableStorage], row[noderesources.RequestedStorage], lacksStorage)
	return lacks
}

// ScoreSlots implements framework.ScoreSlotsPlugin.
func (pl *Plugin) ScoreSlots(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes framework.SlotLister, slots []int, scores []int64) *fwk.Status {
	request, err := statedata.Read[*scoredRequest](state, preScoreKey)
	if err != nil {
		return fwk.AsStatus(err)
	}
	seats, ok := noderesources.Seats(pl.weighed, request.amounts)
	if !ok || len(pl.weighed) == 0 {
		for i, slot := range slots {
			var status *fwk.Status
			if scores[i], status = pl.Score(ctx, state, pod, nodes.NodeAt(slot)); !status.IsSuccess() {
				return status
			}
		}
		return nil
	}
	taken := make([]noderesources.Place, len(seats))
	for i := range seats {
		taken[i] = takenPlace(seats[i].Allocatable)
	}
	rows, rate, selective := pl.table.Rows(nodes), pl.scoring.rate, pl.scoring.selective
	for i, slot := range slots {
		row := &rows[slot]
		sum := weightedSum{strategy: pl.scoring}
		for j := range seats {
			seat := &seats[j]
			allocatable := row[seat.Allocatable]
			if allocatable == 0 {
				continue
			}
			if rated := rate(row[taken[j]]+seat.Wanted, allocatable); rated > 0 || !selective {
				sum.sum += rated * seat.Weight
				sum.weights += seat.Weight
			}
		}
		scores[i] = sum.score()
	}
	return nil
}

// takenPlace is where a row has what counts as taken of a resource; see taken.
func takenPlace(allocatable noderesources.Place) noderesources.Place {
	switch allocatable {
	case noderesources.AllocatableCPU:
		return noderesources.NonZeroCPU
	case noderesources.AllocatableMemory:
		return noderesources.NonZeroMemory
	default:
		return noderesources.RequestedStorage
	}
}
