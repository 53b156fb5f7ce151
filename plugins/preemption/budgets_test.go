// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package preemption_test

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/preemption"
)

func inNamespace(name string) func(*v1.Pod) {
	return func(pod *v1.Pod) { pod.Namespace = name }
}

func selecting(selector *metav1.LabelSelector) func(*policyv1.PodDisruptionBudget) {
	return func(budget *policyv1.PodDisruptionBudget) { budget.Spec.Selector = selector }
}

func disrupted(names ...string) func(*policyv1.PodDisruptionBudget) {
	return func(budget *policyv1.PodDisruptionBudget) {
		budget.Status.DisruptedPods = map[string]metav1.Time{}
		for _, name := range names {
			budget.Status.DisruptedPods[name] = metav1.Time{}
		}
	}
}

func names(infos []fwk.PodInfo) string {
	var all []string
	for _, info := range infos {
		all = append(all, info.GetPod().Name)
	}
	return strings.Join(all, " ")
}

func TestSplitByBudgets(t *testing.T) {
	three := []*v1.Pod{pod("a", 1, "1", labelled("x")), pod("b", 1, "1", labelled("x")), pod("c", 1, "1", labelled("x"))}
	invalid := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Near"}}}
	type budgets = []*policyv1.PodDisruptionBudget
	tests := []struct {
		name              string
		pods              []*v1.Pod
		budgets           budgets
		exceeding, others string
	}{
		{"no budgets", three, nil, "", "a b c"},
		{"enough for all", three, budgets{budget("b", "x", 3)}, "", "a b c"},
		{"enough for the first only", three, budgets{budget("b", "x", 1)}, "b c", "a"},
		{"nothing left", three, budgets{budget("b", "x", 0)}, "a b c", ""},
		{"negative", three, budgets{budget("b", "x", -1)}, "a b c", ""},
		{"other labels", three, budgets{budget("b", "y", 0)}, "", "a b c"},
		{
			"other namespace", []*v1.Pod{pod("a", 1, "1", labelled("x"), inNamespace("there"))},
			budgets{budget("b", "x", 0)}, "", "a",
		},
		{"pod without labels", []*v1.Pod{pod("a", 1, "1")}, budgets{
			budget("b", "x", 0, selecting(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: "app", Operator: metav1.LabelSelectorOpDoesNotExist},
			}})),
		}, "", "a"},
		{"no selector", three, budgets{budget("b", "x", 0, selecting(nil))}, "", "a b c"},
		{"empty selector", three, budgets{budget("b", "x", 0, selecting(&metav1.LabelSelector{}))}, "", "a b c"},
		{"invalid selector", three, budgets{budget("b", "x", 0, selecting(invalid))}, "", "a b c"},
		{
			"pods that are on their way out already cost nothing", three,
			budgets{budget("b", "x", 1, disrupted("a", "b"))}, "", "a b c",
		},
		{"a disrupted pod is only left out of that budget", three, budgets{
			budget("b1", "x", 1, disrupted("a")), budget("b2", "x", 2),
		}, "c", "a b"},
		{"the scarcest of two budgets decides", three, budgets{budget("b1", "x", 5), budget("b2", "x", 2)}, "c", "a b"},
		{
			// The first budget turns b and c down before the second is asked, which therefore has one left for d.
			"a budget after the one that is exceeded is not used up",
			[]*v1.Pod{
				pod("a", 1, "1", labelled("x")), pod("b", 1, "1", labelled("x")), pod("c", 1, "1", labelled("x")),
				pod("d", 1, "1", labelled("y")),
			},
			budgets{
				budget("b1", "x", 1),
				budget("b2", "", 2, selecting(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
					{Key: "app", Operator: metav1.LabelSelectorOpExists},
				}})),
			},
			"b c", "a d",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var infos []fwk.PodInfo
			for _, pod := range tt.pods {
				info, err := framework.NewPodInfo(pod)
				if err != nil {
					t.Fatal(err)
				}
				infos = append(infos, info)
			}
			exceeding, others := preemption.SplitByBudgets(infos, tt.budgets)
			if names(exceeding) != tt.exceeding || names(others) != tt.others {
				t.Errorf("got %q and %q, want %q and %q", names(exceeding), names(others), tt.exceeding, tt.others)
			}
			again, _ := preemption.SplitByBudgets(infos, tt.budgets)
			if names(again) != names(exceeding) {
				t.Error("the budgets themselves were changed")
			}
		})
	}
}

