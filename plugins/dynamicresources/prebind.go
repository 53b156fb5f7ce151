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
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/internal/apiwrite"
	"github.com/rouse-scheduler/rouse/internal/devices"
)

// PreBindPreFlight implements fwk.PreBindPlugin. PreBind is skipped for a pod without claims.
func (pl *plugin) PreBindPreFlight(_ context.Context, state fwk.CycleState, _ *v1.Pod, _ string) (*fwk.PreBindPreFlightResult, *fwk.Status) {
	s, err := readState(state)
	if err != nil {
		return nil, fwk.AsStatus(err)
	}
	if len(s.claims) == 0 {
		return pl.skipPreBind, pl.skip
	}
	return &fwk.PreBindPreFlightResult{AllowParallel: true}, nil
}

// PreBind implements fwk.PreBindPlugin: it writes allocations and reservations, and waits for devices that have to be made
// ready.
func (pl *plugin) PreBind(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodeName string) *fwk.Status {
	s, err := readState(state)
	if err != nil {
		return fwk.AsStatus(err)
	}
	for _, c := range s.claims {
		if s.extended != nil && c == s.extended.podClaim {
			err = pl.bindExtended(ctx, s.extended, pod)
		} else if !resourceclaim.IsReservedForPod(pod, c.claim, false) {
			err = pl.bindClaim(ctx, c, pod)
		}
		if err != nil {
			return fwk.AsStatus(err)
		}
	}
	if err := pl.waitForDevices(ctx, s, pod, nodeName); err != nil {
		return fwk.AsStatus(err)
	}
	for _, c := range s.claims {
		if c.allocation != nil {
			pl.claims.MaybeRemoveClaimPendingAllocation(c.pendingAs, true)
			c.allocation = nil
		}
	}
	return nil
}

// bindExtended creates the claim for extended resources, if devices serve any on the node, and tells the pod.
func (pl *plugin) bindExtended(ctx context.Context, extended *extendedClaim, pod *v1.Pod) error {
	if extended.allocation == nil {
		return nil
	}
	created := extended.claim.DeepCopy()
	created.Name, created.UID = "", ""
	created, err := pl.client.ResourceV1().ResourceClaims(pod.Namespace).Create(ctx, created, metav1.CreateOptions{})
	pl.metrics.ClaimCreated(err)
	if err != nil {
		return fmt.Errorf("create claim for extended resources %v: %w", extended.claim.GenerateName, err)
	}
	extended.claim = created
	if err := pl.bindClaim(ctx, extended.podClaim, pod); err != nil {
		return err
	}
	status := pod.Status.DeepCopy()
	status.ExtendedResourceClaimStatus = &v1.PodExtendedResourceClaimStatus{
		ResourceClaimName: extended.claim.Name, RequestMappings: extended.mappings,
	}
	return apiwrite.PatchPodStatus(ctx, pl.client, pod, status)
}

