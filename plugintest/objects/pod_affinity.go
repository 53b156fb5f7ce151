// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// The methods in this file take selectors as kubectl does: requirements that must all be met, separated by commas, such
// as "app=web", "disk in (ssd, nvme)", "!old" or, for nodes, "cores>8".

// NodeSelector adds a label that the node must have.
func (b PodBuilder) NodeSelector(key, value string) PodBuilder {
	return b.With(func(pod *v1.Pod) {
		if pod.Spec.NodeSelector == nil {
			pod.Spec.NodeSelector = map[string]string{}
		}
		pod.Spec.NodeSelector[key] = value
	})
}

// NodeAffinity requires a node that the selector matches; of several terms one must match.
func (b PodBuilder) NodeAffinity(selector string) PodBuilder {
	return b.With(func(pod *v1.Pod) {
		affinity := nodeAffinity(pod)
		required := &affinity.RequiredDuringSchedulingIgnoredDuringExecution
		if *required == nil {
			*required = &v1.NodeSelector{}
		}
		(*required).NodeSelectorTerms = append((*required).NodeSelectorTerms, nodeSelectorTerm(selector))
	})
}

// PreferredNodeAffinity prefers nodes that the selector matches, by a weight from 1 to 100.
func (b PodBuilder) PreferredNodeAffinity(weight int32, selector string) PodBuilder {
	return b.With(func(pod *v1.Pod) {
		preferred := &nodeAffinity(pod).PreferredDuringSchedulingIgnoredDuringExecution
		*preferred = append(*preferred, v1.PreferredSchedulingTerm{Weight: weight, Preference: nodeSelectorTerm(selector)})
	})
}

// PodAffinity requires a node in a domain, that is with the same value of the label topologyKey, in which there is a pod
// of the same namespace that the selector matches.
func (b PodBuilder) PodAffinity(topologyKey, selector string) PodBuilder {
	return b.With(func(pod *v1.Pod) {
		required := &podAffinity(pod).RequiredDuringSchedulingIgnoredDuringExecution
		*required = append(*required, podAffinityTerm(topologyKey, selector))
	})
}

// PreferredPodAffinity prefers such nodes as [PodBuilder.PodAffinity] requires, by a weight from 1 to 100.
func (b PodBuilder) PreferredPodAffinity(weight int32, topologyKey, selector string) PodBuilder {
	return b.With(func(pod *v1.Pod) {
		preferred := &podAffinity(pod).PreferredDuringSchedulingIgnoredDuringExecution
		*preferred = append(*preferred,
			v1.WeightedPodAffinityTerm{Weight: weight, PodAffinityTerm: podAffinityTerm(topologyKey, selector)})
	})
}

// PodAntiAffinity requires a node in a domain in which there is no pod of the same namespace that the selector matches.
func (b PodBuilder) PodAntiAffinity(topologyKey, selector string) PodBuilder {
	return b.With(func(pod *v1.Pod) {
		required := &podAntiAffinity(pod).RequiredDuringSchedulingIgnoredDuringExecution
		*required = append(*required, podAffinityTerm(topologyKey, selector))
	})
}

// PreferredPodAntiAffinity prefers such nodes as [PodBuilder.PodAntiAffinity] requires, by a weight from 1 to 100.
func (b PodBuilder) PreferredPodAntiAffinity(weight int32, topologyKey, selector string) PodBuilder {
	return b.With(func(pod *v1.Pod) {
		preferred := &podAntiAffinity(pod).PreferredDuringSchedulingIgnoredDuringExecution
		*preferred = append(*preferred,
			v1.WeightedPodAffinityTerm{Weight: weight, PodAffinityTerm: podAffinityTerm(topologyKey, selector)})
	})
}

// SpreadConstraint limits how unevenly the pods that the selector matches may be spread over domains.
func (b PodBuilder) SpreadConstraint(maxSkew int32, topologyKey string, otherwise v1.UnsatisfiableConstraintAction, selector string) PodBuilder {
	return b.With(func(pod *v1.Pod) {
		pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, v1.TopologySpreadConstraint{
			MaxSkew: maxSkew, TopologyKey: topologyKey, WhenUnsatisfiable: otherwise, LabelSelector: labelSelector(selector),
		})
	})
}

func affinity(pod *v1.Pod) *v1.Affinity {
	if pod.Spec.Affinity == nil {
		pod.Spec.Affinity = &v1.Affinity{}
	}
	return pod.Spec.Affinity
}

func nodeAffinity(pod *v1.Pod) *v1.NodeAffinity {
	of := affinity(pod)
	if of.NodeAffinity == nil {
		of.NodeAffinity = &v1.NodeAffinity{}
	}
	return of.NodeAffinity
}

func podAffinity(pod *v1.Pod) *v1.PodAffinity {
	of := affinity(pod)
	if of.PodAffinity == nil {
		of.PodAffinity = &v1.PodAffinity{}
	}
	return of.PodAffinity
}

func podAntiAffinity(pod *v1.Pod) *v1.PodAntiAffinity {
	of := affinity(pod)
	if of.PodAntiAffinity == nil {
		of.PodAntiAffinity = &v1.PodAntiAffinity{}
	}
	return of.PodAntiAffinity
}

func podAffinityTerm(topologyKey, selector string) v1.PodAffinityTerm {
	return v1.PodAffinityTerm{TopologyKey: topologyKey, LabelSelector: labelSelector(selector)}
}

func labelSelector(text string) *metav1.LabelSelector {
	parsed, err := metav1.ParseToLabelSelector(text)
	if err != nil {
		panic(fmt.Sprintf("objects: %q is no selector of labels: %v", text, err))
	}
	if len(parsed.MatchLabels) == 0 {
		parsed.MatchLabels = nil
	}
	if len(parsed.MatchExpressions) == 0 {
		parsed.MatchExpressions = nil
	}
	return parsed
}

func nodeSelectorTerm(text string) v1.NodeSelectorTerm {
	requirements, err := labels.ParseToRequirements(text)
	if err != nil {
		panic(fmt.Sprintf("objects: %q is no selector of nodes: %v", text, err))
	}
	var term v1.NodeSelectorTerm
	for _, requirement := range requirements {
		term.MatchExpressions = append(term.MatchExpressions, v1.NodeSelectorRequirement{
			Key:      requirement.Key(),
			Operator: nodeSelectorOperator(requirement.Operator()),
			Values:   slices.Sorted(slices.Values(requirement.ValuesUnsorted())),
		})
	}
	return term
}

func nodeSelectorOperator(operator selection.Operator) v1.NodeSelectorOperator {
	switch operator {
	case selection.NotIn, selection.NotEquals:
		return v1.NodeSelectorOpNotIn
	case selection.Exists:
		return v1.NodeSelectorOpExists
	case selection.DoesNotExist:
		return v1.NodeSelectorOpDoesNotExist
	case selection.GreaterThan:
		return v1.NodeSelectorOpGt
	case selection.LessThan:
		return v1.NodeSelectorOpLt
	}
	return v1.NodeSelectorOpIn
}
