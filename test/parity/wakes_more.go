// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// This file knows for which events Rouse wakes pods on purpose that kube-scheduler leaves asleep; docs/differences.md
// says why.

// moreEvents returns the events that plugins of Rouse register in addition to those that kube-scheduler's register.
func moreEvents(plugin string) []fwk.ClusterEvent {
	switch plugin {
	case "InterPodAffinity":
		return []fwk.ClusterEvent{
			{Resource: fwk.Node, ActionType: fwk.Delete}, {Resource: framework.Namespace, ActionType: fwk.Add | fwk.Update},
		}
	case "PodTopologySpread":
		return []fwk.ClusterEvent{{Resource: fwk.AssignedPod, ActionType: fwk.Update}}
	case "VolumeRestrictions":
		return []fwk.ClusterEvent{{Resource: fwk.Node, ActionType: fwk.Delete}}
	case "NodeVolumeLimits":
		return []fwk.ClusterEvent{
			{Resource: fwk.Node, ActionType: fwk.Add}, {Resource: fwk.CSINode, ActionType: fwk.Delete},
			{Resource: fwk.CSIDriver, ActionType: fwk.Update | fwk.Delete},
			{Resource: fwk.PersistentVolumeClaim, ActionType: fwk.Update},
		}
	case "DefaultPreemption":
		return []fwk.ClusterEvent{
			{Resource: fwk.Node, ActionType: fwk.Delete | fwk.UpdateNodeLabel | fwk.UpdateNodeTaint | fwk.UpdateNodeAllocatable | fwk.UpdateNodeDeclaredFeature},
			{Resource: fwk.TargetPod, ActionType: fwk.Update},
		}
	case dynamicResources:
		return []fwk.ClusterEvent{{Resource: fwk.ResourceSlice, ActionType: fwk.Delete}}
	case "VolumeBinding":
		return []fwk.ClusterEvent{{Resource: fwk.CSIDriver, ActionType: fwk.Delete}}
	}
	return nil
}

// withoutMoreEvents leaves out what a plugin registers in addition to what kube-scheduler's does.
func withoutMoreEvents(plugin string, events []fwk.ClusterEventWithHint) []fwk.ClusterEventWithHint {
	return slices.DeleteFunc(slices.Clone(events), func(e fwk.ClusterEventWithHint) bool {
		return slices.Contains(moreEvents(plugin), e.Event)
	})
}

// withoutMoreInterest leaves out the plugins that an event concerns only because of what they register in addition.
func withoutMoreInterest(our, their sets.Set[string], event fwk.ClusterEvent) sets.Set[string] {
	left := our.Clone()
	for plugin := range our {
		more := slices.ContainsFunc(moreEvents(plugin), func(registered fwk.ClusterEvent) bool { return framework.Matches(registered, event) })
		if more && !their.Has(plugin) {
			left.Delete(plugin)
		}
	}
	return left
}
