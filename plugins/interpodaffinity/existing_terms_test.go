// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package interpodaffinity

import (
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
