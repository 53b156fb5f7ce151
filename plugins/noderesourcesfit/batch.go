// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package noderesourcesfit

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/statedata"
)

// What a node may lack; the sum of these, and of lackings << i for the scalar resource with the index i, says why it is
// rejected.
const (
	lacksPods = 1 << iota
	lacksCPU
	lacksMemory
	lacksStorage
	lacksAllocatable // of some of these it has too little even when it is empty
	lackings
)

// maxScalars is how many scalar resources of a pod fit into the sum of what a node lacks.
const maxScalars = 32

// maxRejections bounds how many statuses are kept. Pods ask for few different resources.
const maxRejections = 1024

// rejections keeps the statuses that Filter returns, so that equal ones are made once. It is safe for concurrent use.
type rejections struct {
	mu       sync.Mutex
	byReason map[string]*fwk.Status
}

func newRejections() *rejections { return &rejections{byReason: map[string]*fwk.Status{}} }

// status returns what Filter says of a node that lacks something for a request.
func (r *rejections) status(lacks int64, requested *requestedResources) *fwk.Status {
	code := fwk.Unschedulable
	if lacks&lacksAllocatable != 0 {
		code = fwk.UnschedulableAndUnresolvable
	}
	reasons := requested.reasons(lacks)
	key := code.String() + strings.Join(reasons, "\x00")
	r.mu.Lock()
	defer r.mu.Unlock()
	status := r.byReason[key]
	if status == nil {
		if len(r.byReason) >= maxRejections {
			clear(r.byReason)
		}
		status = fwk.NewStatus(code, reasons...).WithPlugin(Name)
		r.byReason[key] = status
	}
	return status
}

// freeResources is what Filter reads of a node.
type freeResources struct {
	pods        int64    // how many more there may be
	free        [3]int64 // CPU, memory and ephemeral storage, as in requestedResources
	allocatable [3]int64
	scalars     []freeScalar // what the node offers
}

type freeScalar struct {
	name              v1.ResourceName
	free, allocatable int64
}

func newFreeResources(node fwk.NodeInfo) freeResources {
	offered, taken := framework.View(node).Allocatable(), framework.View(node).Requested()
	r := freeResources{
		pods:        int64(offered.GetAllowedPodNumber() - len(framework.View(node).Pods())),
		allocatable: [3]int64{offered.GetMilliCPU(), offered.GetMemory(), offered.GetEphemeralStorage()},
	}
	for i, requested := range [3]int64{taken.GetMilliCPU(), taken.GetMemory(), taken.GetEphemeralStorage()} {
		r.free[i] = r.allocatable[i] - requested
	}
	scalars := offered.GetScalarResources()
	r.scalars = make([]freeScalar, 0, len(scalars))
	for name, allocatable := range scalars {
		r.scalars = append(r.scalars, freeScalar{name, allocatable - taken.GetScalarResources()[name], allocatable})
	}
	return r
}

// scalar returns how much of a scalar resource is free, and how much there is.
func (r *freeResources) scalar(name v1.ResourceName) (free, allocatable int64) {
	for i := range r.scalars {
		if r.scalars[i].name == name {
			return r.scalars[i].free, r.scalars[i].allocatable
		}
	}
	return 0, 0
}

// requestedResources is what a pod needs. A pod that asks for nothing of a resource fits however little of it is left, even
// if it is less than nothing.
type requestedResources struct {
	amounts [3]int64
	scalars []requestedScalar // by name
}

type requestedScalar struct {
	name   v1.ResourceName
	amount int64
	// served is set if devices have the resource where the node itself has none.
	served bool
}

func (pl *plugin) requestedResources(request *framework.Resource) requestedResources {
	requested := requestedResources{amounts: [3]int64{request.MilliCPU, request.Memory, request.EphemeralStorage}}
	for i := range requested.amounts {
		if requested.amounts[i] <= 0 {
			requested.amounts[i] = math.MinInt64
		}
	}
	for name, amount := range request.ScalarResources {
		if amount > 0 && !pl.ignored.covers(name) {
			requested.scalars = append(requested.scalars, requestedScalar{name, amount, pl.classes.Serve(name)})
		}
	}
	slices.SortFunc(requested.scalars, func(a, b requestedScalar) int { return strings.Compare(string(a.name), string(b.name)) })
	return requested
}

// reasons words what is missing, as Filter does.
func (w *requestedResources) reasons(lacks int64) []string {
	var reasons []string
	if lacks&lacksPods != 0 {
		reasons = append(reasons, ReasonTooManyPods)
	}
	names := [3]v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage}
	for i, bit := range [3]int64{lacksCPU, lacksMemory, lacksStorage} {
		if lacks&bit != 0 {
			reasons = append(reasons, insufficient(names[i]))
		}
	}
	for i := range w.scalars {
		if lacks&(lackings<<i) != 0 {
			reasons = append(reasons, insufficient(w.scalars[i].name))
		}
	}
	return reasons
}

// fits reports whether a pod without scalar resources fits, as most do on most nodes.
func (r *freeResources) fits(amounts *[3]int64) bool {
	return r.pods >= 1 && amounts[0] <= r.free[0] && amounts[1] <= r.free[1] && amounts[2] <= r.free[2]
}

// lacks returns what is missing for a pod; zero if it fits.
func (r *freeResources) lacks(requested *requestedResources) int64 {
	lacks := int64(0)
	if r.pods < 1 {
		lacks = lacksPods
	}
	for i, bit := range [3]int64{lacksCPU, lacksMemory, lacksStorage} {
		if amount := requested.amounts[i]; amount > r.free[i] {
			lacks |= bit
			if amount > r.allocatable[i] {
				lacks |= lacksAllocatable
			}
		}
	}
	for i := range requested.scalars {
		scalar := &requested.scalars[i]
		free, allocatable := r.scalar(scalar.name)
		if scalar.amount <= free || scalar.served && allocatable <= 0 {
			continue
		}
		lacks |= lackings << i
		if scalar.amount > allocatable {
			lacks |= lacksAllocatable
		}
	}
	return lacks
}

// FilterBatch implements framework.BatchFilterPlugin.
func (pl *plugin) FilterBatch(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes framework.IndexedSnapshot, indexes []int, statuses []*fwk.Status) *fwk.Status {
	request, err := statedata.Read[*podRequest](state, preFilterKey)
	if err != nil {
		return fwk.AsStatus(err)
	}
	requested := pl.requestedResources(request.Resource)
	if len(requested.scalars) > maxScalars {
		for i, index := range indexes {
			statuses[i] = pl.Filter(ctx, state, pod, nodes.NodeAt(index))
		}
		return nil
	}
	free := pl.free.Rows(nodes)
	known := map[int64]*fwk.Status{} // by what is lacking
	for i, index := range indexes {
		if len(requested.scalars) == 0 && free[index].fits(&requested.amounts) {
			continue
		}
		lacks := free[index].lacks(&requested)
		if lacks == 0 {
			continue
		}
		status := known[lacks]
		if status == nil {
			status = pl.rejections.status(lacks, &requested)
			known[lacks] = status
		}
		statuses[i] = status
	}
	return nil
}
