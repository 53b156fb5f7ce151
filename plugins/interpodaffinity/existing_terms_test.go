// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package interpodaffinity

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugins/internal/topology"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// TestTermsOfPodsThatAreGoneAreForgotten checks that what is kept follows the pods that are there, not those that were.
func TestTermsOfPodsThatAreGoneAreForgotten(t *testing.T) {
	away := func(values ...string) func(*v1.Pod) {
		return func(pod *v1.Pod) {
			pod.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{TopologyKey: "zone", LabelSelector: &metav1.LabelSelector{
					MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: values}},
				}}},
			}}
		}
	}
	node := func(pods ...*v1.Pod) *framework.NodeInfo {
		return fixture.NodeInfo(objects.Node("n").Label("zone", "z").Build(), pods...)
	}
	var snapshot fixture.IndexedNodes
	shared := topology.SharedOf(&snapshot, nil)
	terms := newExistingTerms(framework.NodeView.PodsWithRequiredAntiAffinity, antiAffinityTerms)
	for range 3 {
		for _, now := range []struct {
			node  *framework.NodeInfo
			terms int
		}{
			{node(objects.Pod("a").With(away("x")).Build()), 1},
			{node(objects.Pod("a").With(away("x")).Build(), objects.Pod("b").With(away("x")).Build(), objects.Pod("c").With(away("y", "z")).Build()), 2},
			{node(objects.Pod("c").With(away("y", "z")).Build()), 1},
			{node(), 0},
			{nil, 0},
		} {
			snapshot.Set(0, now.node)
			terms.sync(shared)
			listed := map[*existingTerm]bool{}
			for _, some := range terms.byPlace {
				for _, term := range some {
					listed[term] = true
				}
			}
			if len(terms.byKey) != now.terms || len(listed) != now.terms || (len(terms.domains) > 0) != (now.terms > 0) {
				t.Errorf("%d terms, %d of them listed, %d topology keys; want %d terms", len(terms.byKey), len(listed), len(terms.domains), now.terms)
			}
		}
	}
}

// TestTermsAreFoundThatMatch compares the terms that are found for a pod with a look at all of them.
func TestTermsAreFoundThatMatch(t *testing.T) {
	random := rand.New(rand.NewPCG(31, 32))
	some := func(texts ...string) string { return texts[random.IntN(len(texts))] }
	selector := func() *metav1.LabelSelector {
		made := &metav1.LabelSelector{}
		for range random.IntN(3) {
			r := metav1.LabelSelectorRequirement{Key: some("app", "tier"), Operator: metav1.LabelSelectorOperator(some("In", "NotIn", "Exists", "DoesNotExist"))}
			if r.Operator == metav1.LabelSelectorOpIn || r.Operator == metav1.LabelSelectorOpNotIn {
				r.Values = []string{some("a", "b"), some("b", "c")}
			}
			made.MatchExpressions = append(made.MatchExpressions, r)
		}
		return made
	}
	var snapshot fixture.IndexedNodes
	shared := topology.SharedOf(&snapshot, nil)
	terms := newExistingTerms(framework.NodeView.PodsWithRequiredAntiAffinity, antiAffinityTerms)
	matched := 0
	for range 300 {
		info := fixture.NodeInfo(objects.Node("n").Label("zone", "z").Build())
		for i := range 12 {
			term := v1.PodAffinityTerm{TopologyKey: "zone", LabelSelector: selector()}
			switch random.IntN(4) {
			case 0:
				term.Namespaces = []string{"x", "y"}
			case 1:
				term.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": some("a", "b")}}
			}
			info.AddPod(objects.Pod(fmt.Sprint(i)).With(func(pod *v1.Pod) {
				pod.Namespace = some("x", "y", "z")
				pod.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term}}}
			}).Build())
		}
		snapshot.Set(0, info)
		terms.sync(shared)
		incoming := objects.Pod("incoming").Label(some("app", "tier", "other"), some("a", "b", "c")).Label("more", "").Build()
		incoming.Namespace = some("x", "y", "z")
		namespaceLabels := map[string]string{"team": some("a", "b")}
		want := map[*existingTerm]int{}
		for _, term := range terms.byKey {
			if term.term.Matches(incoming, namespaceLabels) {
				want[term]++
			}
		}
		got := map[*existingTerm]int{}
		for _, term := range terms.matching(incoming, namespaceLabels) {
			got[term]++
		}
		if !maps.Equal(got, want) {
			t.Fatalf("pod %v in %s: %d terms are found, want %d", incoming.Labels, incoming.Namespace, len(got), len(want))
		}
		matched += len(want)
	}
	if matched < 300 {
		t.Errorf("%d terms matched: too few to be a test", matched)
	}
}
