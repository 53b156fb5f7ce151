// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package noderesourcesfit

import (
	"context"
	"math"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
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

// room is what Filter reads of a node, scalar resources left out.
type room struct {
	pods        int64    // how many more there may be
	free        [3]int64 // CPU, memory and ephemeral storage, as in wantedRoom
	allocatable [3]int64
}

func newRoom(node fwk.NodeInfo) room {
	offered, taken := node.GetAllocatable(), node.GetRequested()
	r := room{
		pods:        int64(offered.GetAllowedPodNumber() - len(node.GetPods())),
		allocatable: [3]int64{offered.GetMilliCPU(), offered.GetMemory(), offered.GetEphemeralStorage()},
	}
	for i, requested := range [3]int64{taken.GetMilliCPU(), taken.GetMemory(), taken.GetEphemeralStorage()} {
		r.free[i] = r.allocatable[i] - requested
	}
	return r
}

// wantedRoom is what a pod needs. A pod that asks for nothing of a resource does not care how little of it is left, even
// if it is less than nothing.
func wantedRoom(request *framework.Resource) [3]int64 {
	wanted := [3]int64{request.MilliCPU, request.Memory, request.EphemeralStorage}
	for i := range wanted {
		if wanted[i] <= 0 {
			wanted[i] = math.MinInt64
		}
	}
	return wanted
}

// has tells whether a pod fits.
func (r *room) has(wanted *[3]int64) bool {
	return r.pods >= 1 && wanted[0] <= r.free[0] && wanted[1] <= r.free[1] && wanted[2] <= r.free[2]
}

// lacks returns what is missing for a pod.
func (r *room) lacks(wanted *[3]int64) int {
	lacks := 0
	if r.pods < 1 {
		lacks = lacksPods
	}
	for i, bit := range [3]int{lacksCPU, lacksMemory, lacksStorage} {
		if wanted[i] > r.free[i] {
			lacks |= bit
			if wanted[i] > r.allocatable[i] {
				lacks |= lacksForever
			}
		}
	}
	return lacks
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
	rooms, wanted := pl.rooms.Rows(nodes), wantedRoom(request.Resource)
	for i, slot := range slots {
		if room := &rooms[slot]; !room.has(&wanted) {
			statuses[i] = pl.rejections[room.lacks(&wanted)]
		}
	}
	return nil
}
