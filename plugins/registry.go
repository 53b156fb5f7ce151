// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package plugins

import (
	"maps"

	"github.com/rouse-scheduler/rouse/plugins/defaultbinder"
	"github.com/rouse-scheduler/rouse/plugins/imagelocality"
	"github.com/rouse-scheduler/rouse/plugins/nodeaffinity"
	"github.com/rouse-scheduler/rouse/plugins/nodename"
	"github.com/rouse-scheduler/rouse/plugins/nodeports"
	"github.com/rouse-scheduler/rouse/plugins/noderesourcesbalancedallocation"
	"github.com/rouse-scheduler/rouse/plugins/noderesourcesfit"
	"github.com/rouse-scheduler/rouse/plugins/nodeunschedulable"
	"github.com/rouse-scheduler/rouse/plugins/notbuilt"
	"github.com/rouse-scheduler/rouse/plugins/prioritysort"
	"github.com/rouse-scheduler/rouse/plugins/schedulinggates"
	"github.com/rouse-scheduler/rouse/plugins/tainttoleration"
	"github.com/rouse-scheduler/rouse/runtime"
)

// NewInTreeRegistry returns a new registry with every in-tree plugin, to which the caller may add its own. Plugins that
// are not built yet are there as stand-ins. Every factory accepts nil arguments, which mean all defaults.
func NewInTreeRegistry() runtime.Registry {
	registry := builtPlugins()
	maps.Copy(registry, standIns())
	return registry
}

func builtPlugins() runtime.Registry {
	return runtime.Registry{
		defaultbinder.Name:                   defaultbinder.New,
		imagelocality.Name:                   imagelocality.New,
		nodeaffinity.Name:                    nodeaffinity.New,
		nodename.Name:                        nodename.New,
		nodeports.Name:                       nodeports.New,
		noderesourcesbalancedallocation.Name: noderesourcesbalancedallocation.New,
		noderesourcesfit.Name:                noderesourcesfit.New,
		nodeunschedulable.Name:               nodeunschedulable.New,
		prioritysort.Name:                    prioritysort.New,
		schedulinggates.Name:                 schedulinggates.New,
		tainttoleration.Name:                 tainttoleration.New,
	}
}

func standIns() runtime.Registry {
	return runtime.Registry{
		notbuilt.DefaultPreemption:    notbuilt.NewDefaultPreemption,
		notbuilt.DynamicResources:     notbuilt.NewDynamicResources,
		notbuilt.InterPodAffinity:     notbuilt.NewInterPodAffinity,
		notbuilt.NodeDeclaredFeatures: notbuilt.NewNodeDeclaredFeatures,
		notbuilt.NodeVolumeLimits:     notbuilt.NewNodeVolumeLimits,
		notbuilt.PodTopologySpread:    notbuilt.NewPodTopologySpread,
		notbuilt.VolumeBinding:        notbuilt.NewVolumeBinding,
		notbuilt.VolumeRestrictions:   notbuilt.NewVolumeRestrictions,
		notbuilt.VolumeZone:           notbuilt.NewVolumeZone,
	}
}
