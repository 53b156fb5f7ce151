// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package podtopologyspread

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
)

// constraint is one that a pod is subject to, parsed.
type constraint struct {
	topologyKey string
	selector    labels.Selector
	maxSkew     int64
	minDomains  int64
	// honorAffinity and honorTaints are the policies for nodes that the pod can't go to: whether they count.
	honorAffinity, honorTaints bool
}

// constraints returns the constraints of a pod with one of the two actions. Those of the profile apply to pods that have
// none at all, if something says which pods belong together.
func (pl *plugin) constraints(pod *v1.Pod, action v1.UnsatisfiableConstraintAction) ([]constraint, error) {
	group, ok := pl.groupOf(pod, action)
	if !ok {
		return nil, nil
	}
	return pl.constraintsOf(pod, group)
}

func (pl *plugin) constraintsOf(pod *v1.Pod, group constraintGroup) ([]constraint, error) {
	if group.own {
		return ownConstraints(pod, group.action)
	}
	return pl.defaultConstraints(group), nil
}

func ownConstraints(pod *v1.Pod, action v1.UnsatisfiableConstraintAction) ([]constraint, error) {
	var parsed []constraint
	for i := range pod.Spec.TopologySpreadConstraints {
		written := &pod.Spec.TopologySpreadConstraints[i]
		if written.WhenUnsatisfiable != action {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(written.LabelSelector)
		if err != nil {
			return nil, fmt.Errorf("parsing the selector of topology spread constraint %d of pod %s/%s: %w", i, pod.Namespace, pod.Name, err)
		}
		if values := ownValues(written.MatchLabelKeys, pod); len(values) > 0 {
			// A selector that matches nothing still does afterwards.
			requirements, _ := labels.SelectorFromSet(values).Requirements()
			selector = selector.Add(requirements...)
		}
		parsed = append(parsed, newConstraint(written, selector))
	}
	return parsed, nil
}

// ownValues returns the labels of the pod with the given keys.
func ownValues(keys []string, pod *v1.Pod) labels.Set {
	values := make(labels.Set, len(keys))
	for _, key := range keys {
		if value, ok := pod.Labels[key]; ok {
			values[key] = value
		}
	}
	return values
}

func (pl *plugin) defaultConstraints(group constraintGroup) []constraint {
	selector := group.owner.selector()
	if selector.Empty() {
		return nil
	}
	var parsed []constraint
	for i := range pl.defaults {
		if pl.defaults[i].WhenUnsatisfiable == group.action {
			parsed = append(parsed, newConstraint(&pl.defaults[i], selector))
		}
	}
	return parsed
}

func hasAction(constraints []v1.TopologySpreadConstraint, action v1.UnsatisfiableConstraintAction) bool {
	for i := range constraints {
		if constraints[i].WhenUnsatisfiable == action {
			return true
		}
	}
	return false
}

func newConstraint(written *v1.TopologySpreadConstraint, selector labels.Selector) constraint {
	return constraint{
		topologyKey:   written.TopologyKey,
		selector:      selector,
		maxSkew:       int64(written.MaxSkew),
		minDomains:    int64(ptr.Deref(written.MinDomains, 1)),
		honorAffinity: honorsAffinity(written),
		honorTaints:   honorsTaints(written),
	}
}

func honorsAffinity(written *v1.TopologySpreadConstraint) bool {
	return ptr.Deref(written.NodeAffinityPolicy, v1.NodeInclusionPolicyHonor) == v1.NodeInclusionPolicyHonor
}

func honorsTaints(written *v1.TopologySpreadConstraint) bool {
	return ptr.Deref(written.NodeTaintsPolicy, v1.NodeInclusionPolicyIgnore) == v1.NodeInclusionPolicyHonor
}

// selects reports whether the constraint is about a pod, which has to be of the right namespace.
func (c *constraint) selects(pod *v1.Pod) bool {
	return c.selector.Matches(labels.Set(pod.Labels))
}

// hasAllKeys reports whether a node is in a domain of every constraint.
func hasAllKeys(constraints []constraint, node *v1.Node) bool {
	for i := range constraints {
		if _, ok := node.Labels[constraints[i].topologyKey]; !ok {
			return false
		}
	}
	return true
}
