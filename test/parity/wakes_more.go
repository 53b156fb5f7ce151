// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	clientcache "k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// This file knows where Rouse wakes pods on purpose that kube-scheduler leaves asleep; docs/differences.md says why.

// moreEvents returns the events that plugins of Rouse register beside those that kube-scheduler's register.
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
	case "VolumeBinding":
		return []fwk.ClusterEvent{{Resource: fwk.CSIDriver, ActionType: fwk.Delete}}
	}
	return nil
}

// withoutMoreEvents leaves out what a plugin registers beside what kube-scheduler's does.
func withoutMoreEvents(plugin string, events []fwk.ClusterEventWithHint) []fwk.ClusterEventWithHint {
	return slices.DeleteFunc(slices.Clone(events), func(e fwk.ClusterEventWithHint) bool {
		return slices.Contains(moreEvents(plugin), e.Event)
	})
}

// withoutMoreInterest leaves out the plugins that an event concerns only because of what they register beside.
func withoutMoreInterest(our, their sets.Set[string], event fwk.ClusterEvent) sets.Set[string] {
	left := our.Clone()
	for plugin := range our {
		beside := slices.ContainsFunc(moreEvents(plugin), func(registered fwk.ClusterEvent) bool { return framework.Matches(registered, event) })
		if beside && !their.Has(plugin) {
			left.Delete(plugin)
		}
	}
	return left
}

// wakesMore tells whether the hint of a plugin of Rouse may wake a pod that kube-scheduler's leaves asleep.
func wakesMore(plugin string, c hintCase) bool {
	switch plugin {
	case "InterPodAffinity":
		return wakesMoreForAffinity(c)
	case "PodTopologySpread":
		before, now := nodes(c)
		return before != nil && now != nil && !maps.Equal(before.Labels, now.Labels) &&
			(len(c.pod.Spec.NodeSelector) > 0 || requiresOfNodes(c.pod))
	case "NodeResourcesFit":
		_, now := nodes(c)
		return now != nil // resources that the profile ignores
	case "VolumeRestrictions":
		deleted, _ := objects[*v1.Pod](c)
		return deleted != nil && deleted.Namespace != c.pod.Namespace
	case "NodeVolumeLimits":
		_, csiNode := objects[*storagev1.CSINode](c)
		detached, _ := objects[*storagev1.VolumeAttachment](c)
		return csiNode != nil || detached != nil && slices.ContainsFunc(c.pod.Spec.Volumes, isEphemeral)
	case "VolumeBinding":
		before, now := objects[*storagev1.CSIDriver](c)
		return before != nil && now != nil && before.Spec.StorageCapacity != nil && *before.Spec.StorageCapacity
	}
	return false
}

// wakesMoreForAffinity is about new nodes for pods without affinity, pods that may be the first of their kind, and
// namespaces that are selected by label.
func wakesMoreForAffinity(c hintCase) bool {
	affinity := fwk.GetPodAffinityTerms(c.pod.Spec.Affinity)
	if before, now := nodes(c); now != nil {
		return before == nil && len(affinity) == 0 || before != nil && !maps.Equal(before.Labels, now.Labels)
	}
	before, now := objects[*v1.Pod](c)
	terms := slices.Concat(affinity, fwk.GetPodAntiAffinityTerms(c.pod.Spec.Affinity))
	if before != nil {
		terms = append(terms, fwk.GetPodAntiAffinityTerms(before.Spec.Affinity)...)
	}
	selectsNamespaces := slices.ContainsFunc(terms, func(term v1.PodAffinityTerm) bool { return term.NamespaceSelector != nil })
	return selectsNamespaces && (before != nil || now != nil) || before != nil && len(affinity) > 0
}

func requiresOfNodes(pod *v1.Pod) bool {
	return pod.Spec.Affinity != nil && pod.Spec.Affinity.NodeAffinity != nil
}

func isEphemeral(volume v1.Volume) bool { return volume.Ephemeral != nil }

func nodes(c hintCase) (before, now *v1.Node) { return objects[*v1.Node](c) }

// objects returns the objects of a case if they are of a kind.
func objects[T any](c hintCase) (before, now T) {
	oldObj := c.oldObj
	if tombstone, ok := oldObj.(clientcache.DeletedFinalStateUnknown); ok {
		oldObj = tombstone.Obj
	}
	before, _ = oldObj.(T)
	now, _ = c.newObj.(T)
	return before, now
}
