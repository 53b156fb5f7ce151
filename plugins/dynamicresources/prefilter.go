// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package dynamicresources

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	"k8s.io/dynamic-resource-allocation/structured"
	fwk "k8s.io/kube-scheduler/framework"
)

// PreFilter implements fwk.PreFilterPlugin.
func (pl *plugin) PreFilter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	requested := pl.servedResources(pod)
	if len(pod.Spec.ResourceClaims) == 0 && len(requested) == 0 {
		state.Write(stateKey, pl.noClaims)
		return nil, pl.skip
	}
	s := &podState{}
	state.Write(stateKey, s)
	err := pl.eachClaim(pod, func(index int, claim *resourceapi.ResourceClaim) {
		named := func(c *podClaim) bool { return c.claim.UID == claim.UID }
		if !slices.ContainsFunc(s.claims, named) { // a pod may name a claim twice
			s.claims = append(s.claims, &podClaim{claim: claim, index: index})
		}
	})
	if err != nil {
		return nil, rejected(err.Error())
	}
	if len(requested) > 0 {
		if s.extended, err = pl.findExtendedClaim(pod, requested); err != nil {
			return nil, fwk.AsStatus(err)
		}
		s.claims = append(s.claims, s.extended.podClaim)
	}
	if len(s.claims) == 0 {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	for _, c := range s.claims {
		if status := pl.sortClaim(s, c); status != nil {
			return nil, status
		}
	}
	if pl.manager == nil && (len(s.toAllocate) > 0 || s.extended != nil && !s.extended.stale) {
		if s.allocator, err = pl.newAllocator(ctx); err != nil {
			return nil, fwk.AsStatus(err)
		}
	}
	return nil, nil
}

// PreFilterExtensions implements fwk.PreFilterPlugin.
func (pl *plugin) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

// sortClaim prepares one claim, which must be fit for use: the pod waits for one that is just being allocated.
func (pl *plugin) sortClaim(s *podState, c *podClaim) *fwk.Status {
	if c.allocated() {
		if selector := c.claim.Status.Allocation.NodeSelector; selector != nil {
			var err error
			if c.selector, err = nodeaffinity.NewNodeSelector(selector); err != nil {
				return fwk.AsStatus(err)
			}
		}
		for i := range c.claim.Spec.Devices.Requests {
			s.choosy = s.choosy || len(c.claim.Spec.Devices.Requests[i].FirstAvailable) > 0
		}
		return nil
	}
	if pl.claims.GetPendingAllocation(c.claim.UID) != nil {
		return rejected(fmt.Sprintf("resource claim %s is in the process of being allocated", describe(c.claim)))
	}
	for i := range c.claim.Spec.Devices.Requests {
		if status := pl.checkRequest(s, c.claim, &c.claim.Spec.Devices.Requests[i]); status != nil {
			return status
		}
	}
	if c.index >= 0 {
		s.toAllocate = append(s.toAllocate, c.claim)
	}
	return nil
}

func (pl *plugin) checkRequest(s *podState, claim *resourceapi.ResourceClaim, request *resourceapi.DeviceRequest) *fwk.Status {
	switch {
	case request.Exactly != nil:
		return pl.checkClass(request.Name, request.Exactly.DeviceClassName)
	case len(request.FirstAvailable) > 0:
		s.choosy = true
		for i := range request.FirstAvailable {
			alternative := &request.FirstAvailable[i]
			name := resourceclaim.CreateSubRequestRef(request.Name, alternative.Name)
			if status := pl.checkClass(name, alternative.DeviceClassName); status != nil {
				return status
			}
		}
		return nil
	}
	return rejected(fmt.Sprintf("resource claim %s, request %s: unknown request type", describe(claim), request.Name))
}

// checkClass rejects a request for a class that does not exist. Other trouble with classes is left to the allocator.
func (pl *plugin) checkClass(request, class string) *fwk.Status {
	if class == "" {
		return fwk.AsStatus(fmt.Errorf("request %s: unsupported request type", request))
	}
	if _, err := pl.classes.Get(class); apierrors.IsNotFound(err) {
		return rejected(fmt.Sprintf("request %s: device class %s does not exist", request, class))
	}
	return nil
}

const (
	// gatherFor is how long what is allocated is asked for while it changes all the time, and gatherEvery how often.
	gatherFor   = 5 * time.Second
	gatherEvery = time.Microsecond
)

// newAllocator returns an allocator for all nodes, from what a manager says that is not our own.
func (pl *plugin) newAllocator(ctx context.Context) (structured.Allocator, error) {
	state, err := pl.claims.GatherAllocatedState()
	for end := time.Now().Add(gatherFor); err != nil && isConflicting(err) && time.Now().Before(end); state, err = pl.claims.GatherAllocatedState() {
		time.Sleep(gatherEvery)
	}
	if err != nil {
		return nil, fmt.Errorf("gather allocation state: %w", err)
	}
	listed, err := pl.slices.ListWithDeviceTaintRules()
	if err != nil {
		return nil, err
	}
	return structured.NewAllocator(ctx, pl.switches.Allocation(), *state, pl.classes, listed, pl.expressions)
}

// isConflicting reports whether a manager failed because claims changed while it looked at them.
func isConflicting(err error) bool { return err.Error() == "conflicting concurrent modification" }
