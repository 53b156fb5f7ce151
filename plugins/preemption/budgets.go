// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package preemption

import (
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
)

// SplitByBudgets divides pods into those that, were they evicted one after the other, would exceed a disruption budget, and
// the others. Both keep the order. A pod uses up one disruption of every budget that it belongs to, up to the first
// that has none left; unless it is on its way out already as far as that budget knows.
func SplitByBudgets(pods []fwk.PodInfo, budgets []*policyv1.PodDisruptionBudget) (exceeding, others []fwk.PodInfo) {
	allowances := newAllowances(pods, budgets)
	for _, pod := range pods {
		if allowances.exceeded(pod.GetPod()) {
			exceeding = append(exceeding, pod)
		} else {
			others = append(others, pod)
		}
	}
	return exceeding, others
}

// allowances are what is left of budgets, by namespace and in their order.
type allowances map[string][]*allowance

type allowance struct {
	selector labels.Selector
	leaving  map[string]metav1.Time // by name of the pod
	left     int32
}

// newAllowances returns the budgets that can be about any of the pods. A budget whose selector is invalid or selects
// everything, or nothing, is about no pod.
func newAllowances(pods []fwk.PodInfo, budgets []*policyv1.PodDisruptionBudget) allowances {
	namespaces := sets.New[string]()
	for _, pod := range pods {
		namespaces.Insert(pod.GetPod().Namespace)
	}
	byNamespace := allowances{}
	for _, budget := range budgets {
		if !namespaces.Has(budget.Namespace) {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		if err != nil || selector.Empty() {
			continue
		}
		byNamespace[budget.Namespace] = append(byNamespace[budget.Namespace], &allowance{
			selector: selector,
			leaving:  budget.Status.DisruptedPods,
			left:     budget.Status.DisruptionsAllowed,
		})
	}
	return byNamespace
}

// exceeded uses the budgets of a pod, and reports whether one of them has nothing left for it.
func (a allowances) exceeded(pod *v1.Pod) bool {
	if len(pod.Labels) == 0 {
		return false
	}
	for _, budget := range a[pod.Namespace] {
		if !budget.selector.Matches(labels.Set(pod.Labels)) {
			continue
		}
		if _, leaving := budget.leaving[pod.Name]; leaving {
			continue
		}
		if budget.left--; budget.left < 0 {
			return true
		}
	}
	return false
}
