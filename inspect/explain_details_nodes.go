// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	fwk "k8s.io/kube-scheduler/framework"
)

// nodeAffinityDetails has the labels and expressions that a node does not match. They count only where the node is
// rejected at all: of several terms one is enough.
func nodeAffinityDetails(about *subject, info fwk.NodeInfo, _ []string) []string {
	if info == nil {
		return nil
	}
	node := info.Node()
	details := unmatchedTerms("the profile's affinity", about.addedAffinity, node)
	for _, key := range slices.Sorted(maps.Keys(about.pod.Spec.NodeSelector)) {
		wanted := about.pod.Spec.NodeSelector[key]
		if value, has := node.Labels[key]; !has || value != wanted {
			details = append(details, fmt.Sprintf("node selector %s=%s: %s", key, wanted, labelOf(node, key)))
		}
	}
	if affinity := about.pod.Spec.Affinity; affinity != nil && affinity.NodeAffinity != nil {
		required := affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		details = append(details, unmatchedTerms("node affinity", required, node)...)
	}
	return details
}

// labelOf says which value a node has for a label.
func labelOf(node *v1.Node, key string) string {
	value, has := node.Labels[key]
	switch {
	case !has:
		return "the node has no such label"
	case value == "":
		return "the node has it without a value"
	default:
		return "the node has " + value
	}
}

// unmatchedTerms returns what a node would need to match a selector: a line for each expression if there is one term,
// and otherwise one line with all terms.
func unmatchedTerms(whose string, selector *v1.NodeSelector, node *v1.Node) []string {
	if selector == nil || matchesNode(node, selector.NodeSelectorTerms...) {
		return nil
	}
	terms := make([][]string, len(selector.NodeSelectorTerms))
	for i := range selector.NodeSelectorTerms {
		terms[i] = unmatchedExpressions(&selector.NodeSelectorTerms[i], node)
	}
	if len(terms) == 1 {
		lines := make([]string, len(terms[0]))
		for i, unmatched := range terms[0] {
			lines[i] = whose + " " + unmatched
		}
		return lines
	}
	alternatives := make([]string, len(terms))
	for i, unmatched := range terms {
		alternatives[i] = strings.Join(unmatched, " and ")
	}
	return []string{whose + " " + strings.Join(alternatives, ", or ")}
}

// unmatchedExpressions returns the expressions of a term that a node does not match. A term without any matches nothing.
func unmatchedExpressions(term *v1.NodeSelectorTerm, node *v1.Node) []string {
	if len(term.MatchExpressions)+len(term.MatchFields) == 0 {
		return []string{"has an empty term, which matches no node"}
	}
	var unmatched []string
	for _, expression := range term.MatchExpressions {
		if !matchesNode(node, v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{expression}}) {
			unmatched = append(unmatched, fmt.Sprintf("%s: %s", describeExpression(expression), labelOf(node, expression.Key)))
		}
	}
	for _, field := range term.MatchFields {
		if !matchesNode(node, v1.NodeSelectorTerm{MatchFields: []v1.NodeSelectorRequirement{field}}) {
			unmatched = append(unmatched, fmt.Sprintf("%s: the node is %s", describeExpression(field), node.Name))
		}
	}
	return unmatched
}

func describeExpression(expression v1.NodeSelectorRequirement) string {
	text := expression.Key + " " + string(expression.Operator)
	if len(expression.Values) > 0 {
		text += " [" + strings.Join(expression.Values, " ") + "]"
	}
	return text
}

// matchesNode reports whether a node matches one of the terms. One that does not parse matches no node.
func matchesNode(node *v1.Node, terms ...v1.NodeSelectorTerm) bool {
	selector, err := nodeaffinity.NewNodeSelector(&v1.NodeSelector{NodeSelectorTerms: terms})
	return err == nil && selector.Match(node)
}
