// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package defaultpreemption

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// EventsToRegister implements fwk.EnqueueExtensions. The deletion of a pod wakes no pod by itself. It is registered so that
// PreEnqueue is asked again, when another plugin has the deletion wake a pod that is held back.
//
// A pod whose victims are ending preempts no other pod meanwhile, unless the node where they are is gone, cannot take it any
// more, or is no longer nominated for it; then it should not wait for them.
func (pl *plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	changes := fwk.Delete | fwk.UpdateNodeLabel | fwk.UpdateNodeTaint | fwk.UpdateNodeAllocatable | fwk.UpdateNodeDeclaredFeature
	return []fwk.ClusterEventWithHint{
		{
			Event:          fwk.ClusterEvent{Resource: fwk.AssignedPod, ActionType: fwk.Delete},
			QueueingHintFn: leaveItToOthers,
		},
		{
			Event:          fwk.ClusterEvent{Resource: fwk.Node, ActionType: changes},
			QueueingHintFn: framework.HintFor(afterNodeChange),
		},
		{
			Event:          fwk.ClusterEvent{Resource: fwk.TargetPod, ActionType: fwk.Update},
			QueueingHintFn: framework.HintFor(afterUpdateOfItself),
		},
	}, nil
}

func leaveItToOthers(klog.Logger, *v1.Pod, any, any) (fwk.QueueingHint, error) {
	return fwk.QueueSkip, nil
}

// afterNodeChange wakes the pod for which the node is nominated.
func afterNodeChange(_ klog.Logger, pod *v1.Pod, before, now *v1.Node) (fwk.QueueingHint, error) {
	for _, node := range []*v1.Node{before, now} {
		if node != nil && node.Name != pod.Status.NominatedNodeName {
			return fwk.QueueSkip, nil
		}
	}
	return fwk.Queue, nil
}

// afterUpdateOfItself wakes the pod if no node is nominated for it any more.
func afterUpdateOfItself(_ klog.Logger, _, before, now *v1.Pod) (fwk.QueueingHint, error) {
	if before != nil && now != nil && (before.Status.NominatedNodeName == "" || now.Status.NominatedNodeName != "") {
		return fwk.QueueSkip, nil
	}
	return fwk.Queue, nil
}

// HintClass implements framework.HintClassPlugin: pods differ by the node that is nominated for them.
func (pl *plugin) HintClass(pod *v1.Pod) (class string, ok bool) {
	return pod.Status.NominatedNodeName, true
}
