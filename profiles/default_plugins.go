// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package profiles

import (
	configv1 "k8s.io/kube-scheduler/config/v1"
	"k8s.io/utils/ptr"
)

// DefaultPlugins returns the plugins that are enabled at MultiPoint by default, in
// order, a fresh slice each call. A nil weight counts as 1.
func DefaultPlugins() []configv1.Plugin {
	weighted := func(name string, weight int32) configv1.Plugin {
		return configv1.Plugin{Name: name, Weight: ptr.To(weight)}
	}
	return []configv1.Plugin{
		{Name: "SchedulingGates"},
		{Name: "PrioritySort"},
		{Name: "NodeName"},
		{Name: "NodeUnschedulable"},
		weighted("TaintToleration", 3),
		weighted("NodeAffinity", 2),
		{Name: "NodePorts"},
		weighted("NodeResourcesFit", 1),
		{Name: "VolumeRestrictions"},
		{Name: "NodeVolumeLimits"},
		{Name: "VolumeBinding"},
		{Name: "VolumeZone"},
		weighted("PodTopologySpread", 2),
		weighted("InterPodAffinity", 2),
		weighted("DynamicResources", 2),
		{Name: "DefaultPreemption"},
		weighted("NodeResourcesBalancedAllocation", 1),
		weighted("ImageLocality", 1),
		{Name: "DefaultBinder"},
		{Name: "NodeDeclaredFeatures"},
	}
}

// removedPlugins are plugins of earlier versions, with what replaced them.
func removedPlugins() map[string]string {
	const replacement = "NodeVolumeLimits"
	return map[string]string{
		"AzureDiskLimits": replacement,
		"CinderLimits":    replacement,
		"EBSLimits":       replacement,
		"GCEPDLimits":     replacement,
	}
}

// weightOf returns the weight that counts: 1 where none or 0 is written.
func weightOf(plugin configv1.Plugin) int32 {
	if weight := ptr.Deref(plugin.Weight, 0); weight != 0 {
		return weight
	}
	return 1
}
