// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package podtopologyspread

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// EventsToRegister implements fwk.EnqueueExtensions.
//
// The hints read the namespace of the pod and its hard constraints: their topology keys, their policies, and what they
// select; and the node selector and required node affinity of the pod, where they decide which nodes count. The plugin
// signs none of that, because it signs pods only where there are no constraints; [Plugin.HintClass] covers it. Tolerations,
// which decide what counts, too, are not looked at by hints.
func (pl *plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{
		{
			Event:          fwk.ClusterEvent{Resource: fwk.AssignedPod, ActionType: fwk.Add | fwk.Delete | fwk.UpdatePodLabel},
			QueueingHintFn: framework.HintFor(pl.afterPodChange),
		},
		{
			Event:          fwk.ClusterEvent{Resource: fwk.AssignedPod, ActionType: fwk.Update},
			QueueingHintFn: framework.HintFor(pl.afterPodEnding),
		},
		{
			Event: fwk.ClusterEvent{
				Resource:   fwk.Node,
				ActionType: fwk.Add | fwk.Delete | fwk.UpdateNodeLabel | fwk.UpdateNodeTaint,
			},
			QueueingHintFn: framework.HintFor(pl.afterNodeChange),
		},
		{
			Event:          fwk.ClusterEvent{Resource: fwk.TargetPod, ActionType: fwk.UpdatePodLabel | fwk.UpdatePodToleration},
			QueueingHintFn: framework.HintFor(pl.afterSelfChange),
		},
	}, nil
}

// afterPodChange wakes the pod if a constraint counts one pod more or less than before.
func (pl *plugin) afterPodChange(_ klog.Logger, pod, oldPod, newPod *v1.Pod) (fwk.QueueingHint, error) {
	if !mayCount(pod, oldPod) || !mayCount(pod, newPod) {
		return fwk.QueueSkip, nil
	}
	constraints, err := pl.constraints(pod, v1.DoNotSchedule)
	if err != nil {
		return fwk.Queue, err
	}
	switch {
	case oldPod != nil && newPod != nil:
		return queueIf(selectionChanged(constraints, oldPod, newPod)), nil
	case newPod != nil:
		return queueIf(anySelects(constraints, newPod)), nil
	case oldPod != nil:
		return queueIf(anySelects(constraints, oldPod)), nil
	}
	return fwk.Queue, nil
}

// afterPodEnding wakes the pod if a pod is being deleted that a constraint counted until then. Other updates, which are
// many, are sorted out before anything is parsed.
func (pl *plugin) afterPodEnding(_ klog.Logger, pod, oldPod, newPod *v1.Pod) (fwk.QueueingHint, error) {
	if oldPod == nil || newPod == nil {
		return fwk.Queue, nil
	}
	if oldPod.DeletionTimestamp != nil || newPod.DeletionTimestamp == nil || !mayCount(pod, oldPod) {
		return fwk.QueueSkip, nil
	}
	constraints, err := pl.constraints(pod, v1.DoNotSchedule)
	return queueIf(err != nil || anySelects(constraints, oldPod)), err
}

// mayCount reports whether a pod of an event has a place, or one kept for it, and is of the namespace of the waiting pod.
func mayCount(waiting, other *v1.Pod) bool {
	return other == nil || other.Namespace == waiting.Namespace &&
		(other.Spec.NodeName != "" || other.Status.NominatedNodeName != "")
}

// afterSelfChange wakes the pod if other nodes may count now because of its tolerations, or if a constraint now selects
// the pod itself or no longer does.
func (pl *plugin) afterSelfChange(_ klog.Logger, pod, oldPod, newPod *v1.Pod) (fwk.QueueingHint, error) {
	if oldPod == nil || newPod == nil {
		return fwk.Queue, nil
	}
	constraints, err := pl.constraints(pod, v1.DoNotSchedule)
	if err != nil {
		return fwk.Queue, err
	}
	if !equality.Semantic.DeepEqual(oldPod.Spec.Tolerations, newPod.Spec.Tolerations) {
		for i := range constraints {
			if constraints[i].honorTaints {
				return fwk.Queue, nil
			}
		}
	}
	return queueIf(selectionChanged(constraints, oldPod, newPod)), nil
}

// afterNodeChange wakes the pod if a node in a domain of every constraint comes or goes, moves to another domain, may
// count where it did not before because of its taints, or begins or ceases to count because the pod may go there or not.
func (pl *plugin) afterNodeChange(_ klog.Logger, pod *v1.Pod, oldNode, newNode *v1.Node) (fwk.QueueingHint, error) {
	constraints, err := pl.constraints(pod, v1.DoNotSchedule)
	if err != nil {
		return fwk.Queue, err
	}
	switch {
	case oldNode != nil && newNode != nil:
		had, has := hasAllKeys(constraints, oldNode), hasAllKeys(constraints, newNode)
		return queueIf(had != has || has && (domainChanged(constraints, oldNode, newNode) || taintsChanged(oldNode, newNode) ||
			affinityChanged(constraints, pod, oldNode, newNode))), nil
	case newNode != nil:
		return queueIf(hasAllKeys(constraints, newNode)), nil
	case oldNode != nil:
		return queueIf(hasAllKeys(constraints, oldNode)), nil
	}
	return fwk.Queue, nil
}

func anySelects(constraints []constraint, pod *v1.Pod) bool {
	for i := range constraints {
		if constraints[i].selects(pod) {
			return true
		}
	}
	return false
}

func selectionChanged(constraints []constraint, oldPod, newPod *v1.Pod) bool {
	for i := range constraints {
		if constraints[i].selects(oldPod) != constraints[i].selects(newPod) {
			return true
		}
	}
	return false
}

func domainChanged(constraints []constraint, oldNode, newNode *v1.Node) bool {
	for i := range constraints {
		key := constraints[i].topologyKey
		if oldNode.Labels[key] != newNode.Labels[key] {
			return true
		}
	}
	return false
}

func taintsChanged(oldNode, newNode *v1.Node) bool {
	return !equality.Semantic.DeepEqual(oldNode.Spec.Taints, newNode.Spec.Taints)
}

// affinityChanged reports whether a node counts that did not before, or the other way round, because of what the pod
// requires of nodes.
func affinityChanged(constraints []constraint, pod *v1.Pod, oldNode, newNode *v1.Node) bool {
	if !slices.ContainsFunc(constraints, func(c constraint) bool { return c.honorAffinity }) {
		return false
	}
	// An affinity that does not parse matches no node.
	affinity := nodeaffinity.GetRequiredNodeAffinity(pod)
	matched, _ := affinity.Match(oldNode)
	matches, _ := affinity.Match(newNode)
	return matched != matches
}

func queueIf(wake bool) fwk.QueueingHint {
	if wake {
		return fwk.Queue
	}
	return fwk.QueueSkip
}
