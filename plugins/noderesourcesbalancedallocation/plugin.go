// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package noderesourcesbalancedallocation is the plugin NodeResourcesBalancedAllocation: nodes are preferred on which the
// pod would make the use of the different resources more even, so that no node runs out of one while another lies idle.
//
//   - Extension points: PreScore, Score, Sign.
//   - Arguments: NodeResourcesBalancedAllocationArgs, the resources to balance.
//   - Wakes on: nothing, since it rejects no pod.
//   - Reads: the requests of the pod, and what the node offers and has given to its pods; where the node lacks a requested
//     extended resource that is balanced, the devices that serve it there.
package noderesourcesbalancedallocation

import (
	"context"

	apiruntime "k8s.io/apimachinery/pkg/runtime"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/noderesources"
	"github.com/rouse-scheduler/rouse/plugins/internal/pluginargs"
	"github.com/rouse-scheduler/rouse/profiles"
)

// Name is the name of the plugin in profiles.
const Name = "NodeResourcesBalancedAllocation"

var (
	_ fwk.PreScorePlugin = &plugin{}
	_ fwk.ScorePlugin    = &plugin{}
	_ fwk.SignPlugin     = &plugin{}
)

// plugin implements NodeResourcesBalancedAllocation. Nothing in it changes after New but the pairs, which have a lock.
type plugin struct {
	classes   noderesources.DeviceClasses
	resources []noderesources.WeightedResource
	pair      noderesources.Pair
	pairs     *framework.NodeTable[pairBalance]
}

// New builds the plugin from *configv1.NodeResourcesBalancedAllocationArgs, where nil means all defaults.
func New(_ context.Context, object apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	args, err := pluginargs.Of[configv1.NodeResourcesBalancedAllocationArgs](Name, object)
	if err != nil {
		return nil, err
	}
	if err := profiles.ValidateArgs(Name, nil, args).ToAggregate(); err != nil {
		return nil, err
	}
	resources := noderesources.NewWeightedResources(args.Resources)
	pair := noderesources.FindPair(resources)
	return &plugin{
		classes:   noderesources.NewDeviceClasses(handle),
		resources: resources,
		pair:      pair,
		pairs: framework.NewNodeTable(func(node fwk.NodeInfo) pairBalance {
			return newPairBalance(node, resources, pair)
		}),
	}, nil
}

// Name implements fwk.Plugin.
func (pl *plugin) Name() string { return Name }
