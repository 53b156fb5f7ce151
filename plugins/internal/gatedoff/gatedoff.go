// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gatedoff has the in-tree plugins whose feature gate is off by default, as they are while it is: profiles may
// name them, and they do nothing. Rouse has no part of what they do with their gate on.
package gatedoff

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"
)

// The names of the plugins.
const (
	GangScheduling             = "GangScheduling"
	DeferredPodScheduling      = "DeferredPodScheduling"
	PodGroupPodsCount          = "PodGroupPodsCount"
	TopologyPlacementGenerator = "TopologyPlacementGenerator"
)

// Gates returns the feature gate of each plugin, a fresh map each call.
func Gates() map[string]string {
	return map[string]string{
		GangScheduling:             "GenericWorkload",
		DeferredPodScheduling:      "InPlacePodVerticalScalingSchedulerPreemption",
		PodGroupPodsCount:          "TopologyAwareWorkloadScheduling",
		TopologyPlacementGenerator: "TopologyAwareWorkloadScheduling",
	}
}

// base is the name of a plugin that waits for no events.
type base string

// Name implements fwk.Plugin.
func (b base) Name() string { return string(b) }

// EventsToRegister implements fwk.EnqueueExtensions: no pod is ever rejected.
func (base) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) { return nil, nil }

// gang accepts every pod at its extension points.
type gang struct{ base }

var (
	_ fwk.PreEnqueuePlugin        = gang{}
	_ fwk.PermitPlugin            = gang{}
	_ fwk.PreFilterPlugin         = deferred{}
	_ fwk.FilterPlugin            = deferred{}
	_ fwk.PermitPlugin            = deferred{}
	_ fwk.PlacementScorePlugin    = podsCount("")
	_ fwk.PlacementGeneratePlugin = generator("")
)

// NewGangScheduling returns GangScheduling.
func NewGangScheduling(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) {
	return gang{GangScheduling}, nil
}

// PreEnqueue implements fwk.PreEnqueuePlugin.
func (gang) PreEnqueue(context.Context, *v1.Pod) *fwk.Status { return nil }

// Permit implements fwk.PermitPlugin.
func (gang) Permit(context.Context, fwk.CycleState, *v1.Pod, string) (*fwk.Status, time.Duration) {
	return nil, 0
}

// deferred skips its Filter for every pod.
type deferred struct{ base }

// NewDeferredPodScheduling returns DeferredPodScheduling.
func NewDeferredPodScheduling(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) {
	return deferred{DeferredPodScheduling}, nil
}

// PreFilter implements fwk.PreFilterPlugin.
func (deferred) PreFilter(context.Context, fwk.CycleState, *v1.Pod, []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	return nil, fwk.NewStatus(fwk.Skip)
}

// PreFilterExtensions implements fwk.PreFilterPlugin.
func (deferred) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

// Filter implements fwk.FilterPlugin.
func (deferred) Filter(context.Context, fwk.CycleState, *v1.Pod, fwk.NodeInfo) *fwk.Status {
	return nil
}

// Permit implements fwk.PermitPlugin.
func (deferred) Permit(context.Context, fwk.CycleState, *v1.Pod, string) (*fwk.Status, time.Duration) {
	return nil, 0
}

// podsCount scores all placements alike.
type podsCount string

// NewPodGroupPodsCount returns PodGroupPodsCount.
func NewPodGroupPodsCount(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) {
	return podsCount(PodGroupPodsCount), nil
}

// Name implements fwk.Plugin.
func (p podsCount) Name() string { return string(p) }

// ScorePlacement implements fwk.PlacementScorePlugin.
func (podsCount) ScorePlacement(context.Context, fwk.PlacementCycleState, fwk.PodGroupInfo, *fwk.PodGroupAssignments) (int64, *fwk.Status) {
	return 0, nil
}

// PlacementScoreExtensions implements fwk.PlacementScorePlugin.
func (podsCount) PlacementScoreExtensions() fwk.PlacementScoreExtensions { return nil }

// generator leaves a placement as it is.
type generator string

// NewTopologyPlacementGenerator returns TopologyPlacementGenerator.
func NewTopologyPlacementGenerator(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) {
	return generator(TopologyPlacementGenerator), nil
}

// Name implements fwk.Plugin.
func (g generator) Name() string { return string(g) }

// GeneratePlacements implements fwk.PlacementGeneratePlugin.
func (generator) GeneratePlacements(_ context.Context, _ fwk.PodGroupCycleState, _ fwk.PodGroupInfo, parent *fwk.Placement) (*fwk.GeneratePlacementsResult, *fwk.Status) {
	return &fwk.GeneratePlacementsResult{Placements: []*fwk.Placement{parent}}, nil
}
