// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package rackbudget

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// EventsToRegister implements fwk.EnqueueExtensions: everything that can make room for a pod that the plugin rejected.
func (p *Plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{
		{
			Event:          fwk.ClusterEvent{Resource: fwk.AssignedPod, ActionType: fwk.Delete | fwk.UpdatePodLabel},
			QueueingHintFn: framework.HintFor(p.afterPodLeft),
		},
		{
			Event:          fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | fwk.Delete | fwk.UpdateNodeLabel},
			QueueingHintFn: framework.HintFor(p.afterNodeMoved),
		},
		{
			Event:          fwk.ClusterEvent{Resource: fwk.TargetPod, ActionType: fwk.UpdatePodLabel},
			QueueingHintFn: framework.HintFor(p.afterTeamChange),
		},
	}, nil
}

// afterPodLeft wakes the pods of a team that another pod belonged to and no longer does.
func (p *Plugin) afterPodLeft(_ klog.Logger, pod, oldPod, newPod *v1.Pod) (fwk.QueueingHint, error) {
	team := p.team(pod)
	if oldPod != nil && p.team(oldPod) != team || newPod != nil && p.team(newPod) == team {
		return fwk.QueueSkip, nil
	}
	return fwk.Queue, nil
}

// afterNodeMoved wakes pods if a node comes, goes or changes racks. A node takes its pods along, so that there may be
// room on others, too.
func (p *Plugin) afterNodeMoved(_ klog.Logger, _ *v1.Pod, oldNode, newNode *v1.Node) (fwk.QueueingHint, error) {
	if oldNode != nil && newNode != nil && p.rack(oldNode) == p.rack(newNode) {
		return fwk.QueueSkip, nil
	}
	return fwk.Queue, nil
}

// afterTeamChange wakes a pod that is given to another team.
func (p *Plugin) afterTeamChange(_ klog.Logger, _, oldPod, newPod *v1.Pod) (fwk.QueueingHint, error) {
	if oldPod != nil && newPod != nil && p.team(oldPod) == p.team(newPod) {
		return fwk.QueueSkip, nil
	}
	return fwk.Queue, nil
}
