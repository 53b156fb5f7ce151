// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeunschedulable

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// EventsToRegister implements fwk.EnqueueExtensions. Cordoning and uncordoning count as changes of a node's taints.
//
// The hint about nodes reads nothing of the pod, and the one about the pod itself its tolerations, which the plugin
// signs: pods of one signature share a class.
func (pl *plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{
		{
			Event:          fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | fwk.UpdateNodeTaint},
			QueueingHintFn: framework.HintFor(afterNodeChange),
		},
		{
			Event:          fwk.ClusterEvent{Resource: fwk.TargetPod, ActionType: fwk.UpdatePodToleration},
			QueueingHintFn: framework.HintFor(afterTolerationAdded),
		},
	}, nil
}

// afterNodeChange wakes pods if the node is schedulable and was not there or not schedulable before.
func afterNodeChange(_ klog.Logger, _ *v1.Pod, oldNode, newNode *v1.Node) (fwk.QueueingHint, error) {
	if newNode == nil {
		return fwk.Queue, nil
	}
	wasOpen := oldNode != nil && !oldNode.Spec.Unschedulable
	if !wasOpen && !newNode.Spec.Unschedulable {
		return fwk.Queue, nil
	}
	return fwk.QueueSkip, nil
}

// afterTolerationAdded wakes the pod if it may now go to cordoned nodes.
func afterTolerationAdded(logger klog.Logger, _, _, newPod *v1.Pod) (fwk.QueueingHint, error) {
	if newPod == nil || toleratesCordon(logger, newPod) {
		return fwk.Queue, nil
	}
	return fwk.QueueSkip, nil
}
