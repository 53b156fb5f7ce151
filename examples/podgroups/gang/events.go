// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package gang

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// PodGroups is the resource of PodGroups as events name it: plural, version and group.
const PodGroups fwk.EventResource = "podgroups.v1alpha1.scheduling.example.com"

// EventsToRegister implements fwk.EnqueueExtensions. Another pod of the gang is no event: its attempt activates those that wait,
// in Permit.
func (p *Plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{
		{
			Event:          fwk.ClusterEvent{Resource: PodGroups, ActionType: fwk.Add | fwk.Update},
			QueueingHintFn: framework.HintFor(p.afterGroupChange),
		},
		{
			Event: fwk.ClusterEvent{Resource: fwk.TargetPod, ActionType: fwk.UpdatePodLabel},
		},
	}, nil
}

// afterGroupChange wakes pods whose PodGroup is created, or needs fewer pods than before. Objects of custom kinds are unstructured.
func (p *Plugin) afterGroupChange(_ klog.Logger, pod *v1.Pod, oldGroup, newGroup *unstructured.Unstructured) (fwk.QueueingHint, error) {
	if newGroup.GetNamespace() != pod.Namespace || newGroup.GetName() != pod.Labels[Label] {
		return fwk.QueueSkip, nil
	}
	if oldGroup != nil && minMember(newGroup) >= minMember(oldGroup) {
		return fwk.QueueSkip, nil
	}
	return fwk.Queue, nil
}

func minMember(group *unstructured.Unstructured) int64 {
	members, _, _ := unstructured.NestedInt64(group.Object, "spec", "minMember")
	return members
}
