// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package podkeys_test

import (
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rouse-scheduler/rouse/plugins/internal/podkeys"
)

// checkKeys checks that no two keys are the same, and that none begins with another, so that keys stay different whatever
// is appended to them.
func checkKeys(t *testing.T, keys []string) {
	t.Helper()
	for i, key := range keys {
		for j, other := range keys {
			if i != j && strings.HasPrefix(key, other) {
				t.Errorf("key %d, %q, begins with key %d, %q", i, key, j, other)
			}
		}
	}
}

func TestDifferentSelectorsHaveDifferentKeys(t *testing.T) {
	expression := func(key string, operator metav1.LabelSelectorOperator, values ...string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: operator, Values: values}}}
	}
	twice := expression("a", "Exists")
	twice.MatchExpressions = append(twice.MatchExpressions, metav1.LabelSelectorRequirement{})
	var keys []string
	for _, selector := range []*metav1.LabelSelector{
		nil,
		{},
		{MatchLabels: map[string]string{"a": "b"}},
		{MatchLabels: map[string]string{"ab": ""}},
		{MatchLabels: map[string]string{"": "ab"}},
		{MatchLabels: map[string]string{"a": "b", "c": "d"}},
		expression("a", "In", "b"),
		expression("b", "In", "b"),
		expression("a", "In", "b", ""),
		expression("a", "In", "b", "c"),
		expression("a", "NotIn", "b", "c"),
		expression("a", "Exists"),
		twice,
	} {
		keys = append(keys, string(podkeys.LabelSelector(nil, selector)))
	}
	checkKeys(t, keys)
}

func TestDifferentNodeAffinitiesHaveDifferentKeys(t *testing.T) {
	required := func(terms ...v1.NodeSelectorTerm) *v1.Affinity {
		return &v1.Affinity{NodeAffinity: &v1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: terms},
		}}
	}
	requirement := func(key string, operator v1.NodeSelectorOperator, values ...string) []v1.NodeSelectorRequirement {
		return []v1.NodeSelectorRequirement{{Key: key, Operator: operator, Values: values}}
	}
	in := requirement("a", v1.NodeSelectorOpIn, "b")
	var keys []string
	for _, spec := range []v1.PodSpec{
		{},
		{NodeSelector: map[string]string{"a": "b"}},
		{NodeSelector: map[string]string{"a": "b", "c": ""}},
		{Affinity: required()},
		{Affinity: required(v1.NodeSelectorTerm{})},
		{Affinity: required(v1.NodeSelectorTerm{}, v1.NodeSelectorTerm{})},
		{Affinity: required(v1.NodeSelectorTerm{MatchExpressions: in})},
		{Affinity: required(v1.NodeSelectorTerm{MatchExpressions: append(in, in...)})},
		{Affinity: required(v1.NodeSelectorTerm{MatchExpressions: requirement("c", v1.NodeSelectorOpIn, "b")})},
		{Affinity: required(v1.NodeSelectorTerm{MatchExpressions: requirement("a", v1.NodeSelectorOpNotIn, "b")})},
		{Affinity: required(v1.NodeSelectorTerm{MatchExpressions: requirement("a", v1.NodeSelectorOpIn, "c")})},
		{Affinity: required(v1.NodeSelectorTerm{MatchExpressions: requirement("a", v1.NodeSelectorOpIn, "b", "c")})},
		{Affinity: required(v1.NodeSelectorTerm{MatchFields: in})},
		{NodeSelector: map[string]string{"a": "b"}, Affinity: required(v1.NodeSelectorTerm{MatchFields: in})},
	} {
		keys = append(keys, string(podkeys.RequiredNodeAffinity(nil, &v1.Pod{Spec: spec})))
	}
	checkKeys(t, keys)
	empty := &v1.Pod{Spec: v1.PodSpec{NodeSelector: map[string]string{}, Affinity: &v1.Affinity{NodeAffinity: &v1.NodeAffinity{}}}}
	if keys[0] != string(podkeys.RequiredNodeAffinity(nil, empty)) {
		t.Error("an empty node selector and affinity are not like none")
	}
}

func TestDifferentTolerationsHaveDifferentKeys(t *testing.T) {
	var keys []string
	for _, tolerations := range [][]v1.Toleration{
		nil, {{}}, {{Key: "a"}}, {{Operator: "a"}}, {{Value: "a"}}, {{Effect: "a"}}, {{Key: "a"}, {}}, {{}, {Key: "a"}},
	} {
		keys = append(keys, string(podkeys.Tolerations(nil, tolerations)))
	}
	checkKeys(t, keys)
	seconds := int64(5)
	if keys[2] != string(podkeys.Tolerations(nil, []v1.Toleration{{Key: "a", TolerationSeconds: &seconds}})) {
		t.Error("for how long a taint is tolerated matters")
	}
}

// TestKeysOfMapsDoNotHangOnTheirOrder makes the same map again and again, small ones and large ones.
func TestKeysOfMapsDoNotHangOnTheirOrder(t *testing.T) {
	for _, size := range []int{0, 1, 5, 8, 9, 20} {
		keys := map[string]bool{}
		for range 50 {
			labels := map[string]string{}
			for i := range size {
				labels[fmt.Sprint("name-", i)] = fmt.Sprint("value-", i)
			}
			keys[string(podkeys.Map(nil, labels))] = true
		}
		if len(keys) != 1 {
			t.Errorf("%d keys of the same %d labels", len(keys), size)
		}
	}
}
