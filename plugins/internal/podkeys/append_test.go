// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package podkeys_test

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rouse-scheduler/rouse/plugins/internal/podkeys"
)

func TestDifferentSelectorsHaveDifferentKeys(t *testing.T) {
	expression := func(key string, operator metav1.LabelSelectorOperator, values ...string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: operator, Values: values}}}
	}
	seen := map[string]int{}
	for i, selector := range []*metav1.LabelSelector{
		nil,
		{},
		{MatchLabels: map[string]string{"a": "b"}},
		{MatchLabels: map[string]string{"ab": ""}},
		{MatchLabels: map[string]string{"": "ab"}},
		{MatchLabels: map[string]string{"a": "b", "c": "d"}},
		expression("a", "In", "b"),
		expression("a", "In", "b", ""),
		expression("a", "In", "b", "c"),
		expression("a", "NotIn", "b", "c"),
		expression("a", "Exists"),
	} {
		key := string(podkeys.LabelSelector(nil, selector))
		if other, found := seen[key]; found {
			t.Errorf("selectors %d and %d have the same key", other, i)
		}
		seen[key] = i
	}
}

func TestDifferentPodsHaveDifferentKeys(t *testing.T) {
	required := func(term v1.NodeSelectorTerm) *v1.Affinity {
		return &v1.Affinity{NodeAffinity: &v1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{term}},
		}}
	}
	requirement := []v1.NodeSelectorRequirement{{Key: "a", Operator: v1.NodeSelectorOpIn, Values: []string{"b"}}}
	seen := map[string]int{}
	for i, spec := range []v1.PodSpec{
		{},
		{NodeSelector: map[string]string{"a": "b"}},
		{Affinity: required(v1.NodeSelectorTerm{})},
		{Affinity: required(v1.NodeSelectorTerm{MatchExpressions: requirement})},
		{Affinity: required(v1.NodeSelectorTerm{MatchFields: requirement})},
		{NodeSelector: map[string]string{"a": "b"}, Affinity: required(v1.NodeSelectorTerm{MatchFields: requirement})},
		{Tolerations: []v1.Toleration{{Key: "a"}}},
		{Tolerations: []v1.Toleration{{Value: "a"}}},
		{Tolerations: []v1.Toleration{{Key: "a"}, {}}},
	} {
		key := podkeys.RequiredNodeAffinity(nil, &v1.Pod{Spec: spec})
		key = podkeys.Tolerations(key, spec.Tolerations)
		if other, found := seen[string(key)]; found {
			t.Errorf("pods %d and %d have the same key", other, i)
		}
		seen[string(key)] = i
	}
	plain, empty := &v1.Pod{}, &v1.Pod{Spec: v1.PodSpec{NodeSelector: map[string]string{}}}
	if string(podkeys.RequiredNodeAffinity(nil, plain)) != string(podkeys.RequiredNodeAffinity(nil, empty)) {
		t.Error("an empty node selector is not like none")
	}
}
