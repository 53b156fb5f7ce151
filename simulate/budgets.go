// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"maps"
	"slices"

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

// budgetAccounts are the pods of the budgets, counted as pods come and go. The zero value is ready.
type budgetAccounts struct {
	// byKey has the budgets that say how many of their pods have to be available, or need not be.
	byKey map[string]*budgetAccount
	// byLabel has the same by a label that their selectors require of a pod, podsByLabel the pods with the label keys among them.
	byLabel     map[podLabel]map[*budgetAccount]bool
	podsByLabel map[string]map[podLabel]map[string]*v1.Pod
}

// budgetAccount is what is known of the pods of a budget.
type budgetAccount struct {
	key      string
	selector labels.Selector
	label    podLabel
	count    podCount
}

// podLabel is a label of pods of a namespace. Without a key it stands for all pods of the namespace.
type podLabel struct{ namespace, key, value string }

// podCount is how many pods a budget expects, and how many of them are healthy.
type podCount struct{ expected, healthy int }

// keepBudgets brings the status of the budgets up to date that a change of a pod, or of a budget, concerns.
func (s *store) keepBudgets(c *collection, made change) {
	switch c {
	case s.budgets():
		s.keepAccount(made)
		if budget, ok := made.current.(*policyv1.PodDisruptionBudget); ok {
			s.keepBudget(budget)
		}
	case s.pods():
		for _, key := range s.accounts.countPod(made) {
			if budget, ok := s.budgets().objects[key].(*policyv1.PodDisruptionBudget); ok {
				s.keepBudget(budget)
			}
		}
	}
}

// keepAccount opens or closes the account of a budget. It is opened again when its selector is another one.
func (s *store) keepAccount(made change) {
	before, _ := made.previous.(*policyv1.PodDisruptionBudget)
	now, _ := made.current.(*policyv1.PodDisruptionBudget)
	known := s.accounts.byKey[made.key]
	counted := now != nil && (now.Spec.MinAvailable != nil || now.Spec.MaxUnavailable != nil)
	if known != nil && counted && before != nil && equality.Semantic.DeepEqual(before.Spec.Selector, now.Spec.Selector) {
		return
	}
	if known != nil {
		delete(s.accounts.byKey, made.key)
		delete(s.accounts.byLabel[known.label], known)
	}
	if counted {
		s.accounts.open(made.key, now, s.pods().objects)
	}
}

// open counts the pods of a budget.
func (b *budgetAccounts) open(key string, budget *policyv1.PodDisruptionBudget, pods map[string]object) {
	if b.byKey == nil {
		b.byKey, b.byLabel = map[string]*budgetAccount{}, map[podLabel]map[*budgetAccount]bool{}
		b.podsByLabel = map[string]map[podLabel]map[string]*v1.Pod{}
	}
	account := &budgetAccount{key: key, selector: budgetSelector(budget), label: requiredLabel(budget)}
	b.byKey[key] = account
	if b.byLabel[account.label] == nil {
		b.byLabel[account.label] = map[*budgetAccount]bool{}
	}
	b.byLabel[account.label][account] = true
	if labelKey := account.label.key; b.podsByLabel[labelKey] == nil {
		b.podsByLabel[labelKey] = map[podLabel]map[string]*v1.Pod{}
		for podKey, pod := range pods {
			b.index(labelKey, podKey, nil, pod.(*v1.Pod))
		}
	}
	for _, pod := range b.podsByLabel[account.label.key][account.label] {
		account.count.add(countOf(pod, account.selector), 1)
	}
}

// requiredLabel returns a label that every pod of a budget has.
func requiredLabel(budget *policyv1.PodDisruptionBudget) podLabel {
	if budget.Spec.Selector == nil || len(budget.Spec.Selector.MatchLabels) == 0 {
		return podLabel{namespace: budget.Namespace}
	}
	key := slices.Min(slices.Collect(maps.Keys(budget.Spec.Selector.MatchLabels)))
	return podLabel{budget.Namespace, key, budget.Spec.Selector.MatchLabels[key]}
}

// index replaces a pod in the index by a label key.
func (b *budgetAccounts) index(labelKey, podKey string, before, now *v1.Pod) {
	index := b.podsByLabel[labelKey]
	if label, found := labelOf(before, labelKey); found {
		if delete(index[label], podKey); len(index[label]) == 0 {
			delete(index, label)
		}
	}
	if label, found := labelOf(now, labelKey); found {
		if index[label] == nil {
			index[label] = map[string]*v1.Pod{}
		}
		index[label][podKey] = now
	}
}

// labelOf returns the label of a pod with a key; false if it has none, or if there is no pod.
func labelOf(pod *v1.Pod, key string) (podLabel, bool) {
	if pod == nil {
		return podLabel{}, false
	}
	value, found := pod.Labels[key]
	return podLabel{pod.Namespace, key, value}, found || key == ""
}

// countPod enters a change of a pod, and returns the keys of the budgets whose counts differ, in order.
func (b *budgetAccounts) countPod(made change) []string {
	if len(b.byKey) == 0 && len(b.podsByLabel) == 0 {
		return nil
	}
	before, _ := made.previous.(*v1.Pod)
	now, _ := made.current.(*v1.Pod)
	concerned := map[*budgetAccount]bool{}
	for labelKey := range b.podsByLabel {
		b.index(labelKey, made.key, before, now)
		for _, pod := range []*v1.Pod{before, now} {
			if label, found := labelOf(pod, labelKey); found {
				maps.Copy(concerned, b.byLabel[label])
			}
		}
	}
	var different []string
	for account := range concerned {
		counted := account.count
		account.count.add(countOf(before, account.selector), -1)
		account.count.add(countOf(now, account.selector), 1)
		if account.count != counted {
			different = append(different, account.key)
		}
	}
	slices.Sort(different)
	return different
}

// countOf returns what a pod adds to the count of a budget.
func countOf(pod *v1.Pod, selector labels.Selector) podCount {
	switch {
	case pod == nil || !unfinishedPod(pod) || !selector.Matches(labels.Set(pod.Labels)):
		return podCount{}
	case pod.Spec.NodeName != "" && pod.DeletionTimestamp == nil:
		return podCount{expected: 1, healthy: 1}
	}
	return podCount{expected: 1}
}

func (c *podCount) add(other podCount, times int) {
	c.expected += times * other.expected
	c.healthy += times * other.healthy
}

// budgetSelector returns which pods a budget is for; none if its selector can't be parsed.
func budgetSelector(budget *policyv1.PodDisruptionBudget) labels.Selector {
	selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
	if err != nil {
		return labels.Nothing()
	}
	return selector
}

// keepBudget brings the status of a budget up to date. A budget that says neither how many have to be available nor how many
// need not keeps the status that it was given.
func (s *store) keepBudget(budget *policyv1.PodDisruptionBudget) {
	key := keyOf(budget.Namespace, budget.Name)
	account := s.accounts.byKey[key]
	if account == nil {
		return
	}
	kept := budget.DeepCopy()
	status := &kept.Status
	status.ExpectedPods, status.CurrentHealthy = int32(account.count.expected), int32(account.count.healthy)
	status.DesiredHealthy = int32(desiredHealthy(&budget.Spec, account.count.expected))
	status.DisruptionsAllowed = max(0, status.CurrentHealthy-status.DesiredHealthy)
	status.ObservedGeneration = kept.Generation
	if !equality.Semantic.DeepEqual(budget.Status, kept.Status) {
		s.put(s.budgets(), key, budget, kept)
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
