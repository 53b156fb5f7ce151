// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package dynamicresources

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/dynamic-resource-allocation/structured"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/internal/devices"
)

// Filter implements fwk.FilterPlugin: claims that have devices must be of use on the node, and the others must get devices
// there, which are kept for Reserve.
func (pl *plugin) Filter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodeInfo fwk.NodeInfo) *fwk.Status {
	s, err := readState(state)
	if err != nil {
		return fwk.AsStatus(err)
	}
	if len(s.claims) == 0 {
		return nil
	}
	chosen, unavailable, status := pl.choose(ctx, s, pod, nodeInfo, false)
	switch {
	case status != nil:
		return status.Clone() // kube-scheduler writes the name of the plugin into it
	case len(unavailable) > 0:
		s.markUnavailable(unavailable)
		return rejected(reasonUnavailable)
	case chosen != nil && chosen.known == nil:
		s.keep(nodeInfo.Node().Name, chosen)
	}
	return nil
}

// choose chooses devices on a node; unless the results are needed, it is enough to know that there are any. It returns nothing
// if nothing is to be chosen, and in addition to the choice the indexes of the claims whose devices can't be used there.
func (pl *plugin) choose(
	ctx context.Context, s *podState, pod *v1.Pod, nodeInfo fwk.NodeInfo, needed bool,
) (*nodeAllocation, []int, *fwk.Status) {
	chosen := &nodeAllocation{}
	if s.extended != nil {
		var status *fwk.Status
		if chosen.extended, status = pl.extendOn(s, pod, nodeInfo); status != nil {
			return nil, nil, status
		}
	}
	node := nodeInfo.Node()
	var unavailable []int
	for i, c := range s.claims {
		if c.allocated() && !pl.usableOn(c, node) {
			unavailable = append(unavailable, i)
		}
	}
	claims := s.toAllocate
	if chosen.extended != nil {
		claims = append(claims[:len(claims):len(claims)], chosen.extended.claim)
	}
	if len(claims) == 0 {
		if s.extended == nil {
			return nil, unavailable, nil
		}
		if pl.manager != nil {
			chosen.view = pl.manager.View(node)
		}
		return chosen, unavailable, nil // of which the claims with devices are scored
	}
	if status := pl.allocateOnce(ctx, s, node, claims, chosen, needed); status != nil {
		return nil, nil, status
	}
	return chosen, unavailable, nil
}

// allocateOnce asks the allocator once for all nodes that are alike. Of the others the results are not known, unless they can
// be used from every node.
func (pl *plugin) allocateOnce(
	ctx context.Context, s *podState, node *v1.Node, claims []*resourceapi.ResourceClaim, chosen *nodeAllocation, needed bool,
) *fwk.Status {
	if pl.manager == nil {
		return pl.allocate(ctx, s, node, claims, chosen)
	}
	chosen.view = pl.manager.View(node)
	asked, ok := pl.whatIsAsked(s, chosen.extended)
	if ok {
		known, _ := chosen.view.Kind.Known(asked).(*verdict)
		if known != nil && (!needed || known.status != nil || known.results != nil) {
			chosen.known, chosen.results = known, known.results
			return known.status
		}
	}
	status := pl.allocate(ctx, s, node, claims, chosen)
	if ok && (status == nil || status == pl.cannotAllocate) {
		found := &verdict{status: status, score: scoreResults(claims, chosen.results)}
		if chosen.view.Portable {
			found.results = chosen.results
		}
		chosen.view.Kind.Keep(asked, found)
	}
	return status
}

// allocate has devices chosen for claims on a node, from its view if it has one.
func (pl *plugin) allocate(ctx context.Context, s *podState, node *v1.Node, claims []*resourceapi.ResourceClaim, chosen *nodeAllocation) *fwk.Status {
	allocator, err := s.allocator, error(nil)
	if chosen.view != nil {
		allocator, err = chosen.view.Allocator(pl.allocatorFor)
	}
	if err != nil {
		return fwk.AsStatus(err)
	}
	if pl.filterTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, pl.filterTimeout)
		defer cancel()
	}
	chosen.results, err = allocator.Allocate(ctx, node, claims)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fwk.AsStatus(fmt.Errorf("node %s: timed out trying to allocate devices", node.Name))
	case ctx.Err() != nil:
		return rejected(fmt.Sprintf("asked by caller to stop allocating devices: %v", context.Cause(ctx)))
	case errors.Is(err, structured.ErrFailedAllocationOnNode):
		return rejected(err.Error())
	case err != nil:
		return fwk.AsStatus(err)
	case len(chosen.results) < len(claims):
		return pl.cannotAllocate
	}
	return nil
}

// allocatorFor returns an allocator for the nodes that see the same. It outlives the cycle, and so has no context of it.
func (pl *plugin) allocatorFor(view *devices.View) (structured.Allocator, error) {
	return structured.NewAllocator(context.Background(), pl.switches.Allocation(), view.State, pl.classes, view.Slices, pl.expressions)
}

// usableOn reports whether the devices of an allocated claim can be used on a node: they can be reached, and if they had to
// be made ready that has not failed.
func (pl *plugin) usableOn(c *podClaim, node *v1.Node) bool {
	if c.selector != nil && !c.selector.Match(node) {
		return false
	}
	if pl.switches.NoBindingConditions {
		return true
	}
	ready, err := pl.devicesReady(c.claim, false)
	return err == nil && (ready || !pl.timedOut(c.claim))
}

// timedOut reports whether the devices of a claim should have been ready by now.
func (pl *plugin) timedOut(claim *resourceapi.ResourceClaim) bool {
	since := claim.Status.Allocation.AllocationTimestamp
	return since != nil && pl.clock.Now().After(since.Add(pl.bindingTimeout))
}

func (pl *plugin) now() *metav1.Time {
	now := metav1.NewTime(pl.clock.Now())
	return &now
}
