// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package noderesourcesfit

import (
	"context"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/noderesources"
)

// EventsToRegister implements fwk.EnqueueExtensions.
//
// All the hints read of the pod is the vector of its requests, which is what the plugin signs: pods of one signature
// share a class. Pods that are refused a signature, because devices serve one of their resources, are asked one by one.
func (pl *plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{
		{
			Event:          fwk.ClusterEvent{Resource: fwk.AssignedPod, ActionType: fwk.Delete},
			QueueingHintFn: framework.HintFor(afterPodDeleted),
		},
		{
			Event:          fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | fwk.UpdateNodeAllocatable},
			QueueingHintFn: framework.HintFor(pl.afterNodeChange),
		},
		{
			Event:          fwk.ClusterEvent{Resource: fwk.DeviceClass, ActionType: fwk.Add | fwk.Update},
			QueueingHintFn: framework.HintFor(afterDeviceClassChange),
		},
		{
			Event:          fwk.ClusterEvent{Resource: fwk.AssignedPod, ActionType: fwk.UpdatePodScaleDown},
			QueueingHintFn: framework.HintFor(afterPodShrunk),
		},
		{
			Event:          fwk.ClusterEvent{Resource: fwk.TargetPod, ActionType: fwk.UpdatePodScaleDown},
			QueueingHintFn: afterSelfShrunk,
		},
	}, nil
}

// afterPodDeleted wakes pods if the deleted one had a place, or one kept for it, whatever it requested.
func afterPodDeleted(_ klog.Logger, _ *v1.Pod, deleted, _ *v1.Pod) (fwk.QueueingHint, error) {
	if deleted != nil && deleted.Spec.NodeName == "" && deleted.Status.NominatedNodeName == "" {
		return fwk.QueueSkip, nil
	}
	return fwk.Queue, nil
}

// afterNodeChange wakes the pod if it would fit the node as it is now, were it empty, and the node is new or offers
// more of something that the pod needs than before. Resources that Filter ignores need not fit.
func (pl *plugin) afterNodeChange(_ klog.Logger, pod *v1.Pod, oldNode, newNode *v1.Node) (fwk.QueueingHint, error) {
	if newNode == nil {
		return fwk.Queue, nil
	}
	request, offered := noderesources.Request(pod), framework.NewResource(newNode.Status.Allocatable)
	empty := &capacity{allocatable: offered, requested: &framework.Resource{}}
	if len(pl.missing(request, empty, pl.ignored)) > 0 {
		return fwk.QueueSkip, nil
	}
	if oldNode == nil || pl.offersMore(request, framework.NewResource(oldNode.Status.Allocatable), offered) {
		return fwk.Queue, nil
	}
	return fwk.QueueSkip, nil
}

// offersMore reports whether a node's allocatable resources grew in a way that may help the request.
func (pl *plugin) offersMore(request, before, now *framework.Resource) bool {
	if now.AllowedPodNumber > before.AllowedPodNumber || exceeds(request, now, before) {
		return true
	}
	for name, requested := range request.ScalarResources {
		if requested > 0 && pl.servedByDevices(name, now.ScalarResources[name]) {
			return true
		}
	}
	return false
}

// exceeds reports whether one vector has more than another of anything that the request asks for.
func exceeds(request, more, less *framework.Resource) bool {
	if request.MilliCPU > 0 && more.MilliCPU > less.MilliCPU ||
		request.Memory > 0 && more.Memory > less.Memory ||
		request.EphemeralStorage > 0 && more.EphemeralStorage > less.EphemeralStorage {
		return true
	}
	for name, requested := range request.ScalarResources {
		if requested > 0 && more.ScalarResources[name] > less.ScalarResources[name] {
			return true
		}
	}
	return false
}

// afterDeviceClassChange wakes the pod if the class now serves a resource that the pod requests: under the name that
// every class has, which is there as soon as the class is, or under the one that its spec gives it.
func afterDeviceClassChange(_ klog.Logger, pod *v1.Pod, oldClass, newClass *resourceapi.DeviceClass) (fwk.QueueingHint, error) {
	if newClass == nil {
		return fwk.Queue, nil
	}
	named := ptr.Deref(newClass.Spec.ExtendedResourceName, "")
	if oldClass != nil && named == ptr.Deref(oldClass.Spec.ExtendedResourceName, "") {
		return fwk.QueueSkip, nil
	}
	requested := noderesources.Request(pod).ScalarResources
	_, byClass := requested[v1.ResourceName(resourceapi.ResourceDeviceClassPrefix+newClass.Name)]
	_, byName := requested[v1.ResourceName(named)]
	if oldClass == nil && byClass || byName {
		return fwk.Queue, nil
	}
	return fwk.QueueSkip, nil
}

// afterPodShrunk wakes the pod if a pod on some node now takes less of something that the waiting pod requests.
func afterPodShrunk(_ klog.Logger, pod, oldPod, newPod *v1.Pod) (fwk.QueueingHint, error) {
	if oldPod == nil || newPod == nil {
		return fwk.Queue, nil
	}
	if newPod.Spec.NodeName == "" {
		return fwk.QueueSkip, nil
	}
	before := framework.NewResource(noderesources.RunningRequest(oldPod))
	now := framework.NewResource(noderesources.RunningRequest(newPod))
	if exceeds(noderesources.Request(pod), before, now) {
		return fwk.Queue, nil
	}
	return fwk.QueueSkip, nil
}

// afterSelfShrunk has nothing to check: the event says that the waiting pod itself requests less.
func afterSelfShrunk(klog.Logger, *v1.Pod, any, any) (fwk.QueueingHint, error) {
	return fwk.Queue, nil
}
