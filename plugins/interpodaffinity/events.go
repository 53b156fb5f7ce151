// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package interpodaffinity

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// EventsToRegister implements fwk.EnqueueExtensions.
//
// The hints read the required terms of the pod, and its labels and namespace, because terms of other pods may match
// them. The plugin signs labels alone, and no pod with terms; [Plugin.HintClass] covers it all. Nothing is looked up: a
// term that selects namespaces by label matches no pod here, unless it selects all of them.
func (pl *Plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{
		{
			Event:          fwk.ClusterEvent{Resource: fwk.AssignedPod, ActionType: fwk.Add | fwk.Delete | fwk.UpdatePodLabel},
			QueueingHintFn: framework.HintFor(afterPodChange),
		},
		{
			Event:          fwk.ClusterEvent{Resource: fwk.TargetPod, ActionType: fwk.UpdatePodLabel},
			QueueingHintFn: afterSelfChange,
		},
		{
			Event:          fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | fwk.UpdateNodeLabel},
			QueueingHintFn: framework.HintFor(afterNodeChange),
		},
	}, nil
}

// afterPodChange wakes the pod if there is a pod now that meets its affinity, or one less that anti-affinity kept it
// away from.
func afterPodChange(_ klog.Logger, pod, oldPod, newPod *v1.Pod) (fwk.QueueingHint, error) {
	if !hasPlace(oldPod) || !hasPlace(newPod) {
		return fwk.QueueSkip, nil
	}
	affinity, antiAffinity, err := requiredTerms(pod)
	if err != nil {
		return fwk.Queue, err
	}
	switch {
	case oldPod != nil && newPod != nil:
		joins := !matchesAll(affinity, oldPod, nil) && matchesAll(affinity, newPod, nil)
		leaves := matchesAny(antiAffinity, oldPod, nil) && !matchesAny(antiAffinity, newPod, nil)
		return queueIf(joins || leaves), nil
	case newPod != nil:
		return queueIf(matchesAll(affinity, newPod, nil)), nil
	case oldPod != nil:
		if matchesAny(antiAffinity, oldPod, nil) {
			return fwk.Queue, nil
		}
		ofOther, err := requiredAntiAffinity(oldPod)
		if err != nil {
			return fwk.Queue, err
		}
		return queueIf(matchesAny(ofOther, pod, nil)), nil
	}
	return fwk.Queue, nil
}

// hasPlace tells whether a pod of an event has a place, or one kept for it.
func hasPlace(pod *v1.Pod) bool {
	return pod == nil || pod.Spec.NodeName != "" || pod.Status.NominatedNodeName != ""
}

// afterSelfChange has nothing to check: any term of any pod may match the pod now, or no longer do.
func afterSelfChange(klog.Logger, *v1.Pod, any, any) (fwk.QueueingHint, error) {
	return fwk.Queue, nil
}

// afterNodeChange wakes the pod if its terms see the node in another domain than before: those of affinity, if it came
// into one, those of anti-affinity, if it left one. A new node helps anti-affinity, whatever its labels are.
func afterNodeChange(_ klog.Logger, pod *v1.Pod, oldNode, newNode *v1.Node) (fwk.QueueingHint, error) {
	if newNode == nil {
		return fwk.Queue, nil
	}
	affinity, antiAffinity, err := requiredTerms(pod)
	if err != nil {
		return fwk.Queue, err
	}
	if oldNode == nil {
		return queueIf(len(antiAffinity) > 0 || entersDomain(affinity, nil, newNode.Labels)), nil
	}
	return queueIf(entersDomain(affinity, oldNode.Labels, newNode.Labels) || entersDomain(antiAffinity, newNode.Labels, oldNode.Labels)), nil
}

// entersDomain tells whether labels have a topology key of some term with another value than before, or newly.
func entersDomain(terms []fwk.AffinityTerm, before, now map[string]string) bool {
	for i := range terms {
		key := terms[i].TopologyKey
		value, has := now[key]
		if former, had := before[key]; has && (!had || former != value) {
			return true
		}
	}
	return false
}

func queueIf(wake bool) fwk.QueueingHint {
	if wake {
		return fwk.Queue
	}
	return fwk.QueueSkip
}
