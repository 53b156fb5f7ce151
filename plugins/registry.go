// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package plugins

import (
	"maps"

	"github.com/rouse-scheduler/rouse/plugins/defaultbinder"
	"github.com/rouse-scheduler/rouse/plugins/defaultpreemption"
	"github.com/rouse-scheduler/rouse/plugins/dynamicresources"
	"github.com/rouse-scheduler/rouse/plugins/imagelocality"
	"github.com/rouse-scheduler/rouse/plugins/internal/gatedoff"
	"github.com/rouse-scheduler/rouse/plugins/interpodaffinity"
	"github.com/rouse-scheduler/rouse/plugins/nodeaffinity"
	"github.com/rouse-scheduler/rouse/plugins/nodedeclaredfeatures"
	"github.com/rouse-scheduler/rouse/plugins/nodename"
	"github.com/rouse-scheduler/rouse/plugins/nodeports"
	"github.com/rouse-scheduler/rouse/plugins/noderesourcesbalancedallocation"
	"github.com/rouse-scheduler/rouse/plugins/noderesourcesfit"
	"github.com/rouse-scheduler/rouse/plugins/nodeunschedulable"
	"github.com/rouse-scheduler/rouse/plugins/nodevolumelimits"
	"github.com/rouse-scheduler/rouse/plugins/podtopologyspread"
	"github.com/rouse-scheduler/rouse/plugins/prioritysort"
	"github.com/rouse-scheduler/rouse/plugins/schedulinggates"
	"github.com/rouse-scheduler/rouse/plugins/tainttoleration"
	"github.com/rouse-scheduler/rouse/plugins/volumebinding"
	"github.com/rouse-scheduler/rouse/plugins/volumerestrictions"
	"github.com/rouse-scheduler/rouse/plugins/volumezone"
	"github.com/rouse-scheduler/rouse/runtime"
)

// NewInTreeRegistry returns a new registry with every in-tree plugin, to which the caller may add its own. Plugins whose
// feature gate is off by default are registered too and do nothing. Every factory accepts nil arguments, which mean all
// defaults. Some plugins are only built with a handle that has an informer factory.
func NewInTreeRegistry() runtime.Registry {
	registry := builtPlugins()
	maps.Copy(registry, gatedOff())
	return registry
}

func builtPlugins() runtime.Registry {
	return runtime.Registry{
		defaultbinder.Name:                   defaultbinder.New,
		defaultpreemption.Name:               defaultpreemption.New,
		dynamicresources.Name:                dynamicresources.New,
		imagelocality.Name:                   imagelocality.New,
		interpodaffinity.Name:                interpodaffinity.New,
		nodeaffinity.Name:                    nodeaffinity.New,
		nodedeclaredfeatures.Name:            nodedeclaredfeatures.New,
		nodename.Name:                        nodename.New,
		nodeports.Name:                       nodeports.New,
		noderesourcesbalancedallocation.Name: noderesourcesbalancedallocation.New,
		noderesourcesfit.Name:                noderesourcesfit.New,
		nodeunschedulable.Name:               nodeunschedulable.New,
		nodevolumelimits.Name:                nodevolumelimits.New,
		podtopologyspread.Name:               podtopologyspread.New,
		prioritysort.Name:                    prioritysort.New,
		schedulinggates.Name:                 schedulinggates.New,
		tainttoleration.Name:                 tainttoleration.New,
		volumebinding.Name:                   volumebinding.New,
		volumerestrictions.Name:              volumerestrictions.New,
		volumezone.Name:                      volumezone.New,
	}
}

func gatedOff() runtime.Registry {
	return runtime.Registry{
		gatedoff.GangScheduling:             gatedoff.NewGangScheduling,
		gatedoff.DeferredPodScheduling:      gatedoff.NewDeferredPodScheduling,
		gatedoff.PodGroupPodsCount:          gatedoff.NewPodGroupPodsCount,
		gatedoff.TopologyPlacementGenerator: gatedoff.NewTopologyPlacementGenerator,
	}
}
