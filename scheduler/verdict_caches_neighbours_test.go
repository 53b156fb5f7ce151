// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// podLabels returns labels as pods of a controller have them: some are those of many pods, some those of few, and one may be
// the pod's own.
func (c *comparison) podLabels(name string) map[string]string {
	r := c.random
	labels := map[string]string{"app": fmt.Sprintf("a%d", r.IntN(3))}
	if r.IntN(2) == 0 {
		labels["version"] = fmt.Sprint(r.IntN(3))
	}
	if r.IntN(3) == 0 {
		labels["canary"] = ""
	}
	if r.IntN(3) == 0 {
		labels["name"] = name
	}
	return labels
}

// podSelector returns a selector of pods: none, one that is empty, or one with requirements of all kinds.
func (c *comparison) podSelector() *metav1.LabelSelector {
	r := c.random
	selector := &metav1.LabelSelector{}
	switch r.IntN(12) {
	case 0:
		return nil
	case 1:
		return selector
	case 2, 3, 4, 5:
		selector.MatchLabels = map[string]string{"app": fmt.Sprintf("a%d", r.IntN(3))}
	}
	if r.IntN(2) == 0 || len(selector.MatchLabels) == 0 {
		requirement := metav1.LabelSelectorRequirement{Key: []string{"app", "version", "canary", "name"}[r.IntN(4)]}
		values := []string{fmt.Sprint(r.IntN(3)), fmt.Sprintf("a%d", r.IntN(3)), fmt.Sprintf("a%d", r.IntN(3)), fmt.Sprintf("p%d", max(0, c.made-r.IntN(9)))}
		switch r.IntN(4) {
		case 0:
			requirement.Operator, requirement.Values = metav1.LabelSelectorOpIn, values
		case 1:
			requirement.Operator, requirement.Values = metav1.LabelSelectorOpNotIn, values
		case 2:
			requirement.Operator = metav1.LabelSelectorOpExists
		case 3:
			requirement.Operator = metav1.LabelSelectorOpDoesNotExist
		}
		selector.MatchExpressions = append(selector.MatchExpressions, requirement)
	}
	return selector
}

// lookAtOthers gives a pod labels of all kinds, and spread constraints or affinity terms.
func (c *comparison) lookAtOthers(pod *v1.Pod) {
	r := c.random
	pod.Labels = c.podLabels(pod.Name)
	if r.IntN(3) == 0 {
		pod.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "apps/v1", Kind: "ReplicaSet", Name: fmt.Sprintf("r%d", r.IntN(2)), Controller: ptr.To(true),
		}}
		return
	}
	if r.IntN(4) == 0 {
		pod.Spec.NodeSelector = map[string]string{"disk": []string{"ssd", "hdd"}[r.IntN(2)]}
	}
	if r.IntN(2) == 0 {
		for range 1 + r.IntN(3) {
			c.addConstraint(pod)
		}
		if r.IntN(3) > 0 {
			return
		}
	}
	affinity := &v1.Affinity{PodAffinity: &v1.PodAffinity{}, PodAntiAffinity: &v1.PodAntiAffinity{}}
	for range 1 + r.IntN(3) {
		near, far := affinity.PodAffinity, affinity.PodAntiAffinity
		switch weighted := (v1.WeightedPodAffinityTerm{Weight: 1 + r.Int32N(100), PodAffinityTerm: c.affinityTerm()}); r.IntN(6) {
		case 0:
			near.RequiredDuringSchedulingIgnoredDuringExecution = append(near.RequiredDuringSchedulingIgnoredDuringExecution, c.affinityTerm())
		case 1, 2:
			far.RequiredDuringSchedulingIgnoredDuringExecution = append(far.RequiredDuringSchedulingIgnoredDuringExecution, c.affinityTerm())
		case 3, 4:
			near.PreferredDuringSchedulingIgnoredDuringExecution = append(near.PreferredDuringSchedulingIgnoredDuringExecution, weighted)
		case 5:
			far.PreferredDuringSchedulingIgnoredDuringExecution = append(far.PreferredDuringSchedulingIgnoredDuringExecution, weighted)
		}
	}
	pod.Spec.Affinity = affinity
}

func (c *comparison) someTopology() string {
	return []string{v1.LabelHostname, v1.LabelTopologyZone, v1.LabelTopologyZone, "disk"}[c.random.IntN(4)]
}

// addConstraint adds a spread constraint with another key or action than those before, as the API server demands.
func (c *comparison) addConstraint(pod *v1.Pod) {
	r := c.random
	added := v1.TopologySpreadConstraint{
		MaxSkew: 1 + r.Int32N(3), TopologyKey: c.someTopology(), LabelSelector: c.podSelector(),
		WhenUnsatisfiable: []v1.UnsatisfiableConstraintAction{v1.DoNotSchedule, v1.ScheduleAnyway}[r.IntN(2)],
	}
	for _, other := range pod.Spec.TopologySpreadConstraints {
		if other.TopologyKey == added.TopologyKey && other.WhenUnsatisfiable == added.WhenUnsatisfiable {
			return
		}
	}
	if r.IntN(4) == 0 && added.LabelSelector != nil {
		added.MatchLabelKeys = []string{"version"}
	}
	if r.IntN(4) == 0 {
		added.NodeAffinityPolicy = ptr.To(v1.NodeInclusionPolicyIgnore)
	}
	if r.IntN(4) == 0 {
		added.NodeTaintsPolicy = ptr.To(v1.NodeInclusionPolicyHonor)
	}
	if r.IntN(4) == 0 && added.WhenUnsatisfiable == v1.DoNotSchedule {
		added.MinDomains = ptr.To(1 + r.Int32N(4))
	}
	pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, added)
}

func (c *comparison) affinityTerm() v1.PodAffinityTerm {
	r := c.random
	term := v1.PodAffinityTerm{LabelSelector: c.podSelector(), TopologyKey: c.someTopology()}
	switch r.IntN(6) {
	case 0:
		term.Namespaces = []string{c.someNamespace()}
	case 1:
		term.Namespaces = []string{"default", "shop", "nowhere"}
	case 2:
		term.NamespaceSelector = &metav1.LabelSelector{}
	case 3:
		term.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": []string{"a", "b"}[r.IntN(2)]}}
	}
	return term
}
