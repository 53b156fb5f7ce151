// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// This file does what the controller of disruption budgets does in a cluster: it keeps account of how many pods of a
// budget may go. Without controllers of pods, a budget expects as many pods as there are; those with a node are healthy.

func (s *store) budgets() *collection {
	return s.of(policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"))
}

// keepBudgets brings the status of the budgets up to date that a change of a pod, or of a budget, concerns.
func (s *store) keepBudgets(c *collection, made change) {
	budgets := s.budgets()
	switch c {
	case budgets:
		if budget, ok := made.current.(*policyv1.PodDisruptionBudget); ok {
			s.keepBudget(budget)
		}
	case s.pods():
		if len(budgets.objects) == 0 || made.minor {
			return
		}
		for _, found := range budgets.sorted("") {
			budget := found.(*policyv1.PodDisruptionBudget)
			if concerns(budget, made.previous) || concerns(budget, made.current) {
				s.keepBudget(budget)
			}
		}
	}
}

func concerns(budget *policyv1.PodDisruptionBudget, changed object) bool {
	pod, isPod := changed.(*v1.Pod)
	return isPod && pod.Namespace == budget.Namespace && budgetSelector(budget).Matches(labels.Set(pod.Labels))
}

// budgetSelector returns which pods a budget is for; none if its selector can't be parsed.
func budgetSelector(budget *policyv1.PodDisruptionBudget) labels.Selector {
	selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
	if err != nil {
		return labels.Nothing()
	}
	return selector
}

// keepBudget counts the pods of a budget. A budget that says neither how many have to be available nor how many need not
// keeps the status that it was given.
func (s *store) keepBudget(budget *policyv1.PodDisruptionBudget) {
	if budget.Spec.MinAvailable == nil && budget.Spec.MaxUnavailable == nil {
		return
	}
	var expected, healthy int
	selector := budgetSelector(budget)
	for _, found := range s.pods().objects {
		pod := found.(*v1.Pod)
		if pod.Namespace != budget.Namespace || !unfinishedPod(pod) || !selector.Matches(labels.Set(pod.Labels)) {
			continue
		}
		expected++
		if pod.Spec.NodeName != "" && pod.DeletionTimestamp == nil {
			healthy++
		}
	}
	kept := budget.DeepCopy()
	status := &kept.Status
	status.ExpectedPods, status.CurrentHealthy = int32(expected), int32(healthy)
	status.DesiredHealthy = int32(desiredHealthy(&budget.Spec, expected))
	status.DisruptionsAllowed = max(0, status.CurrentHealthy-status.DesiredHealthy)
	status.ObservedGeneration = kept.Generation
	if !equality.Semantic.DeepEqual(budget.Status, kept.Status) {
		s.put(s.budgets(), keyOf(budget.Namespace, budget.Name), budget, kept)
	}
}

// desiredHealthy returns how many pods of those that are expected a budget wants to keep. Percentages are rounded up, as
// there; what is no number keeps all.
func desiredHealthy(spec *policyv1.PodDisruptionBudgetSpec, expected int) int {
	limit := spec.MinAvailable
	if limit == nil {
		limit = spec.MaxUnavailable
	}
	count, err := intstr.GetScaledValueFromIntOrPercent(limit, expected, true)
	switch {
	case err != nil:
		return expected
	case spec.MinAvailable != nil:
		return count
	}
	return max(0, expected-count)
}
