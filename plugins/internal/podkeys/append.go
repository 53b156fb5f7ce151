// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package podkeys

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rouse-scheduler/rouse/framework"
)

// usual is how many entries a map usually has at most; more cost an allocation.
const usual = 8

// Strings appends a list of texts.
func Strings(key []byte, texts []string) []byte {
	key = framework.AppendKeyInt(key, int64(len(texts)))
	for _, text := range texts {
		key = framework.AppendKeyString(key, text)
	}
	return key
}

// Map appends a map; an empty one is like none.
func Map[M ~map[string]string](key []byte, values M) []byte {
	var room [usual]string
	names := room[:0]
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	key = framework.AppendKeyInt(key, int64(len(names)))
	for _, name := range names {
		key = framework.AppendKeyString(framework.AppendKeyString(key, name), values[name])
	}
	return key
}

// LabelSelector appends a selector of labels, which may be nil.
func LabelSelector(key []byte, selector *metav1.LabelSelector) []byte {
	if selector == nil {
		return append(key, 0)
	}
	key = Map(append(key, 1), selector.MatchLabels)
	key = framework.AppendKeyInt(key, int64(len(selector.MatchExpressions)))
	for i := range selector.MatchExpressions {
		expression := &selector.MatchExpressions[i]
		key = framework.AppendKeyString(framework.AppendKeyString(key, expression.Key), string(expression.Operator))
		key = Strings(key, expression.Values)
	}
	return key
}

// RequiredNodeAffinity appends what a pod requires of nodes: node selector and node affinity.
func RequiredNodeAffinity(key []byte, pod *v1.Pod) []byte {
	key = Map(key, pod.Spec.NodeSelector)
	affinity := pod.Spec.Affinity
	if affinity == nil || affinity.NodeAffinity == nil || affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return append(key, 0)
	}
	return NodeSelector(key, affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
}

// NodeSelector appends a selector of nodes, which may be nil.
func NodeSelector(key []byte, selector *v1.NodeSelector) []byte {
	if selector == nil {
		return append(key, 0)
	}
	terms := selector.NodeSelectorTerms
	key = framework.AppendKeyInt(append(key, 1), int64(len(terms)))
	for i := range terms {
		key = nodeRequirements(key, terms[i].MatchExpressions)
		key = nodeRequirements(key, terms[i].MatchFields)
	}
	return key
}

func nodeRequirements(key []byte, requirements []v1.NodeSelectorRequirement) []byte {
	key = framework.AppendKeyInt(key, int64(len(requirements)))
	for i := range requirements {
		key = framework.AppendKeyString(key, requirements[i].Key)
		key = framework.AppendKeyString(key, string(requirements[i].Operator))
		key = Strings(key, requirements[i].Values)
	}
	return key
}

// Tolerations appends what a pod tolerates. For how long does not matter.
func Tolerations(key []byte, tolerations []v1.Toleration) []byte {
	key = framework.AppendKeyInt(key, int64(len(tolerations)))
	for i := range tolerations {
		toleration := &tolerations[i]
		key = framework.AppendKeyString(key, toleration.Key)
		key = framework.AppendKeyString(key, string(toleration.Operator))
		key = framework.AppendKeyString(key, toleration.Value)
		key = framework.AppendKeyString(key, string(toleration.Effect))
	}
	return key
}
