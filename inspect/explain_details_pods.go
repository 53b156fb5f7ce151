// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/interpodaffinity"
)

// podAffinityDetails has the terms that are not satisfied, and the pods that conflict.
func podAffinityDetails(about *subject, node fwk.NodeInfo, reasons []string) []string {
	if node == nil || len(reasons) == 0 {
		return nil
	}
	parsed, err := framework.NewPodInfo(about.pod)
	if err != nil {
		return nil
	}
	switch reasons[0] {
	case interpodaffinity.ReasonAffinity:
		return about.missingAffinity(node.Node(), parsed.GetRequiredAffinityTerms())
	case interpodaffinity.ReasonAntiAffinity:
		return about.conflictingAntiAffinity(node.Node(), parsed.GetRequiredAntiAffinityTerms())
	case interpodaffinity.ReasonExistingAntiAffinity:
		return about.existingAntiAffinity(node.Node())
	}
	return nil
}

// missingAffinity returns the affinity terms without a pod in the topology domain. A pod counts if it matches all terms.
func (s *subject) missingAffinity(node *v1.Node, terms []fwk.AffinityTerm) []string {
	var details []string
	for i := range terms {
		key := terms[i].TopologyKey
		value, has := node.Labels[key]
		if !has {
			details = append(details, "the node has no label "+key)
			continue
		}
		found := false
		s.eachPodIn(key, value, func(other fwk.PodInfo, _ *v1.Node) {
			found = found || s.matchesAll(terms, other.GetPod())
		})
		if !found {
			details = append(details, fmt.Sprintf("no pod with %s in %s=%s", describeSelector(terms[i].Selector), key, value))
		}
	}
	return details
}

// conflictingAntiAffinity returns the pods that match an anti-affinity term of the pod in its topology domain.
func (s *subject) conflictingAntiAffinity(node *v1.Node, terms []fwk.AffinityTerm) []string {
	var details []string
	for i := range terms {
		key := terms[i].TopologyKey
		value, has := node.Labels[key]
		if !has {
			continue
		}
		s.eachPodIn(key, value, func(other fwk.PodInfo, _ *v1.Node) {
			if terms[i].Matches(other.GetPod(), s.namespaceLabels(other.GetPod().Namespace)) {
				details = append(details, fmt.Sprintf("pod %s with %s is in %s=%s",
					podName(other.GetPod()), describeSelector(terms[i].Selector), key, value))
			}
		})
	}
	return details
}

// existingAntiAffinity returns the pods with an anti-affinity term that the pod matches in their topology domain.
func (s *subject) existingAntiAffinity(node *v1.Node) []string {
	var details []string
	for _, info := range s.nodes {
		for _, other := range info.GetPods() {
			terms := other.GetRequiredAntiAffinityTerms()
			for i := range terms {
				key := terms[i].TopologyKey
				theirs, have := info.Node().Labels[key]
				if ours, has := node.Labels[key]; !have || !has || ours != theirs {
					continue
				}
				if terms[i].Matches(s.pod, s.namespaceLabels(s.pod.Namespace)) {
					details = append(details, fmt.Sprintf("pod %s keeps pods with %s out of %s=%s",
						podName(other.GetPod()), describeSelector(terms[i].Selector), key, theirs))
				}
			}
		}
	}
	return details
}

// eachPodIn calls visit for every pod on the nodes of a topology domain.
func (s *subject) eachPodIn(key, value string, visit func(fwk.PodInfo, *v1.Node)) {
	for _, info := range s.nodes {
		if actual, has := info.Node().Labels[key]; !has || actual != value {
			continue
		}
		for _, other := range info.GetPods() {
			visit(other, info.Node())
		}
	}
}

func (s *subject) matchesAll(terms []fwk.AffinityTerm, pod *v1.Pod) bool {
	for i := range terms {
		if !terms[i].Matches(pod, s.namespaceLabels(pod.Namespace)) {
			return false
		}
	}
	return true
}

func describeSelector(selector labels.Selector) string {
	if selector.Empty() {
		return "any labels"
	}
	return selector.String()
}

