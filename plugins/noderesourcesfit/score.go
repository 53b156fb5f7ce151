// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package noderesourcesfit

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	podresource "k8s.io/component-helpers/resource"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/noderesources"
	"github.com/rouse-scheduler/rouse/plugins/internal/statedata"
)

const preScoreKey fwk.StateKey = "PreScore" + Name

// scoredRequest is what the pod being scheduled counts when nodes are compared, one number for each weighted resource.
type scoredRequest struct {
	amounts []int64
	served  *noderesources.Served
}

// Clone implements fwk.StateData; the request never changes and is shared.
func (s *scoredRequest) Clone() fwk.StateData { return s }

// PreScore implements fwk.PreScorePlugin. It never skips Score.
func (pl *plugin) PreScore(_ context.Context, state fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo) *fwk.Status {
	request, err := pl.newScoredRequest(pod)
	if err != nil {
		return fwk.AsStatus(err)
	}
	state.Write(preScoreKey, request)
	return nil
}

// Score implements fwk.ScorePlugin. It works without PreScore too. Where devices serve an extended resource that the node
// does not offer itself, they are counted.
func (pl *plugin) Score(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodeInfo fwk.NodeInfo) (int64, *fwk.Status) {
	if len(pl.resources) == 0 {
		return 0, fwk.NewStatus(fwk.Error, "resources not found")
	}
	request, err := statedata.Read[*scoredRequest](state, preScoreKey)
	if err != nil {
		if request, err = pl.newScoredRequest(pod); err != nil {
			return 0, fwk.AsStatus(err)
		}
	}
	sum := weightedSum{strategy: pl.scoring}
	for i := range pl.resources {
		resource, requested := &pl.resources[i], request.amounts[i]
		if allocatable := resource.Allocatable(nodeInfo, requested); allocatable != 0 {
			sum.add(resource.Weight, taken(resource, nodeInfo)+requested, allocatable)
		} else if count := request.served.On(ctx, nodeInfo.Node(), i); count.Devices != 0 {
			sum.add(resource.Weight, count.Allocated+requested, count.Devices)
		}
	}
	return sum.score(), nil
}

// ScoreExtensions implements fwk.ScorePlugin; scores need no normalisation.
func (pl *plugin) ScoreExtensions() fwk.ScoreExtensions { return nil }

// defaultRequest is what counts for a container that does not ask for a resource.
func defaultRequest(name v1.ResourceName) int64 {
	switch name {
	case v1.ResourceCPU:
		return framework.DefaultMilliCPURequest
	case v1.ResourceMemory:
		return framework.DefaultMemoryRequest
	default:
		return 0
	}
}

// newScoredRequest counts the containers by their spec, pod-level requests ignored, with the defaults for those that
// ask for no CPU or memory.
func (pl *plugin) newScoredRequest(pod *v1.Pod) (*scoredRequest, error) {
	amounts := pl.scoredAmounts(pod)
	served, err := pl.classes.Served(pl.resources, amounts)
	return &scoredRequest{amounts: amounts, served: served}, err
}

func (pl *plugin) scoredAmounts(pod *v1.Pod) []int64 {
	if only, ok := framework.OnlyRequests(pod); ok {
		amounts := noderesources.Requested(pl.resources, only)
		for i := range pl.resources {
			if _, asked := only[pl.resources[i].Name]; !asked {
				amounts[i] = defaultRequest(pl.resources[i].Name)
			}
		}
		return amounts
	}
	requests := podresource.PodRequests(pod, podresource.PodResourcesOptions{
		SkipPodLevelResources: true,
		NonMissingContainerRequests: v1.ResourceList{
			v1.ResourceCPU:    *resource.NewMilliQuantity(framework.DefaultMilliCPURequest, resource.DecimalSI),
			v1.ResourceMemory: *resource.NewQuantity(framework.DefaultMemoryRequest, resource.BinarySI),
		},
	})
	return noderesources.Requested(pl.resources, requests)
}

// taken returns what the pods on a node count, with the defaults where they apply.
func taken(resource *noderesources.WeightedResource, nodeInfo fwk.NodeInfo) int64 {
	if resource.IsComputeResource() {
		return framework.AmountOf(framework.View(nodeInfo).NonZeroRequested(), resource.Name)
	}
	return framework.AmountOf(framework.View(nodeInfo).Requested(), resource.Name)
}
