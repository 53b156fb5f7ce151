// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package dynamicresources

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// Score implements fwk.ScorePlugin: a node is the better the earlier the alternatives are that were chosen on it, of all
// requests that have alternatives.
func (pl *plugin) Score(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodeInfo fwk.NodeInfo) (int64, *fwk.Status) {
	s, err := readState(state)
	if err != nil {
		return 0, fwk.AsStatus(err)
	}
	if len(s.claims) == 0 || !s.choosy {
		return 0, nil
	}
	chosen := s.allocationOn(nodeInfo.Node().Name)
	if chosen == nil && pl.manager != nil {
		chosen, _, _ = pl.choose(ctx, s, pod, nodeInfo, false)
	}
	if chosen == nil { // Filter rejects the node, or was not asked because another plugin does
		return 0, nil
	}
	var sum int64
	var allocated []*resourceapi.ResourceClaim
	for _, c := range s.claims {
		switch {
		case c.allocated():
			sum += scoreAlternatives(c.claim, c.claim.Status.Allocation)
		case c.index >= 0:
			allocated = append(allocated, c.claim)
		}
	}
	switch {
	case chosen.known != nil:
		return sum + chosen.known.score, nil
	case len(chosen.results) < len(allocated):
		missing := allocated[len(chosen.results)]
		return 0, fwk.AsStatus(fmt.Errorf("claim allocation not found for claim %s on node %s", describe(missing), nodeInfo.Node().Name))
	}
	return sum + scoreResults(allocated, chosen.results), nil
}

// scoreResults is the score of what was allocated for claims. Those for extended resources, which come last, have no
// alternatives.
func scoreResults(claims []*resourceapi.ResourceClaim, results []resourceapi.AllocationResult) int64 {
	var sum int64
	for i := range min(len(claims), len(results)) {
		sum += scoreAlternatives(claims[i], &results[i])
	}
	return sum
}

// ScoreExtensions implements fwk.ScorePlugin.
func (pl *plugin) ScoreExtensions() fwk.ScoreExtensions { return pl }

// NormalizeScore implements fwk.ScoreExtensions.
func (pl *plugin) NormalizeScore(_ context.Context, _ fwk.CycleState, _ *v1.Pod, scores fwk.NodeScoreList) *fwk.Status {
	return framework.DefaultNormalizeScore(fwk.MaxScore, false, scores)
}

// scoreAlternatives is the sum over the requests with alternatives: the first gives most.
func scoreAlternatives(claim *resourceapi.ResourceClaim, allocation *resourceapi.AllocationResult) int64 {
	var sum int64
	for i := range claim.Spec.Devices.Requests {
		request := &claim.Spec.Devices.Requests[i]
		for rank := range request.FirstAvailable {
			name := resourceclaim.CreateSubRequestRef(request.Name, request.FirstAvailable[rank].Name)
			if slices.ContainsFunc(allocation.Devices.Results, func(result resourceapi.DeviceRequestAllocationResult) bool {
				return result.Request == name
			}) {
				sum += int64(resourceapi.FirstAvailableDeviceRequestMaxSize - rank)
				break
			}
		}
	}
	return sum
}
