// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// NeighbourShape is what a cluster is full of, and which pods come to it.
type NeighbourShape string

// The shapes of neighbours.
const (
	// NewSelectors has a hundred pods of 200 applications on each node. Every pod that comes has three spread constraints, with
	// a selector that no other has, and that selects the pods of half of all applications.
	NewSelectors NeighbourShape = "new selectors"
	// NewSelectorsOwnLabels is the same where each pod has a label of its own, as those of a StatefulSet.
	NewSelectorsOwnLabels NeighbourShape = "new selectors, own labels"
	// ReplicaSetsInTurns has ten pods on each node, of 400 ReplicaSets, from each of which comes a pod in turn.
	ReplicaSetsInTurns NeighbourShape = "ReplicaSets in turns"
	// NewReplicaSets is the same, but every pod that comes is of a ReplicaSet without any.
	NewReplicaSets NeighbourShape = "new ReplicaSets"
	// TermsOfOthers has 10,000 pods that must not share a node with pods that have the same two labels as they have, of
	// which one is the same for all. The pods that come have these labels, too.
	TermsOfOthers NeighbourShape = "terms of others"
	// NamespacedTermsOfOthers is the same for pods with any application label, in namespaces of their own.
	NamespacedTermsOfOthers NeighbourShape = "namespaced terms of others"
	// NewTerms has ten pods on each node; every pod that comes has an anti-affinity term that no other has.
	NewTerms NeighbourShape = "new terms"
)

const (
	turns        = 400
	applications = 200
	othersTerms  = 10_000
)

// Neighbours is a cluster with pods on its nodes.
type Neighbours struct {
	Nodes       []*v1.Node
	Pods        []*v1.Pod // each on a node
	ReplicaSets []*appsv1.ReplicaSet
	// Incoming returns the pod of a number that comes, a new object each time.
	Incoming func(i int) *v1.Pod
}

// NewNeighbours makes a cluster.
func NewNeighbours(s NeighbourShape, nodes int) *Neighbours {
	made := &Neighbours{Nodes: Nodes(nodes, Basic)}
	switch s {
	case NewSelectors, NewSelectorsOwnLabels:
		made.add(100*nodes, func(i int, pod *v1.Pod) {
			pod.Labels = map[string]string{"app": "bench", "part": fmt.Sprintf("part-%d", i%applications), "half": fmt.Sprint(i % 2)}
			if s == NewSelectorsOwnLabels {
				pod.Labels["pod"] = pod.Name
			}
		})
		made.Incoming = func(i int) *v1.Pod { return spreadWithNewSelector(i) }
	case ReplicaSetsInTurns, NewReplicaSets:
		made.add(10*nodes, func(i int, pod *v1.Pod) { ownedBy(pod, i%turns) })
		count, first := turns, 0
		if s == NewReplicaSets {
			count, first = 6_000, turns
		}
		for i := range count + first {
			made.ReplicaSets = append(made.ReplicaSets, replicaSet(i))
		}
		made.Incoming = func(i int) *v1.Pod { return ownedBy(incoming(i), first+i%count) }
	case TermsOfOthers, NamespacedTermsOfOthers:
		made.add(othersTerms, func(i int, pod *v1.Pod) { withTermOfItsOwn(pod, s, i) })
		made.Incoming = func(i int) *v1.Pod {
			pod := withTermOfItsOwn(incoming(i), s, i%othersTerms)
			pod.Spec.Affinity = nil
			return pod
		}
	case NewTerms:
		made.add(10*nodes, func(i int, pod *v1.Pod) { ownedBy(pod, i%turns) })
		made.Incoming = func(i int) *v1.Pod {
			pod := incoming(i)
			pod.Labels = map[string]string{"group": fmt.Sprintf("group-%d", i)}
			pod.Spec.Affinity = away(v1.LabelHostname, pod.Labels)
			return pod
		}
	}
	return made
}

// add puts pods on the nodes, one after the other.
func (n *Neighbours) add(count int, shape func(i int, pod *v1.Pod)) {
	for i := range count {
		pod := Pod(fmt.Sprintf("existing-%06d", i), 10, 16<<20)
		shape(i, pod)
		pod.Spec.NodeName = n.Nodes[(i+i/len(n.Nodes))%len(n.Nodes)].Name
		pod.Status.Phase = v1.PodRunning
		n.Pods = append(n.Pods, pod)
	}
}

func incoming(i int) *v1.Pod { return Pod(fmt.Sprintf("pod-%06d", i), 10, 16<<20) }

// spreadWithNewSelector returns a pod with constraints that no other pod has.
func spreadWithNewSelector(i int) *v1.Pod {
	pod := incoming(i)
	selector := &metav1.LabelSelector{
		MatchLabels: map[string]string{"app": "bench", "half": "1"},
		MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "excluded", Operator: metav1.LabelSelectorOpNotIn, Values: []string{pod.Name}},
		},
	}
	pod.Labels = map[string]string{"app": "bench", "half": "1", "part": "new"}
	pod.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{
		{MaxSkew: 1000, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: selector},
		{MaxSkew: 100, TopologyKey: v1.LabelHostname, WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: selector},
		{MaxSkew: 1, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.ScheduleAnyway, LabelSelector: selector},
	}
	return pod
}

func setLabels(i int) map[string]string {
	return map[string]string{"app": fmt.Sprintf("app-%d", i), "pod-template-hash": fmt.Sprintf("%08x", uint32(i)*2654435761)}
}

func setName(i int) string { return fmt.Sprintf("set-%d", i) }

// ownedBy makes a pod one of the ReplicaSet of a number.
func ownedBy(pod *v1.Pod, set int) *v1.Pod {
	pod.Labels = setLabels(set)
	pod.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "apps/v1", Kind: "ReplicaSet", Name: setName(set), UID: types.UID(setName(set)), Controller: ptr.To(true),
	}}
	return pod
}

func replicaSet(i int) *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: setName(i), UID: types.UID(setName(i))},
		Spec:       appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: setLabels(i)}},
	}
}

// withTermOfItsOwn gives a pod labels and a required anti-affinity term that no other has.
func withTermOfItsOwn(pod *v1.Pod, s NeighbourShape, i int) *v1.Pod {
	pod.Labels = map[string]string{"app": "bench", "id": fmt.Sprintf("id-%d", i)}
	if s == TermsOfOthers {
		pod.Spec.Affinity = away(v1.LabelHostname, pod.Labels)
		return pod
	}
	pod.Namespace = fmt.Sprintf("namespace-%d", i)
	pod.Spec.Affinity = away(v1.LabelHostname, nil)
	pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].LabelSelector = &metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpExists}},
	}
	return pod
}

func away(topologyKey string, labels map[string]string) *v1.Affinity {
	return &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
			TopologyKey: topologyKey, LabelSelector: &metav1.LabelSelector{MatchLabels: labels},
		}},
	}}
}
