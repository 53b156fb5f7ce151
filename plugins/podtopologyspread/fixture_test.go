// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package podtopologyspread

import (
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

const (
	zone, host = v1.LabelTopologyZone, v1.LabelHostname
	hard, soft = v1.DoNotSchedule, v1.ScheduleAnyway
)

// list are arguments that give pods without constraints the given ones.
func list(constraints ...v1.TopologySpreadConstraint) *configv1.PodTopologySpreadArgs {
	return &configv1.PodTopologySpreadArgs{DefaultingType: configv1.ListDefaulting, DefaultConstraints: constraints}
}

// newPlugin builds a plugin over nodes, which knows the given other objects. Nil are the default arguments.
func newPlugin(tb testing.TB, args apiruntime.Object, nodes []*framework.NodeInfo, objects ...apiruntime.Object) *plugin {
	tb.Helper()
	handle := &fixture.Handle{Nodes: fixture.Nodes{Infos: nodes}, Informers: fixture.Informers(tb, objects...)}
	built, err := New(tb.Context(), args, handle)
	if err != nil {
		tb.Fatal(err)
	}
	return built.(*plugin)
}

// node returns a node with its name and a zone, which may be empty for none, as labels, and a pod on it for each app.
func node(name, inZone string, apps ...string) *framework.NodeInfo {
	labels := map[string]string{host: name}
	if inZone != "" {
		labels[zone] = inZone
	}
	return nodeWith(name, labels, apps...)
}

func nodeWith(name string, labels map[string]string, apps ...string) *framework.NodeInfo {
	info := fixture.NodeInfo(nodeLabelled(name, labels))
	for i, app := range apps {
		info.AddPod(labelled(fmt.Sprintf("%s-%d", name, i), "app", app))
	}
	return info
}

func nodeLabelled(name string, labels map[string]string) *v1.Node {
	return objects.Node(name).With(func(node *v1.Node) { node.Labels = labels }).Build()
}

func tainted(taint v1.Taint) func(*v1.Node) {
	return func(node *v1.Node) { node.Spec.Taints = append(node.Spec.Taints, taint) }
}

func cordoned(node *v1.Node) { node.Spec.Unschedulable = true }

// changed changes a node and the pods on it.
func changed(info *framework.NodeInfo, changes ...func(*v1.Node)) *framework.NodeInfo {
	node := info.Node().DeepCopy()
	for _, change := range changes {
		change(node)
	}
	info.SetNode(node)
	return info
}

// fourNodes are two zones of two nodes, with pods of some apps in "n1 | n2 | n3 | n4".
func fourNodes(apps string) []*framework.NodeInfo {
	var nodes []*framework.NodeInfo
	for i, apps := range strings.Split(apps, "|") {
		nodes = append(nodes, node(fmt.Sprintf("n%d", i+1), fmt.Sprintf("z%d", i/2+1), strings.Fields(apps)...))
	}
	return nodes
}

func onNode(name string) func(*v1.Pod) { return func(pod *v1.Pod) { pod.Spec.NodeName = name } }

func withLabels(labels map[string]string) func(*v1.Pod) {
	return func(pod *v1.Pod) { pod.Labels = labels }
}

func tolerates(toleration v1.Toleration) func(*v1.Pod) {
	return func(pod *v1.Pod) { pod.Spec.Tolerations = append(pod.Spec.Tolerations, toleration) }
}

func labelMap(pairs ...string) map[string]string {
	set := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		set[pairs[i]] = pairs[i+1]
	}
	return set
}

func labelled(name string, pairs ...string) *v1.Pod {
	return objects.Pod(name).With(withLabels(labelMap(pairs...))).Build()
}

// web returns a pod with the label app=web and constraints.
func web(constraints ...v1.TopologySpreadConstraint) *v1.Pod {
	pod := labelled("incoming", "app", "web")
	pod.Spec.TopologySpreadConstraints = constraints
	return pod
}

// constraintOn returns one on the pods with the label app=web.
func constraintOn(maxSkew int32, key string, action v1.UnsatisfiableConstraintAction, changes ...func(*v1.TopologySpreadConstraint)) v1.TopologySpreadConstraint {
	c := v1.TopologySpreadConstraint{
		MaxSkew: maxSkew, TopologyKey: key, WhenUnsatisfiable: action,
		LabelSelector: &metav1.LabelSelector{MatchLabels: labelMap("app", "web")},
	}
	for _, change := range changes {
		change(&c)
	}
	return c
}

// selecting replaces the selector of a constraint; pairs are labels.
func selecting(pairs ...string) func(*v1.TopologySpreadConstraint) {
	return func(c *v1.TopologySpreadConstraint) {
		c.LabelSelector = &metav1.LabelSelector{MatchLabels: labelMap(pairs...)}
	}
}

func selectingNothing(c *v1.TopologySpreadConstraint) { c.LabelSelector = nil }

func selectingInvalid(c *v1.TopologySpreadConstraint) {
	c.LabelSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Near"}}}
}

func matchingKeys(keys ...string) func(*v1.TopologySpreadConstraint) {
	return func(c *v1.TopologySpreadConstraint) { c.MatchLabelKeys = keys }
}

func minDomains(n int32) func(*v1.TopologySpreadConstraint) {
	return func(c *v1.TopologySpreadConstraint) { c.MinDomains = ptr.To(n) }
}

func affinityPolicy(policy v1.NodeInclusionPolicy) func(*v1.TopologySpreadConstraint) {
	return func(c *v1.TopologySpreadConstraint) { c.NodeAffinityPolicy = ptr.To(policy) }
}

func taintsPolicy(policy v1.NodeInclusionPolicy) func(*v1.TopologySpreadConstraint) {
	return func(c *v1.TopologySpreadConstraint) { c.NodeTaintsPolicy = ptr.To(policy) }
}

// with changes a pod.
func with(pod *v1.Pod, changes ...func(*v1.Pod)) *v1.Pod {
	pod = pod.DeepCopy()
	for _, change := range changes {
		change(pod)
	}
	return pod
}

func inNamespace(namespace string) func(*v1.Pod) {
	return func(pod *v1.Pod) { pod.Namespace = namespace }
}

func nodeSelector(pairs ...string) func(*v1.Pod) {
	return func(pod *v1.Pod) { pod.Spec.NodeSelector = labelMap(pairs...) }
}

func controlledBy(apiVersion, kind, name string) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: name, Controller: ptr.To(true)}}
	}
}

func asLister(nodes []*framework.NodeInfo) []fwk.NodeInfo {
	var infos []fwk.NodeInfo
	for _, info := range nodes {
		infos = append(infos, info)
	}
	return infos
}

// verdicts filters nodes and writes what came out: ok, skew (not now) or label (never, because the label is missing).
func verdicts(t *testing.T, pl *plugin, state fwk.CycleState, pod *v1.Pod, nodes []*framework.NodeInfo) string {
	t.Helper()
	var words []string
	for _, info := range nodes {
		status := pl.Filter(t.Context(), state, pod, info)
		word := "ok"
		switch {
		case status.Code() == fwk.Unschedulable:
			fixture.CheckStatus(t, status, fwk.NewStatus(fwk.Unschedulable, "node(s) didn't match pod topology spread constraints"))
			word = "skew"
		case !status.IsSuccess():
			fixture.CheckStatus(t, status, fwk.NewStatus(fwk.UnschedulableAndUnresolvable,
				"node(s) didn't match pod topology spread constraints (missing required label)"))
			word = "label"
		}
		words = append(words, info.Node().Name+"="+word)
	}
	return strings.Join(words, " ")
}
