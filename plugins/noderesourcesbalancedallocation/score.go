// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package noderesourcesbalancedallocation

import (
	"context"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/noderesources"
	"github.com/rouse-scheduler/rouse/plugins/internal/statedata"
)

const preScoreKey fwk.StateKey = "PreScore" + Name

// balancedRequest is what the pod being scheduled requests, one number for each balanced resource.
type balancedRequest struct {
	amounts []int64
	served  *noderesources.Served
}

// Clone implements fwk.StateData; the request never changes and is shared.
func (b *balancedRequest) Clone() fwk.StateData { return b }

// PreScore implements fwk.PreScorePlugin. It skips a pod that requests none of the balanced resources.
func (pl *plugin) PreScore(_ context.Context, state fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo) *fwk.Status {
	request, err := pl.newBalancedRequest(pod)
	if err != nil {
		return fwk.AsStatus(err)
	}
	if request.isEmpty() {
		return fwk.NewStatus(fwk.Skip)
	}
	state.Write(preScoreKey, request)
	return nil
}

// Score implements fwk.ScorePlugin: 75 where the pod leaves the balance as it is, up to 100 where it improves it and
// down to 50 where it makes it worse. Without PreScore, a pod without requests scores 0 everywhere.
func (pl *plugin) Score(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodeInfo fwk.NodeInfo) (int64, *fwk.Status) {
	request, err := statedata.Read[*balancedRequest](state, preScoreKey)
	if err != nil {
		if request, err = pl.newBalancedRequest(pod); err != nil {
			return 0, fwk.AsStatus(err)
		}
		if request.isEmpty() {
			return 0, nil
		}
	}
	var buffer [2 * expectedResources]float64
	before, after := buffer[:0:expectedResources], buffer[expectedResources:expectedResources]
	for i := range pl.resources {
		resource, requested := &pl.resources[i], request.amounts[i]
		allocatable, allocated := resource.Allocatable(nodeInfo, requested), framework.AmountOf(framework.View(nodeInfo).Requested(), resource.Name)
		if allocatable == 0 {
			count := request.served.On(ctx, nodeInfo.Node(), i)
			allocatable, allocated = count.Devices, count.Allocated
		}
		if allocatable != 0 {
			before = append(before, fraction(allocated, allocatable))
			after = append(after, fraction(allocated+requested, allocatable))
		}
	}
	return score(balance(deviation(before)), balance(deviation(after))), nil
}

// score is better the more the balance of a node grows.
func score(before, after int64) int64 {
	const unchanged = fwk.MaxScore / 2
	return unchanged + (unchanged+after-before)/2
}

// ScoreExtensions implements fwk.ScorePlugin; scores need no normalisation.
func (pl *plugin) ScoreExtensions() fwk.ScoreExtensions { return nil }

// newBalancedRequest counts plain requests, without defaults for containers that have none.
func (pl *plugin) newBalancedRequest(pod *v1.Pod) (*balancedRequest, error) {
	amounts := noderesources.Requested(pl.resources, noderesources.RunningRequest(pod))
	served, err := pl.classes.Served(pl.resources, amounts)
	return &balancedRequest{amounts: amounts, served: served}, err
}

func (b *balancedRequest) isEmpty() bool {
	for _, amount := range b.amounts {
		if amount != 0 {
			return false
		}
	}
	return true
}