// TestBudgetsOfVictims is about what budgets mean for the choice: of victims on a node, and of nodes.
func TestBudgetsOfVictims(t *testing.T) {
	tests := []struct {
		name    string
		pod     *v1.Pod
		cluster list
		found   []string
		victims string
	}{
		{
			"enough left", pod("p", 10, "2"),
			list{node("a", "2"), pod("v", 1, "2", labelled("x"), on("a")), budget("b", "x", 1)},
			[]string{"a: v"}, "v",
		},
		{
			"not enough left: it is exceeded if there is no other way", pod("p", 10, "2"),
			list{
				node("a", "2"), pod("v", 2, "1", labelled("x"), on("a")), pod("w", 1, "1", labelled("x"), on("a")),
				budget("b", "x", 1),
			},
			[]string{"a: v w (1)"}, "v w",
		},
		{
			"a disrupted pod has left the budget", pod("p", 10, "2"),
			list{node("a", "2"), pod("v", 1, "2", labelled("x"), on("a")), budget("b", "x", 0, disrupted("v"))},
			[]string{"a: v"}, "v",
		},
		{
			"a pod whose budget is exceeded is spared before more important ones", pod("p", 10, "1"),
			list{
				node("a", "2"), pod("v", 1, "1", labelled("x"), on("a")), pod("w", 5, "1", on("a")),
				budget("b", "x", 0),
			},
			[]string{"a: w"}, "w",
		},
		{
			"victims of both kinds are listed by importance", pod("p", 10, "3"),
			list{
				node("a", "3"), pod("v1", 1, "1", labelled("x"), on("a")), pod("v3", 3, "1", on("a")), pod("v2", 2, "1", labelled("x"), on("a")),
				budget("b", "x", 1),
			},
			[]string{"a: v3 v2 v1 (1)"}, "v1 v2 v3",
		},
		{
			"a node within the budgets is preferred, whatever the priorities", pod("p", 10, "1"),
			list{
				node("a", "1"), pod("v", 1, "1", labelled("x"), on("a")), node("b", "1"), pod("w", 9, "1", on("b")),
				budget("b", "x", 0),
			},
			[]string{"b: w", "a: v (1)"}, "w",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := in(t, append(tt.cluster, tt.pod))
			result, status := s.preempt(t, tt.pod)
			if got := s.hooks.found(); strings.Join(got, "\n") != strings.Join(tt.found, "\n") {
				t.Errorf("found %q, want %q", got, tt.found)
			}
			s.checkPreempted(t, result, status, nominated(result), tt.victims)
		})
	}
}

// An informer lists budgets in any order. Which of them a pod uses up must not depend on that: "first" turns v2 down, so that
// "second" is left for v1.
func TestBudgetsAreTakenInOrder(t *testing.T) {
	preemptor := pod("p", 10, "2")
	everybody := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: "app", Operator: metav1.LabelSelectorOpExists},
	}}
	for range 30 {
		s := in(t, list{
			preemptor, node("a", "2"), pod("v1", 1, "1", labelled("y"), on("a")), pod("v2", 2, "1", labelled("x"), on("a")),
			budget("first", "x", 0), budget("second", "", 1, selecting(everybody)),
		})
		s.preempt(t, preemptor)
		if got, want := strings.Join(s.hooks.found(), "\n"), "a: v2 v1 (1)"; got != want {
			t.Fatalf("found %q, want %q", got, want)
		}
	}
}
