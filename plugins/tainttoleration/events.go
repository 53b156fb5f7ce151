// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package tainttoleration

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// EventsToRegister implements fwk.EnqueueExtensions.
//
// The hint about nodes reads the tolerations of the pod, all of which the plugin signs, and the one about the pod
// itself nothing: pods of one signature share a class.
func (pl *plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{
		{
			Event:          fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | fwk.UpdateNodeTaint},
			QueueingHintFn: framework.HintFor(afterNodeChange),
		},
		{
			Event:          fwk.ClusterEvent{Resource: fwk.TargetPod, ActionType: fwk.UpdatePodToleration},
			QueueingHintFn: afterTolerationAdded,
		},
	}, nil
}

// afterNodeChange wakes the pod if it tolerates the node as it is now, and did not before.
func afterNodeChange(logger klog.Logger, pod *v1.Pod, oldNode, newNode *v1.Node) (fwk.QueueingHint, error) {
	if newNode == nil {
		return fwk.Queue, nil
	}
	if oldNode != nil {
		if _, keptAway := untoleratedTaint(logger, pod, oldNode); !keptAway {
			return fwk.QueueSkip, nil
		}
	}
	if _, keepsAway := untoleratedTaint(logger, pod, newNode); keepsAway {
		return fwk.QueueSkip, nil
	}
	return fwk.Queue, nil
}

// afterTolerationAdded has nothing to check: tolerations are only ever added, and any may be the one that was missing.
func afterTolerationAdded(klog.Logger, *v1.Pod, any, any) (fwk.QueueingHint, error) {
	return fwk.Queue, nil
}