// spreadDetails has the constraints of the pod that a node violates, with the counts of the domains. Constraints that
// the profile gives to pods without any are not among them.
func spreadDetails(about *subject, info fwk.NodeInfo, _ []string) []string {
	if info == nil {
		return nil
	}
	hard := slices.DeleteFunc(slices.Clone(about.pod.Spec.TopologySpreadConstraints), func(c v1.TopologySpreadConstraint) bool {
		return c.WhenUnsatisfiable != v1.DoNotSchedule
	})
	var details []string
	for i := range hard {
		constraint := &hard[i]
		domain, has := info.Node().Labels[constraint.TopologyKey]
		if !has {
			details = append(details, "the node has no label "+constraint.TopologyKey)
			continue
		}
		selector, err := selectorOf(constraint, about.pod)
		if err != nil {
			return nil
		}
		counts := about.domains(constraint, selector, hard)
		fewest, self := fewestOf(counts, constraint), 0
		if selector.Matches(labels.Set(about.pod.Labels)) {
			self = 1
		}
		if counts[domain]+self-fewest > int(constraint.MaxSkew) {
			details = append(details, fmt.Sprintf("%s=%s has %s with %s, the fewest anywhere is %d, and maxSkew is %d", constraint.TopologyKey,
				domain, podCount(counts[domain]), describeSelector(selector), fewest, constraint.MaxSkew))
		}
	}
	return details
}

func selectorOf(constraint *v1.TopologySpreadConstraint, pod *v1.Pod) (labels.Selector, error) {
	selector, err := metav1.LabelSelectorAsSelector(constraint.LabelSelector)
	if err != nil {
		return nil, err
	}
	own := labels.Set{}
	for _, key := range constraint.MatchLabelKeys {
		if value, has := pod.Labels[key]; has {
			own[key] = value
		}
	}
	requirements, _ := labels.SelectorFromSet(own).Requirements()
	return selector.Add(requirements...), nil
}

// domains counts the pods that a constraint is about, by domain. Nodes that lack the key of any constraint, or that the
// policies of the constraint leave out, don't count.
func (s *subject) domains(constraint *v1.TopologySpreadConstraint, selector labels.Selector, all []v1.TopologySpreadConstraint) map[string]int {
	affinity := nodeaffinity.GetRequiredNodeAffinity(s.pod)
	counts := map[string]int{}
	for _, info := range s.nodes {
		node := info.Node()
		lacks := func(c v1.TopologySpreadConstraint) bool { _, has := node.Labels[c.TopologyKey]; return !has }
		matches, err := affinity.Match(node)
		switch {
		case slices.ContainsFunc(all, lacks):
			continue
		case ptr.Deref(constraint.NodeAffinityPolicy, v1.NodeInclusionPolicyHonor) == v1.NodeInclusionPolicyHonor && (err != nil || !matches):
			continue
		case ptr.Deref(constraint.NodeTaintsPolicy, v1.NodeInclusionPolicyIgnore) == v1.NodeInclusionPolicyHonor && s.hasUntoleratedTaint(node):
			continue
		}
		matching := 0
		for _, other := range info.GetPods() {
			pod := other.GetPod()
			if pod.Namespace == s.pod.Namespace && pod.DeletionTimestamp == nil && !selector.Empty() && selector.Matches(labels.Set(pod.Labels)) {
				matching++
			}
		}
		counts[node.Labels[constraint.TopologyKey]] += matching
	}
	return counts
}

// hasUntoleratedTaint reports whether the pod does not tolerate a taint of a node.
func (s *subject) hasUntoleratedTaint(node *v1.Node) bool {
	keepsAway := func(taint *v1.Taint) bool {
		return taint.Effect == v1.TaintEffectNoSchedule || taint.Effect == v1.TaintEffectNoExecute
	}
	_, found := corev1helpers.FindMatchingUntoleratedTaint(klog.Logger{}, node.Spec.Taints, s.pod.Spec.Tolerations, keepsAway, false)
	return found
}

// fewestOf returns the smallest count. With fewer domains than the constraint asks for, some count as empty.
func fewestOf(counts map[string]int, constraint *v1.TopologySpreadConstraint) int {
	if len(counts) < int(ptr.Deref(constraint.MinDomains, 1)) {
		return 0
	}
	fewest, first := 0, true
	for _, count := range counts {
		if first || count < fewest {
			fewest, first = count, false
		}
	}
	return fewest
}
