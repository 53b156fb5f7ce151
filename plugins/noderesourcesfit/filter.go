// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package noderesourcesfit

import (
	"context"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/noderesources"
	"github.com/rouse-scheduler/rouse/plugins/internal/statedata"
)

const preFilterKey fwk.StateKey = "PreFilter" + Name

// podRequest is what the pod being scheduled needs of a node.
type podRequest struct{ *framework.Resource }

// Clone implements fwk.StateData; the vector never changes and is shared.
func (r *podRequest) Clone() fwk.StateData { return r }

// PreFilter implements fwk.PreFilterPlugin. It never skips Filter: even a pod without requests counts as a pod.
func (pl *plugin) PreFilter(_ context.Context, state fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	state.Write(preFilterKey, &podRequest{noderesources.Request(pod)})
	return nil, nil
}

// PreFilterExtensions implements fwk.PreFilterPlugin. There are none: adding a pod to a node, or removing one, already
// changes the sums that Filter looks at.
func (pl *plugin) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

// Filter implements fwk.FilterPlugin. The status has a reason for everything that is missing.
func (pl *plugin) Filter(_ context.Context, state fwk.CycleState, _ *v1.Pod, nodeInfo fwk.NodeInfo) *fwk.Status {
	request, err := statedata.Read[*podRequest](state, preFilterKey)
	if err != nil {
		return fwk.AsStatus(err)
	}
	missing := pl.missing(request.Resource, &capacity{
		pods:        len(framework.View(nodeInfo).Pods()),
		allocatable: framework.View(nodeInfo).Allocatable(),
		requested:   framework.View(nodeInfo).Requested(),
	}, pl.ignored)
	if len(missing) == 0 {
		return nil
	}
	code, reasons := fwk.Unschedulable, make([]string, len(missing))
	for i, shortage := range missing {
		reasons[i] = shortage.reason
		if shortage.forever {
			code = fwk.UnschedulableAndUnresolvable
		}
	}
	return fwk.NewStatus(code, reasons...)
}

// capacity is what a node offers and what its pods take of it.
type capacity struct {
	pods                   int
	allocatable, requested fwk.Resource
}

// shortage is one reason why a pod does not fit a node.
type shortage struct {
	reason string
	// forever means that the pod would not fit if the node were empty either.
	forever bool
}

// missing returns everything that the node lacks for the request, scalar resources by name, and nil if the pod fits.
func (pl *plugin) missing(request *framework.Resource, node *capacity, ignored ignoredResources) []shortage {
	var found []shortage
	if node.pods+1 > node.allocatable.GetAllowedPodNumber() {
		found = append(found, shortage{reason: ReasonTooManyPods})
	}
	check := func(name v1.ResourceName, asked, allocatable, taken int64) {
		if asked > 0 && asked > allocatable-taken {
			found = append(found, shortage{reason: insufficient(name), forever: asked > allocatable})
		}
	}
	offered, taken := node.allocatable, node.requested
	check(v1.ResourceCPU, request.MilliCPU, offered.GetMilliCPU(), taken.GetMilliCPU())
	check(v1.ResourceMemory, request.Memory, offered.GetMemory(), taken.GetMemory())
	check(v1.ResourceEphemeralStorage, request.EphemeralStorage, offered.GetEphemeralStorage(), taken.GetEphemeralStorage())
	scalars := len(found)
	for name, requested := range request.ScalarResources {
		allocatable := offered.GetScalarResources()[name]
		if requested == 0 || ignored.covers(name) || pl.servedByDevices(name, allocatable) {
			continue
		}
		check(name, requested, allocatable, taken.GetScalarResources()[name])
	}
	slices.SortFunc(found[scalars:], func(a, b shortage) int { return strings.Compare(a.reason, b.reason) })
	return found
}

// insufficient is the reason of a node that has too little of a resource.
func insufficient(name v1.ResourceName) string { return "Insufficient " + string(name) }

// servedByDevices reports whether a resource is not offered by the node itself but by devices, which are the business of
// the plugin DynamicResources.
func (pl *plugin) servedByDevices(name v1.ResourceName, allocatable int64) bool {
	return allocatable <= 0 && pl.classes.Serve(name)
}

// covers reports whether Filter leaves a resource out. Only extended resources can be ignored.
func (i ignoredResources) covers(name v1.ResourceName) bool {
	if len(i.names) == 0 && len(i.groups) == 0 || !framework.IsExtendedResourceName(name) {
		return false
	}
	group, _, _ := strings.Cut(string(name), "/")
	return i.names.Has(name) || i.groups.Has(group)
}
