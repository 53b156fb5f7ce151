// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// neighbourWakes are pods that other pods keep away, or that wait for company.
func neighbourWakes() []wake {
	const affinity, antiAffinity, existing, spread = "didn't match pod affinity rules", "didn't match pod anti-affinity rules",
		"didn't satisfy existing pods anti-affinity rules", "didn't match pod topology spread constraints"
	web := func(pod *v1.Pod) { pod.Labels = map[string]string{"app": "web"} }
	term := v1.PodAffinityTerm{
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, TopologyKey: v1.LabelHostname,
	}
	withWeb := func(pod *v1.Pod) {
		pod.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term}}}
	}
	withoutWeb := func(pod *v1.Pod) {
		pod.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term}}}
	}
	withTeam := func(pod *v1.Pod) {
		withWeb(pod)
		elsewhere := &pod.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0]
		elsewhere.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "web"}}
	}
	zoned := func(zone string) func(*v1.Node) {
		return func(node *v1.Node) { node.Labels[v1.LabelTopologyZone] = zone }
	}
	spreadWeb := func(pod *v1.Pod) {
		web(pod)
		pod.Spec.NodeSelector = map[string]string{v1.LabelTopologyZone: "a"}
		honor, ignore := v1.NodeInclusionPolicyHonor, v1.NodeInclusionPolicyIgnore
		pod.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.DoNotSchedule,
			LabelSelector: term.LabelSelector, NodeAffinityPolicy: &ignore, NodeTaintsPolicy: &honor,
		}}
	}
	oneSided := func(c *corner) {
		c.node("n1", zoned("a"))
		c.node("n2", zoned("b"))
		c.podOn("n1", "other", web)
	}
	deleteOther := func(c *corner) { c.deletePod("other") }
	relabelOther := func(app string) func(*corner) {
		return func(c *corner) {
			c.changePod("other", func(pod *v1.Pod) { pod.Labels = map[string]string{"app": app} })
		}
	}
	return []wake{
		{"InterPodAffinity pod appears", func(c *corner) { c.node("n1") }, withWeb, affinity,
			func(c *corner) { c.podOn("n1", "other", web) }},
		{"InterPodAffinity pod relabelled", func(c *corner) { c.node("n1"); c.podOn("n1", "other") }, withWeb, affinity,
			relabelOther("web")},
		{"InterPodAffinity node labelled", func(c *corner) {
			c.node("n1", func(node *v1.Node) { delete(node.Labels, v1.LabelHostname) })
			c.podOn("n1", "other", web)
		}, withWeb, affinity, func(c *corner) { c.changeNode("n1", func(node *v1.Node) { node.Labels[v1.LabelHostname] = "n1" }) }},
		{"InterPodAffinity pod in a namespace of the selector", func(c *corner) { c.node("n1") }, withTeam, affinity,
			func(c *corner) { c.podOfTeamWeb(web) }},
		{"InterPodAffinity anti-affine pod deleted", func(c *corner) { c.node("n1"); c.podOn("n1", "other", web) }, withoutWeb,
			antiAffinity, deleteOther},
		{"InterPodAffinity anti-affine pod relabelled", func(c *corner) { c.node("n1"); c.podOn("n1", "other", web) }, withoutWeb,
			antiAffinity, relabelOther("db")},
		{"InterPodAffinity pod that keeps others away deleted", func(c *corner) { c.node("n1"); c.podOn("n1", "other", withoutWeb) }, web,
			existing, deleteOther},
		{"InterPodAffinity own label changed", func(c *corner) { c.node("n1"); c.podOn("n1", "other", withoutWeb) }, web,
			existing, func(c *corner) { c.changePod("pod", func(pod *v1.Pod) { pod.Labels = nil }) }},
		{"PodTopologySpread pod deleted", oneSided, spreadWeb, spread, deleteOther},
		{"PodTopologySpread pod added elsewhere", oneSided, spreadWeb, spread, func(c *corner) { c.podOn("n2", "more", web) }},
		{"PodTopologySpread domain removed", oneSided, spreadWeb, spread, func(c *corner) {
			c.check("node", c.client.CoreV1().Nodes().Delete(c.ctx, "n2", metav1.DeleteOptions{}))
		}},
	}
}

// podOfTeamWeb creates a bound pod in another namespace, which the team web owns.
func (c *corner) podOfTeamWeb(change func(*v1.Pod)) {
	c.t.Helper()
	namespace := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.namespace + "-web", Labels: map[string]string{"team": "web"}}}
	must(c, "namespace")(c.client.CoreV1().Namespaces().Create(c.ctx, namespace, metav1.CreateOptions{}))
	pod := c.podOf("other", change)
	pod.Namespace, pod.Spec.NodeName = namespace.Name, "n1"
	must(c, "pod")(c.client.CoreV1().Pods(namespace.Name).Create(c.ctx, pod, metav1.CreateOptions{}))
}
