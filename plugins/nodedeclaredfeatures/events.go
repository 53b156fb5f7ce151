// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package nodedeclaredfeatures

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// EventsToRegister implements fwk.EnqueueExtensions.
//
// The hint about nodes reads nothing of the pod, and the one about the pod itself only the objects of the event: pods of
// one signature share a class.
func (pl *plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{
		{
			Event:          fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | fwk.UpdateNodeDeclaredFeature},
			QueueingHintFn: framework.HintFor(afterNodeChange),
		},
		{
			Event:          fwk.ClusterEvent{Resource: fwk.TargetPod, ActionType: fwk.Update},
			QueueingHintFn: framework.HintFor(pl.afterSelfChange),
		},
	}, nil
}

// afterNodeChange wakes the pod if the node is new or declares other features than before, whichever they are.
func afterNodeChange(_ klog.Logger, _ *v1.Pod, oldNode, newNode *v1.Node) (fwk.QueueingHint, error) {
	if oldNode != nil && newNode != nil && slices.Equal(oldNode.Status.DeclaredFeatures, newNode.Status.DeclaredFeatures) {
		return fwk.QueueSkip, nil
	}
	return fwk.Queue, nil
}

// afterSelfChange wakes the pod if it needs other features than before.
func (pl *plugin) afterSelfChange(_ klog.Logger, _ *v1.Pod, oldPod, newPod *v1.Pod) (fwk.QueueingHint, error) {
	if oldPod == nil || newPod == nil {
		return fwk.Queue, nil
	}
	before, err := pl.required(oldPod)
	if err != nil {
		return fwk.Queue, err
	}
	now, err := pl.required(newPod)
	if err != nil {
		return fwk.Queue, err
	}
	if before.Equal(now) {
		return fwk.QueueSkip, nil
	}
	return fwk.Queue, nil
}