// bindClaim writes the allocation of a claim, if there is one to write, and reserves the claim for the pod. What the API
// server makes of it is what the manager shows from then on. Pods that share a claim write it one after the other, each
// what the last one has left: otherwise all but one would have a conflict, and a pause after it.
func (pl *plugin) bindClaim(ctx context.Context, c *podClaim, pod *v1.Pod) error {
	end, err := pl.writers.begin(ctx, c.claim.UID)
	if err != nil {
		return fmt.Errorf("waiting for other pods to reserve claim %s: %w", describe(c.claim), err)
	}
	defer end()
	claim := pl.latest(c.claim).DeepCopy()
	again := false
	err = apiwrite.Retry(ctx, apiwrite.IsTransientOrConflict, func() error {
		if again {
			fresh, err := pl.client.ResourceV1().ResourceClaims(claim.Namespace).Get(ctx, claim.Name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if fresh.UID != c.claim.UID {
				return fmt.Errorf("claim %s got deleted in the meantime", describe(claim))
			}
			claim = fresh
		}
		again = true
		written, err := pl.writeClaim(ctx, c, claim, pod)
		if err != nil {
			c.doubtful = c.doubtful || c.allocation != nil && apiwrite.IsTransient(err)
			return err
		}
		claim = written
		return nil
	})
	if err != nil {
		return err
	}
	c.doubtful = false
	c.claim = claim
	return pl.show(ctx, c)
}

// latest returns a claim as the manager shows it, if that is the same claim.
func (pl *plugin) latest(claim *resourceapi.ResourceClaim) *resourceapi.ResourceClaim {
	if latest, err := pl.claims.Get(claim.Namespace, claim.Name); err == nil && latest.UID == claim.UID {
		return latest
	}
	return claim
}

// writeClaim makes one attempt. An allocation that is there already must be the one that is to be written.
func (pl *plugin) writeClaim(ctx context.Context, c *podClaim, claim *resourceapi.ResourceClaim, pod *v1.Pod) (*resourceapi.ResourceClaim, error) {
	api := pl.client.ResourceV1().ResourceClaims(claim.Namespace)
	if claim.DeletionTimestamp != nil {
		return nil, fmt.Errorf("claim %s got deleted in the meantime", describe(claim))
	}
	switch {
	case c.allocation == nil && claim.Status.Allocation == nil: // the node was chosen for devices that are gone
		return nil, fmt.Errorf("claim %s got deallocated elsewhere in the meantime", describe(claim))
	case c.allocation == nil:
	case claim.Status.Allocation == nil:
		if err := pl.checkPending(c); err != nil {
			return nil, fmt.Errorf("allocate claim %s: %w", describe(claim), err)
		}
		if !slices.Contains(claim.Finalizers, resourceapi.Finalizer) {
			claim.Finalizers = append(claim.Finalizers, resourceapi.Finalizer)
			updated, err := api.Update(ctx, claim, metav1.UpdateOptions{})
			if err != nil {
				return nil, fmt.Errorf("add finalizer to claim %s: %w", describe(claim), err)
			}
			claim = updated
		}
		claim.Status.Allocation = c.allocation.DeepCopy()
	case !sameDevices(claim.Status.Allocation, c.allocation):
		return nil, fmt.Errorf("claim %s got allocated elsewhere in the meantime", describe(claim))
	}
	if allocation := claim.Status.Allocation; !pl.switches.NoBindingConditions && allocation != nil && allocation.AllocationTimestamp == nil {
		allocation.AllocationTimestamp = pl.now() // from when on devices are waited for, of this scheduler or another
	}
	if !resourceclaim.IsReservedForPod(pod, claim, false) {
		claim.Status.ReservedFor = append(claim.Status.ReservedFor, resourceapi.ResourceClaimConsumerReference{
			Resource: "pods", Name: pod.Name, UID: pod.UID,
		})
	}
	updated, err := api.UpdateStatus(ctx, claim, metav1.UpdateOptions{})
	if err != nil {
		return nil, fmt.Errorf("write allocation and reservation of claim %s: %w", describe(claim), err)
	}
	return updated, nil
}

// checkPending fails if another claim was seen to have a device that is about to be written.
func (pl *plugin) checkPending(c *podClaim) error {
	if pl.manager == nil {
		return nil
	}
	return (*devices.Claims)(pl.manager).CheckPending(c.pendingAs)
}

// sameDevices reports whether an allocation is one that an earlier attempt wrote, whose answer did not arrive.
func sameDevices(written, wanted *resourceapi.AllocationResult) bool {
	return equality.Semantic.DeepEqual(written.Devices.Results, wanted.Devices.Results)
}

const (
	// showEvery is how often the manager is asked whether it knows a claim that was just created, and showFor how long.
	showEvery = 10 * time.Millisecond
	showFor   = 2 * time.Minute
)

// show has the manager show what was written. A claim that was just created has to reach the informer first.
func (pl *plugin) show(ctx context.Context, c *podClaim) error {
	err := pl.claims.AssumeClaimAfterAPICall(c.claim)
	if err == nil || c.index >= 0 {
		return err
	}
	return pl.poll(ctx, showEvery, showFor, func() (bool, error) {
		err := pl.claims.AssumeClaimAfterAPICall(c.claim)
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil, err
	})
}

// deleteClaim deletes a claim for extended resources, whose finalizer no other component removes.
func (pl *plugin) deleteClaim(ctx context.Context, claim *resourceapi.ResourceClaim) error {
	api := pl.client.ResourceV1().ResourceClaims(claim.Namespace)
	again := false
	err := apiwrite.Retry(ctx, apiwrite.IsTransientOrConflict, func() error {
		if again {
			fresh, err := api.Get(ctx, claim.Name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			claim = fresh
		}
		again = true
		if slices.Contains(claim.Finalizers, resourceapi.Finalizer) {
			claim = claim.DeepCopy()
			claim.Finalizers = slices.DeleteFunc(claim.Finalizers, func(f string) bool { return f == resourceapi.Finalizer })
			updated, err := api.Update(ctx, claim, metav1.UpdateOptions{})
			if err != nil {
				return err
			}
			claim = updated
		}
		return api.Delete(ctx, claim.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &claim.UID}})
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete claim %s: %w", describe(claim), err)
	}
	return nil
}

const settleFor = 10 * time.Minute

// settle finds out, in the background, whether an allocation was written whose answer never arrived. Until then its devices
// stay set aside.
func (pl *plugin) settle(claim *resourceapi.ResourceClaim) {
	pl.start(func() {
		ctx := context.Background()
		var found *resourceapi.ResourceClaim
		err := apiwrite.RetryUntil(ctx, settleFor, func(err error) bool { return !apierrors.IsNotFound(err) }, func() error {
			var err error
			found, err = pl.client.ResourceV1().ResourceClaims(claim.Namespace).Get(ctx, claim.Name, metav1.GetOptions{})
			return err
		})
		if err == nil && found.UID == claim.UID && found.Status.Allocation != nil {
			_ = pl.claims.AssumeClaimAfterAPICall(found) // fails if the informer knows a later version, which is as good
		}
		pl.claims.MaybeRemoveClaimPendingAllocation(claim.UID, true)
	})
}
