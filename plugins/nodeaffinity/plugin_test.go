// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeaffinity

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func TestNew(t *testing.T) {
	invalid := term(expr("a", "Near", "1"))
	tests := []struct {
		name    string
		args    apiruntime.Object
		wantErr bool
	}{
		{"no args", nil, false},
		{"empty args", &configv1.NodeAffinityArgs{}, false},
		{"added affinity", &configv1.NodeAffinityArgs{AddedAffinity: added(term(in("a", "1")))}, false},
		{"invalid required term", &configv1.NodeAffinityArgs{AddedAffinity: added(invalid)}, true},
		{"invalid preferred term", &configv1.NodeAffinityArgs{AddedAffinity: &v1.NodeAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{Weight: 1, Preference: invalid}},
		}}, true},
		{"args of another plugin", &configv1.NodeResourcesFitArgs{}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := New(t.Context(), tt.args, nil)
			if (err != nil) != tt.wantErr {
				t.Errorf("got error %v, want one: %v", err, tt.wantErr)
			}
		})
	}
}

func newPlugin(tb testing.TB, addedAffinity *v1.NodeAffinity) *plugin {
	tb.Helper()
	built, err := New(tb.Context(), &configv1.NodeAffinityArgs{AddedAffinity: addedAffinity}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return built.(*plugin)
}

func labels(pairs ...string) map[string]string {
	set := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		set[pairs[i]] = pairs[i+1]
	}
	return set
}

func expr(key string, operator v1.NodeSelectorOperator, values ...string) v1.NodeSelectorRequirement {
	return v1.NodeSelectorRequirement{Key: key, Operator: operator, Values: values}
}

func in(key string, values ...string) v1.NodeSelectorRequirement {
	return expr(key, v1.NodeSelectorOpIn, values...)
}

func nameIn(names ...string) v1.NodeSelectorRequirement { return in("metadata.name", names...) }

func nameNotIn(names ...string) v1.NodeSelectorRequirement {
	return expr("metadata.name", v1.NodeSelectorOpNotIn, names...)
}

// term has expressions over labels, fields over the fields of a node, and both one of each.
func term(expressions ...v1.NodeSelectorRequirement) v1.NodeSelectorTerm {
	return v1.NodeSelectorTerm{MatchExpressions: expressions}
}

func fields(fields ...v1.NodeSelectorRequirement) v1.NodeSelectorTerm {
	return v1.NodeSelectorTerm{MatchFields: fields}
}

func both(expression, field v1.NodeSelectorRequirement) v1.NodeSelectorTerm {
	return v1.NodeSelectorTerm{
		MatchExpressions: []v1.NodeSelectorRequirement{expression},
		MatchFields:      []v1.NodeSelectorRequirement{field},
	}
}

func preferred(weight int32, expressions ...v1.NodeSelectorRequirement) v1.PreferredSchedulingTerm {
	return v1.PreferredSchedulingTerm{Weight: weight, Preference: term(expressions...)}
}

func added(terms ...v1.NodeSelectorTerm) *v1.NodeAffinity {
	return &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: terms}}
}

func requires(terms ...v1.NodeSelectorTerm) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		affinityOf(pod).RequiredDuringSchedulingIgnoredDuringExecution = added(terms...).RequiredDuringSchedulingIgnoredDuringExecution
	}
}

func prefers(terms ...v1.PreferredSchedulingTerm) func(*v1.Pod) {
	return func(pod *v1.Pod) { affinityOf(pod).PreferredDuringSchedulingIgnoredDuringExecution = terms }
}

func affinityOf(pod *v1.Pod) *v1.NodeAffinity {
	if pod.Spec.Affinity == nil {
		pod.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{}}
	}
	return pod.Spec.Affinity.NodeAffinity
}

func requiring(terms ...v1.NodeSelectorTerm) *v1.Pod {
	return objects.Pod("p").With(requires(terms...)).Build()
}

// selecting returns a pod with a node selector, given as pairs, and with the changes among the arguments.
func selecting(args ...any) *v1.Pod {
	pod := objects.Pod("p").Build()
	var pairs []string
	for _, arg := range args {
		switch arg := arg.(type) {
		case string:
			pairs = append(pairs, arg)
		case func(*v1.Pod):
			arg(pod)
		}
	}
	pod.Spec.NodeSelector = labels(pairs...)
	return pod
}
