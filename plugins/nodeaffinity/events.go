// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeaffinity

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// EventsToRegister implements fwk.EnqueueExtensions.
//
// The hint reads the node selector and the required node affinity. The plugin signs those and the preferred affinity,
// but signs a required affinity without terms, which matches no node, like none at all, which matches every node;
// [Plugin.HintClass] covers exactly what the hint reads.
func (pl *Plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{{
		Event:          fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | fwk.UpdateNodeLabel},
		QueueingHintFn: framework.HintFor(pl.afterNodeChange),
	}}, nil
}

// afterNodeChange wakes the pod if the node matches now, and is new or did not match before. Before, only the pod's own
// affinity counts: a change of labels that makes a node match the affinity of the profile alone wakes nobody.
func (pl *Plugin) afterNodeChange(_ klog.Logger, pod *v1.Pod, oldNode, newNode *v1.Node) (fwk.QueueingHint, error) {
	if newNode == nil {
		return fwk.Queue, nil
	}
	if pl.addedRequired != nil && !pl.addedRequired.Match(newNode) {
		return fwk.QueueSkip, nil
	}
	required := nodeaffinity.GetRequiredNodeAffinity(pod)
	matches, err := required.Match(newNode)
	if err != nil {
		return fwk.Queue, err
	}
	if !matches {
		return fwk.QueueSkip, nil
	}
	if oldNode == nil {
		return fwk.Queue, nil
	}
	matched, err := required.Match(oldNode)
	if err != nil {
		return fwk.Queue, err
	}
	if matched {
		return fwk.QueueSkip, nil
	}
	return fwk.Queue, nil
}
