// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package dynamicresources

import (
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/internal/devices"
)

// Reserve implements fwk.ReservePlugin: it sets the devices that were chosen on the node aside, so that no other claim
// gets them.
func (pl *plugin) Reserve(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodeName string) *fwk.Status {
	s, err := readState(state)
	if err != nil {
		return fwk.AsStatus(err)
	}
	if len(s.toAllocate) == 0 && s.extended == nil {
		return nil
	}
	chosen, status := pl.chosenOn(ctx, s, pod, nodeName)
	if status != nil {
		return status
	}
	if chosen == nil {
		if len(s.toAllocate) == 0 {
			return nil // the node offers the extended resources itself
		}
		return fwk.AsStatus(fmt.Errorf("claim allocation not found for node %s", nodeName))
	}
	results := chosen.results
	for _, c := range s.claims {
		claim := c.claim
		if s.extended != nil && c == s.extended.podClaim {
			if chosen.extended == nil {
				continue
			}
			claim = chosen.extended.claim
			s.extended.mappings = chosen.extended.mappings
		} else if c.allocated() {
			continue
		}
		if len(results) == 0 {
			return fwk.AsStatus(fmt.Errorf("claim allocation not found for claim %s on node %s", describe(claim), nodeName))
		}
		if err := pl.markPending(c, claim, &results[0]); err != nil {
			return fwk.AsStatus(err)
		}
		results = results[1:]
	}
	if len(results) > 0 {
		return fwk.AsStatus(fmt.Errorf("%d claim allocations are left on node %s", len(results), nodeName))
	}
	return nil
}

// markPending makes the allocation of a claim pending.
func (pl *plugin) markPending(c *podClaim, claim *resourceapi.ResourceClaim, result *resourceapi.AllocationResult) error {
	claim = claim.DeepCopy()
	if !slices.Contains(claim.Finalizers, resourceapi.Finalizer) {
		claim.Finalizers = append(claim.Finalizers, resourceapi.Finalizer)
	}
	claim.Status.Allocation = result
	if err := pl.claims.SignalClaimPendingAllocation(claim.UID, claim); err != nil {
		return err
	}
	if c.index < 0 {
		c.claim = claim.DeepCopy()
		c.claim.Status.Allocation = nil
	}
	c.allocation, c.pendingAs = result, claim.UID
	return nil
}

// chosenOn returns what was chosen on a node, or chooses if Filter was not asked about the node, or something changed for
// it since. It returns nil if nothing is to be chosen.
func (pl *plugin) chosenOn(ctx context.Context, s *podState, pod *v1.Pod, nodeName string) (*nodeAllocation, *fwk.Status) {
	chosen := s.allocationOn(nodeName)
	if pl.manager == nil {
		return chosen, nil
	}
	nodeInfo, err := pl.node(nodeName)
	if err != nil {
		return nil, fwk.AsStatus(fmt.Errorf("choosing devices on node %s: %w", nodeName, err))
	}
	if chosen != nil && chosen.view == pl.manager.View(nodeInfo.Node()) {
		return chosen, nil
	}
	chosen, unavailable, status := pl.choose(ctx, s, pod, nodeInfo, true)
	switch {
	case status != nil:
		return nil, status
	case len(unavailable) > 0:
		return nil, rejected(reasonUnavailable)
	case chosen != nil:
		s.keep(nodeName, chosen)
	}
	return chosen, nil
}

// node returns a node of the snapshot.
func (pl *plugin) node(name string) (fwk.NodeInfo, error) {
	if pl.snapshot == nil {
		return nil, errors.New("the framework has no snapshot")
	}
	return pl.snapshot.NodeInfos().Get(name)
}

// Unreserve implements fwk.ReservePlugin: it gives back what Reserve has set aside, and takes back the reservation of the
// claims that are the pod's already. It may be called again, and without Reserve.
func (pl *plugin) Unreserve(ctx context.Context, state fwk.CycleState, pod *v1.Pod, _ string) {
	s, err := readState(state)
	if err != nil {
		return
	}
	logger := klog.FromContext(ctx)
	for _, c := range s.claims {
		if s.extended != nil && c == s.extended.podClaim {
			pl.giveBackExtended(context.WithoutCancel(ctx), s.extended, pod)
			continue
		}
		pl.giveBack(c)
		if c.allocated() && resourceclaim.IsReservedForPod(pod, c.claim, false) {
			if err := pl.unreserveClaim(ctx, c.claim, pod); err != nil {
				logger.Error(err, "The reservation of a claim could not be taken back", "claim", klog.KObj(c.claim), "pod", klog.KObj(pod))
			}
		}
	}
}

// giveBack ends a pending allocation of the pod.
func (pl *plugin) giveBack(c *podClaim) {
	if c.allocation == nil {
		return
	}
	c.allocation = nil
	if c.doubtful {
		pl.settle(c.claim)
		return
	}
	if pl.claims.MaybeRemoveClaimPendingAllocation(c.claim.UID, false) {
		pl.claims.AssumedClaimRestore(c.claim.Namespace, c.claim.Name)
	}
}

// giveBackExtended does the same for extended resources. A claim that was created for them is deleted, unless the pod may be bound.
func (pl *plugin) giveBackExtended(ctx context.Context, extended *extendedClaim, pod *v1.Pod) {
	if extended.allocation != nil {
		extended.allocation = nil
		pl.claims.MaybeRemoveClaimPendingAllocation(extended.uid, false)
	}
	if claim := extended.claim; !extended.stale && !devices.IsInMemory(claim) {
		pl.claims.AssumedClaimRestore(claim.Namespace, claim.Name)
		bound, err := pl.isBound(ctx, pod)
		if err == nil && !bound {
			err = pl.deleteClaim(ctx, claim)
		}
		if err != nil {
			klog.FromContext(ctx).Error(err, "A claim for extended resources could not be deleted", "claim", klog.KObj(claim))
		}
	}
}

// unreserveClaim takes the pod out of the list of those that a claim is reserved for, unless another scheduler has bound the
// pod meanwhile, or may yet, because this one ends. A claim that has taken the name since is not touched.
func (pl *plugin) unreserveClaim(ctx context.Context, claim *resourceapi.ResourceClaim, pod *v1.Pod) error {
	if ctx.Err() != nil {
		return nil
	}
	if bound, err := pl.isBound(ctx, pod); bound || err != nil {
		return err
	}
	patch := fmt.Sprintf(`{"metadata": {"uid": %q}, "status": {"reservedFor": [{"$patch": "delete", "uid": %q}]}}`, claim.UID, pod.UID)
	_, err := pl.client.ResourceV1().ResourceClaims(claim.Namespace).
		Patch(ctx, claim.Name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	return err
}

// isBound asks the API server whether a pod is bound. What a bound pod uses must not be taken from it, and the informer may show
// late that another replica bound it, or that a request did whose answer was lost.
func (pl *plugin) isBound(ctx context.Context, pod *v1.Pod) (bool, error) {
	current, err := pl.client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("finding out whether pod %s/%s is bound: %w", pod.Namespace, pod.Name, err)
	}
	return current.UID == pod.UID && current.Spec.NodeName != "", nil
}
