// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumebinding

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// domain is the nodes that have a label with a value.
type domain struct{ key, value string }

// domains finds, of a list of things each of which is for some nodes, those that may be for a node, without a look at the
// others. A thing is listed under every domain that its nodes have to be of, or under none.
type domains struct {
	keys  []string
	of    map[domain][]int32
	other []int32
}

// add lists the thing with the next index.
func (d *domains) add(index int, in []domain) {
	if in == nil {
		d.other = append(d.other, int32(index))
		return
	}
	if d.of == nil {
		d.of = map[domain][]int32{}
	}
	for _, one := range in {
		if listed := d.of[one]; len(listed) == 0 || listed[len(listed)-1] != int32(index) {
			d.of[one] = append(listed, int32(index))
		}
		if !slices.Contains(d.keys, one.key) {
			d.keys = append(d.keys, one.key)
		}
	}
}

// first returns the lowest index of those that may be for a node with the labels and that suit; -1 if none does.
func (d *domains) first(nodeLabels map[string]string, suits func(index int) bool) int {
	first := firstOf(d.other, -1, suits)
	for _, key := range d.keys {
		if value, ok := nodeLabels[key]; ok {
			first = firstOf(d.of[domain{key, value}], first, suits)
		}
	}
	return first
}

// firstOf returns the lowest of the indexes that suits, unless an index that is known is lower.
func firstOf(indexes []int32, known int, suits func(index int) bool) int {
	for _, index := range indexes {
		if known >= 0 && int(index) >= known {
			break
		}
		if suits(int(index)) {
			return int(index)
		}
	}
	return known
}

// affinityDomains returns the domains that nodes which match a node selector are of, each of one; nil if that can't be told, and
// an empty list if no node matches.
func affinityDomains(selector *v1.NodeSelector) []domain {
	found := []domain{}
	for i := range selector.NodeSelectorTerms {
		term := &selector.NodeSelectorTerms[i]
		if len(term.MatchExpressions)+len(term.MatchFields) == 0 {
			continue // matches nothing
		}
		at := slices.IndexFunc(term.MatchExpressions, func(r v1.NodeSelectorRequirement) bool { return r.Operator == v1.NodeSelectorOpIn })
		if at < 0 {
			return nil
		}
		for _, value := range term.MatchExpressions[at].Values {
			found = append(found, domain{term.MatchExpressions[at].Key, value})
		}
	}
	return found
}

// selectorDomains is [affinityDomains] for a selector of labels.
func selectorDomains(selector *metav1.LabelSelector) []domain {
	keys := make([]string, 0, len(selector.MatchLabels))
	for key := range selector.MatchLabels {
		keys = append(keys, key)
	}
	if len(keys) > 0 {
		key := slices.MinFunc(keys, cmp.Compare[string])
		return []domain{{key, selector.MatchLabels[key]}}
	}
	for i := range selector.MatchExpressions {
		if expression := &selector.MatchExpressions[i]; expression.Operator == metav1.LabelSelectorOpIn {
			found := []domain{}
			for _, value := range expression.Values {
				found = append(found, domain{expression.Key, value})
			}
			return found
		}
	}
	return nil
}

// affinity is from where a volume can be reached, parsed; the zero value is everywhere.
type affinity struct {
	required *v1.NodeSelector
	parsed   *nodeaffinity.LazyErrorNodeSelector
}

func affinityOf(volume *v1.PersistentVolume) affinity {
	if volume.Spec.NodeAffinity == nil || volume.Spec.NodeAffinity.Required == nil {
		return affinity{}
	}
	required := volume.Spec.NodeAffinity.Required
	return affinity{required: required, parsed: nodeaffinity.NewLazyErrorNodeSelector(required)}
}

// includes reports whether the volume can be reached from nodes with the labels. It says what storagevolume.CheckNodeAffinity
// does.
func (a affinity) includes(nodeLabels map[string]string) bool {
	if a.parsed == nil {
		return true
	}
	node := v1.Node{ObjectMeta: metav1.ObjectMeta{Labels: nodeLabels}}
	matches, err := a.parsed.Match(&node)
	return err == nil && matches
}
