// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package noderesourcesfit is the plugin NodeResourcesFit: a node takes a pod only if what the pod requests is still free
// there, and nodes are scored by how full the pod would leave them.
//
//   - Extension points: PreFilter, Filter, PreScore, Score, PlacementScore, Sign.
//   - Arguments: NodeResourcesFitArgs. Resources that Filter ignores, by name or by group; the scoring strategy
//     (LeastAllocated, MostAllocated or RequestedToCapacityRatio) and the resources that it weighs.
//   - Wakes on: an assigned pod is deleted or shrinks; a node is added or gets more of a requested resource; the pod
//     itself shrinks; a DeviceClass begins to serve a requested resource.
//   - Reads: the requests of the pod, and what the node offers and has given to its pods. Where the node lacks a
//     requested extended resource, also whether a DeviceClass serves it; where that resource is scored, the devices that
//     serve it on the node.
//
// Filter and Score count a pod differently. Filter goes by the plain requests, pod-level ones included. Score gives every
// container without a request 100 thousandths of a core and 200 MiB, so that pods without requests spread too, and does
// not look at pod-level requests.
package noderesourcesfit

import (
	"context"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/noderesources"
	"github.com/rouse-scheduler/rouse/plugins/internal/pluginargs"
	"github.com/rouse-scheduler/rouse/profiles"
)

// Name is the name of the plugin in profiles.
const Name = "NodeResourcesFit"

// ReasonTooManyPods is why a node is rejected that takes no further pod. Other reasons are "Insufficient " and the name
// of the resource.
const ReasonTooManyPods = "Too many pods"

var (
	_ fwk.PreFilterPlugin      = &plugin{}
	_ fwk.FilterPlugin         = &plugin{}
	_ fwk.PreScorePlugin       = &plugin{}
	_ fwk.ScorePlugin          = &plugin{}
	_ fwk.PlacementScorePlugin = &plugin{}
	_ fwk.EnqueueExtensions    = &plugin{}
	_ fwk.SignPlugin           = &plugin{}
)

// plugin implements NodeResourcesFit. Nothing in it changes after New but the tables, which have locks.
type plugin struct {
	classes    noderesources.DeviceClasses
	ignored    ignoredResources
	resources  []noderesources.WeightedResource
	scoring    strategy
	rejections *rejections
	free       *framework.NodeTable[freeResources]
	pair       noderesources.Pair
	pairs      *framework.NodeTable[pairShares]
}

// ignoredResources are extended resources that Filter leaves to other schedulers or extenders.
type ignoredResources struct {
	names  sets.Set[v1.ResourceName]
	groups sets.Set[string]
}

// New builds the plugin from *configv1.NodeResourcesFitArgs, where nil means all defaults.
func New(_ context.Context, object apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	args, err := pluginargs.Of[configv1.NodeResourcesFitArgs](Name, object)
	if err != nil {
		return nil, err
	}
	if err := profiles.ValidateArgs(Name, nil, args).ToAggregate(); err != nil {
		return nil, err
	}
	names := sets.New[v1.ResourceName]()
	for _, name := range args.IgnoredResources {
		names.Insert(v1.ResourceName(name))
	}
	resources := noderesources.NewWeightedResources(args.ScoringStrategy.Resources)
	pair := noderesources.FindPair(resources)
	return &plugin{
		classes:    noderesources.NewDeviceClasses(handle),
		ignored:    ignoredResources{names: names, groups: sets.New(args.IgnoredResourceGroups...)},
		resources:  resources,
		scoring:    newStrategy(args.ScoringStrategy),
		rejections: newRejections(),
		free:       framework.NewNodeTable(newFreeResources),
		pair:       pair,
		pairs: framework.NewNodeTable(func(node fwk.NodeInfo) pairShares {
			return newPairShares(node, resources, pair)
		}),
	}, nil
}

// Name implements fwk.Plugin.
func (pl *plugin) Name() string { return Name }
