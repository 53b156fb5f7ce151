// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

// This file makes what ties pods to other pods: affinity, spread constraints, and the objects that they depend on.

func (g *generator) topologyKey() string {
	return pick(g, v1.LabelHostname, v1.LabelTopologyZone, v1.LabelTopologyZone, "disk", "no-such-label")
}

func (g *generator) labelSelector() *metav1.LabelSelector {
	if g.oneIn(8) {
		return nil
	}
	selector := &metav1.LabelSelector{}
	if g.oneIn(6) {
		return selector
	}
	if g.oneIn(2) {
		key := pick(g, "app", "disk")
		selector.MatchLabels = map[string]string{key: g.labelValue(key)}
	}
	if g.oneIn(3) {
		requirement := metav1.LabelSelectorRequirement{
			Key: pick(g, "app", "number"),
			Operator: pick(g, metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists,
				metav1.LabelSelectorOpDoesNotExist),
		}
		if requirement.Operator == metav1.LabelSelectorOpIn || requirement.Operator == metav1.LabelSelectorOpNotIn {
			requirement.Values = []string{g.labelValue(requirement.Key)}
		}
		selector.MatchExpressions = append(selector.MatchExpressions, requirement)
	}
	return selector
}

func (g *generator) podTerm() v1.PodAffinityTerm {
	term := v1.PodAffinityTerm{LabelSelector: g.labelSelector(), TopologyKey: g.topologyKey()}
	if g.oneIn(4) {
		term.Namespaces = []string{pick(g, "default", "shop")}
	}
	if g.oneIn(4) {
		term.NamespaceSelector = pick(g, &metav1.LabelSelector{}, &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}})
	}
	return term
}

func (g *generator) weightedPodTerm() v1.WeightedPodAffinityTerm {
	return v1.WeightedPodAffinityTerm{Weight: pick[int32](g, 1, 7, 100), PodAffinityTerm: g.podTerm()}
}

// addPodAffinity gives some pods affinity or anti-affinity to others.
func (g *generator) addPodAffinity(pod *v1.Pod) {
	if !g.oneIn(3) {
		return
	}
	if pod.Spec.Affinity == nil {
		pod.Spec.Affinity = &v1.Affinity{}
	}
	if g.oneIn(2) {
		pod.Spec.Affinity.PodAffinity = &v1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution:  some(g, 2, g.podTerm),
			PreferredDuringSchedulingIgnoredDuringExecution: some(g, 2, g.weightedPodTerm),
		}
	}
	if g.oneIn(2) {
		pod.Spec.Affinity.PodAntiAffinity = &v1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution:  some(g, 1, g.podTerm),
			PreferredDuringSchedulingIgnoredDuringExecution: some(g, 2, g.weightedPodTerm),
		}
	}
}

// addSpread gives some pods topology spread constraints, or an owner from which the default ones are derived.
func (g *generator) addSpread(pod *v1.Pod) {
	if g.oneIn(3) {
		pod.Spec.TopologySpreadConstraints = some(g, 3, g.spreadConstraint)
	}
	if g.oneIn(3) {
		pod.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "apps/v1", Kind: pick(g, "ReplicaSet", "StatefulSet", "DaemonSet"), Name: pick(g, "one", "two", "none"), Controller: ptr.To(true),
		}}
	}
}

func (g *generator) spreadConstraint() v1.TopologySpreadConstraint {
	constraint := v1.TopologySpreadConstraint{
		MaxSkew:           pick[int32](g, 1, 2, 3),
		TopologyKey:       g.topologyKey(),
		WhenUnsatisfiable: pick(g, v1.DoNotSchedule, v1.ScheduleAnyway),
		LabelSelector:     g.labelSelector(),
	}
	if constraint.WhenUnsatisfiable == v1.DoNotSchedule && g.oneIn(3) {
		constraint.MinDomains = ptr.To(pick[int32](g, 1, 2, 5))
	}
	if g.oneIn(3) {
		constraint.NodeAffinityPolicy = ptr.To(pick(g, v1.NodeInclusionPolicyHonor, v1.NodeInclusionPolicyIgnore))
	}
	if g.oneIn(3) {
		constraint.NodeTaintsPolicy = ptr.To(pick(g, v1.NodeInclusionPolicyHonor, v1.NodeInclusionPolicyIgnore))
	}
	if g.oneIn(4) {
		constraint.MatchLabelKeys = []string{pick(g, "app", "disk", "missing")}
	}
	return constraint
}

// owners are namespaces, services and controllers in both namespaces.
func (g *generator) owners() []apiruntime.Object {
	var objects []apiruntime.Object
	for _, namespace := range []string{"default", "shop"} {
		objects = append(objects, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: namespace, Labels: pick(g, nil, map[string]string{"team": "a"}, map[string]string{"team": "b"}),
		}})
		for _, name := range []string{"one", "two"} {
			meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
			if g.oneIn(3) {
				objects = append(objects, &v1.Service{ObjectMeta: meta, Spec: v1.ServiceSpec{
					Selector: pick(g, nil, map[string]string{}, map[string]string{"app": "a"}, map[string]string{"disk": "ssd"}),
				}})
			}
			if g.oneIn(2) {
				objects = append(objects, &appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Selector: g.labelSelector()}})
			}
			if g.oneIn(2) {
				objects = append(objects, &appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Selector: g.labelSelector()}})
			}
		}
	}
	return objects
}

// namespaceLabels returns the namespaces of a cluster with their labels.
func (c cluster) namespaceLabels() map[string]labels.Set {
	found := map[string]labels.Set{}
	for _, object := range c.objects {
		if namespace, ok := object.(*v1.Namespace); ok {
			found[namespace.Name] = namespace.Labels
		}
	}
	return found
}
