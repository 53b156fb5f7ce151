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
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
)

// PostFilter implements fwk.PostFilterPlugin: if the devices of a claim that only this pod uses are the blocker, they are given
// back, so that others can be chosen. A claim for extended resources of an earlier attempt is deleted.
func (pl *plugin) PostFilter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, _ fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
	s, err := readState(state)
	switch {
	case errors.Is(err, fwk.ErrNotFound): // another plugin rejected the pod in PreFilter, before this one was asked
		return nil, fwk.AsStatus(fwk.ErrNotFound) // the text is in the condition of the pod, with kube-scheduler too
	case err != nil:
		return nil, fwk.AsStatus(err)
	}
	if len(s.claims) == 0 {
		return nil, fwk.NewStatus(fwk.Unschedulable)
	}
	s.mu.Lock()
	unavailable := sets.List(s.unavailable)
	s.mu.Unlock()
	for _, i := range unavailable {
		claim := s.claims[i].claim
		if s.claims[i].index < 0 || !onlyFor(claim, pod) {
			continue
		}
		if bound, err := pl.isBound(ctx, pod); bound || err != nil {
			return nil, keptForBound(err)
		}
		freed := claim.DeepCopy()
		freed.Status.Allocation, freed.Status.ReservedFor, freed.Status.Devices = nil, nil, nil
		if _, err := pl.client.ResourceV1().ResourceClaims(claim.Namespace).UpdateStatus(ctx, freed, metav1.UpdateOptions{}); err != nil {
			return nil, fwk.AsStatus(fmt.Errorf("deallocate claim %s: %w", describe(claim), err))
		}
		return nil, fwk.NewStatus(fwk.Unschedulable, "deallocation of ResourceClaim completed")
	}
	if s.extended != nil && s.extended.stale {
		if bound, err := pl.isBound(ctx, pod); bound || err != nil {
			return nil, keptForBound(err)
		}
		if err := pl.deleteClaim(ctx, s.extended.claim); err != nil {
			return nil, fwk.AsStatus(err)
		}
		return nil, fwk.NewStatus(fwk.Unschedulable, "deletion of ResourceClaim completed")
	}
	return nil, fwk.NewStatus(fwk.Unschedulable)
}

// keptForBound is the status of a pod whose devices are left alone, because it is bound or that can't be found out.
func keptForBound(err error) *fwk.Status {
	if err != nil {
		return fwk.AsStatus(err)
	}
	return fwk.NewStatus(fwk.Unschedulable, "the pod is bound already")
}

// PodGroupPostFilter implements fwk.PodGroupPostFilterPlugin. Groups are not scheduled as one.
func (pl *plugin) PodGroupPostFilter(
	context.Context, fwk.PodGroupCycleState, fwk.PodGroupInfo, fwk.PodGroupSchedulingFunc,
) (*fwk.PodGroupPostFilterResult, *fwk.Status) {
	return nil, fwk.NewStatus(fwk.Unschedulable)
}

// onlyFor reports whether a claim is reserved for no pod but, perhaps, this one.
func onlyFor(claim *resourceapi.ResourceClaim, pod *v1.Pod) bool {
	users := claim.Status.ReservedFor
	return len(users) == 0 || len(users) == 1 && users[0].UID == pod.UID
}
