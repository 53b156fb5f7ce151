// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package interpodaffinity

import (
	"cmp"
	"context"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// EventsToRegister implements fwk.EnqueueExtensions.
//
// The hints read the required terms of the pod, and its labels and namespace, because terms of other pods may match
// them. The plugin signs labels alone, and no pod with terms; [Plugin.HintClass] covers it all. The labels of namespaces
// and the pods on a node are looked up.
func (pl *plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{
		{
			Event:          fwk.ClusterEvent{Resource: fwk.AssignedPod, ActionType: fwk.Add | fwk.Delete | fwk.UpdatePodLabel},
			QueueingHintFn: framework.HintFor(pl.afterPodChange),
		},
		{
			Event:          fwk.ClusterEvent{Resource: fwk.TargetPod, ActionType: fwk.UpdatePodLabel},
			QueueingHintFn: afterSelfChange,
		},
		{
			Event:          fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | fwk.UpdateNodeLabel},
			QueueingHintFn: framework.HintFor(pl.afterNodeChange),
		},
		// The pods of a deleted node count no more, even before they are deleted themselves.
		{
			Event:          fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Delete},
			QueueingHintFn: framework.HintFor(pl.afterNodeChange),
		},
		// Terms, of the pod or of others, may select namespaces by label.
		{
			Event:          fwk.ClusterEvent{Resource: framework.Namespace, ActionType: fwk.Add | fwk.Update},
			QueueingHintFn: framework.HintFor(afterNamespaceChange),
		},
	}, nil
}

// afterNamespaceChange wakes pods if the labels of a namespace change. Whether any term selects by them is not looked at.
func afterNamespaceChange(_ klog.Logger, _ *v1.Pod, oldNamespace, newNamespace *v1.Namespace) (fwk.QueueingHint, error) {
	if newNamespace == nil {
		return fwk.Queue, nil
	}
	var before map[string]string
	if oldNamespace != nil {
		before = oldNamespace.Labels
	}
	return queueIf(!maps.Equal(before, newNamespace.Labels)), nil
}

// afterPodChange wakes the pod if there is a pod now that meets its affinity, or one less that anti-affinity kept it
// away from, or one less of those without which it would be the first.
func (pl *plugin) afterPodChange(_ klog.Logger, pod, oldPod, newPod *v1.Pod) (fwk.QueueingHint, error) {
	if !hasPlace(oldPod) || !hasPlace(newPod) {
		return fwk.QueueSkip, nil
	}
	other := cmp.Or(newPod, oldPod)
	if other == nil {
		return fwk.Queue, nil
	}
	affinity, antiAffinity, err := requiredTerms(pod)
	if err != nil {
		return fwk.Queue, err
	}
	labelsOfOther, err := pl.namespaceLabels(other.Namespace)
	if err != nil {
		return fwk.Queue, err
	}
	met, meets := matchesIf(oldPod, affinity, labelsOfOther, matchesAll), matchesIf(newPod, affinity, labelsOfOther, matchesAll)
	repelled, repels := matchesIf(oldPod, antiAffinity, labelsOfOther, matchesAny), matchesIf(newPod, antiAffinity, labelsOfOther, matchesAny)
	if !met && meets || repelled && (!repels || leaves(antiAffinity, oldPod, newPod, labelsOfOther)) {
		return fwk.Queue, nil
	}
	if met && !meets {
		if first, err := pl.mayBeFirst(affinity, pod); first || err != nil {
			return fwk.Queue, err
		}
	}
	if newPod != nil {
		return fwk.QueueSkip, nil
	}
	return pl.afterRepellingPodDeleted(pod, oldPod)
}

// afterRepellingPodDeleted wakes the pod if the deleted one had anti-affinity to it.
func (pl *plugin) afterRepellingPodDeleted(pod, deleted *v1.Pod) (fwk.QueueingHint, error) {
	terms, err := requiredAntiAffinity(deleted)
	if err != nil {
		return fwk.Queue, err
	}
	namespaceLabels, err := pl.namespaceLabels(pod.Namespace)
	if err != nil {
		return fwk.Queue, err
	}
	return queueIf(matchesAny(terms, pod, namespaceLabels)), nil
}

// matchesIf reports whether there is a pod and it matches.
func matchesIf(pod *v1.Pod, terms []fwk.AffinityTerm, namespaceLabels labels.Set, matches func([]fwk.AffinityTerm, *v1.Pod, labels.Set) bool) bool {
	return pod != nil && matches(terms, pod, namespaceLabels)
}

// leaves reports whether a pod keeps another from fewer domains than before: it no longer matches a term of anti-affinity, nor
// another one with the same topology key instead.
func leaves(terms []fwk.AffinityTerm, oldPod, newPod *v1.Pod, namespaceLabels labels.Set) bool {
	return slices.ContainsFunc(terms, func(term fwk.AffinityTerm) bool {
		return term.Matches(oldPod, namespaceLabels) && !slices.ContainsFunc(terms, func(other fwk.AffinityTerm) bool {
			return other.TopologyKey == term.TopologyKey && other.Matches(newPod, namespaceLabels)
		})
	})
}

// mayBeFirst reports whether a pod meets its own affinity, so that it may go anywhere while no other pod does.
func (pl *plugin) mayBeFirst(affinity []fwk.AffinityTerm, pod *v1.Pod) (bool, error) {
	if len(affinity) == 0 {
		return false, nil
	}
	namespaceLabels, err := pl.namespaceLabels(pod.Namespace)
	return matchesAll(affinity, pod, namespaceLabels), err
}

// hasPlace reports whether a pod of an event has a place, or one kept for it.
func hasPlace(pod *v1.Pod) bool {
	return pod == nil || pod.Spec.NodeName != "" || pod.Status.NominatedNodeName != ""
}

// afterSelfChange has nothing to check: any term of any pod may match the pod now, or no longer do.
func afterSelfChange(klog.Logger, *v1.Pod, any, any) (fwk.QueueingHint, error) {
	return fwk.Queue, nil
}

// afterNodeChange wakes the pod if its terms see the node in another domain than before: those of affinity, if it came
// into one, those of anti-affinity, if it left one. A new node helps against anti-affinity, of the pod's own or of others,
// whatever its labels are. If the node is deleted it has left all its domains.
func (pl *plugin) afterNodeChange(_ klog.Logger, pod *v1.Pod, oldNode, newNode *v1.Node) (fwk.QueueingHint, error) {
	if oldNode == nil && newNode == nil {
		return fwk.Queue, nil
	}
	affinity, antiAffinity, err := requiredTerms(pod)
	if err != nil {
		return fwk.Queue, err
	}
	if oldNode == nil {
		helps := len(antiAffinity) > 0 || len(affinity) == 0 || entersDomain(affinity, nil, newNode.Labels)
		return queueIf(helps), nil
	}
	var now map[string]string
	if newNode != nil {
		now = newNode.Labels
	}
	if newNode != nil && entersDomain(affinity, oldNode.Labels, now) || entersDomain(antiAffinity, now, oldNode.Labels) {
		return fwk.Queue, nil
	}
	if entersDomain(affinity, now, oldNode.Labels) {
		if first, err := pl.mayBeFirst(affinity, pod); first || err != nil {
			return fwk.Queue, err
		}
	}
	left, err := pl.domainLeft(pod, oldNode, newNode)
	return queueIf(left || err != nil), err
}

// entersDomain reports whether labels have a topology key of some term with another value than before, or newly.
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
