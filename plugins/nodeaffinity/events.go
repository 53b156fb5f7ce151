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
func (pl *plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{{
		Event:          fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | fwk.UpdateNodeLabel},
		QueueingHintFn: framework.HintFor(pl.afterNodeChange),
	}}, nil
}

// afterNodeChange wakes the pod if the node matches now, the affinity of the profile as well as the pod's own, and is new
// or did not match both before.
func (pl *plugin) afterNodeChange(_ klog.Logger, pod *v1.Pod, oldNode, newNode *v1.Node) (fwk.QueueingHint, error) {
	if newNode == nil {
		return fwk.Queue, nil
	}
	required := nodeaffinity.GetRequiredNodeAffinity(pod)
	matches, err := pl.matches(required, newNode)
	if err != nil {
		return fwk.Queue, err
	}
	if !matches {
		return fwk.QueueSkip, nil
	}
	if oldNode == nil {
		return fwk.Queue, nil
	}
	matched, err := pl.matches(required, oldNode)
	if err != nil {
		return fwk.Queue, err
	}
	if matched {
		return fwk.QueueSkip, nil
	}
	return fwk.Queue, nil
}

// matches reports whether a node matches what the profile and the pod require of it.
func (pl *plugin) matches(required nodeaffinity.RequiredNodeAffinity, node *v1.Node) (bool, error) {
	if pl.addedRequired != nil && !pl.addedRequired.Match(node) {
		return false, nil
	}
	return required.Match(node)
}
