// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package interpodaffinity

import (
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

// weighing are arguments with the weight of required affinity of pods on nodes.
func weighing(hardWeight int32) *configv1.InterPodAffinityArgs {
	return &configv1.InterPodAffinityArgs{HardPodAffinityWeight: ptr.To(hardWeight)}
}

// newPlugin builds a plugin over nodes, which knows the given namespaces. Nil are the default arguments.
func newPlugin(tb testing.TB, args apiruntime.Object, nodes []*framework.NodeInfo, namespaces ...apiruntime.Object) *plugin {
	tb.Helper()
	handle := &fixture.Handle{Nodes: fixture.Nodes{Infos: nodes}, Informers: fixture.Informers(tb, namespaces...)}
	built, err := New(tb.Context(), args, handle)
	if err != nil {
		tb.Fatal(err)
	}
	return built.(*plugin)
}

// namespaces are "a1" and "a2" of team a, and "b1" of team b. Namespace "default", where pods are that don't say otherwise,
// is not known, so that it has no labels.
func namespaces() []apiruntime.Object {
	namespace := func(name, team string) *v1.Namespace {
		return &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": team}}}
	}
	return []apiruntime.Object{namespace("a1", "a"), namespace("a2", "a"), namespace("b1", "b")}
}

func labelMap(pairs ...string) map[string]string {
	set := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		set[pairs[i]] = pairs[i+1]
	}
	return set
}

// node returns a node with labels, given as one text such as "zone=z1 host=n1", and pods on it.
func node(name, labels string, pods ...*v1.Pod) *framework.NodeInfo {
	var set map[string]string
	for _, label := range strings.Fields(labels) {
		if set == nil {
			set = map[string]string{}
		}
		key, value, _ := strings.Cut(label, "=")
		set[key] = value
	}
	return fixture.NodeInfo(objects.Node(name).With(func(node *v1.Node) { node.Labels = set }).Build(), pods...)
}

func inNamespace(namespace string) func(*v1.Pod) {
	return func(pod *v1.Pod) { pod.Namespace = namespace }
}

// term is about pods with the label app of the given value.
func term(key, app string, changes ...func(*v1.PodAffinityTerm)) v1.PodAffinityTerm {
	t := v1.PodAffinityTerm{TopologyKey: key, LabelSelector: &metav1.LabelSelector{MatchLabels: labelMap("app", app)}}
	for _, change := range changes {
		change(&t)
	}
	return t
}

// matching replaces the selector of a term by one with an expression.
func matching(key string, operator metav1.LabelSelectorOperator, values ...string) func(*v1.PodAffinityTerm) {
	return func(t *v1.PodAffinityTerm) {
		t.LabelSelector = &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: operator, Values: values}},
		}
	}
}

func matchingAll(t *v1.PodAffinityTerm) { t.LabelSelector = &metav1.LabelSelector{} }

func matchingNone(t *v1.PodAffinityTerm) { t.LabelSelector = nil }

func badSelector(t *v1.PodAffinityTerm) { matching("app", "Near", "x")(t) }

// of names namespaces, ofTeam and ofNoTeam select them by label, and ofAll all of them.
func of(namespaces ...string) func(*v1.PodAffinityTerm) {
	return func(t *v1.PodAffinityTerm) { t.Namespaces = namespaces }
}

func ofTeam(team string) func(*v1.PodAffinityTerm) {
	return func(t *v1.PodAffinityTerm) {
		t.NamespaceSelector = &metav1.LabelSelector{MatchLabels: labelMap("team", team)}
	}
}

func ofNoTeam(t *v1.PodAffinityTerm) {
	t.NamespaceSelector = &metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "team", Operator: metav1.LabelSelectorOpDoesNotExist}},
	}
}

func ofAll(t *v1.PodAffinityTerm) { t.NamespaceSelector = &metav1.LabelSelector{} }

// to gives a pod required affinity, from required anti-affinity.
func to(terms ...v1.PodAffinityTerm) func(*v1.Pod) {
	return func(pod *v1.Pod) { affinityOf(pod).RequiredDuringSchedulingIgnoredDuringExecution = terms }
}

func from(terms ...v1.PodAffinityTerm) func(*v1.Pod) {
	return func(pod *v1.Pod) { existingAntiAffinity(pod).RequiredDuringSchedulingIgnoredDuringExecution = terms }
}

// rather gives a pod preferred affinity, rarely preferred anti-affinity.
func rather(terms ...v1.WeightedPodAffinityTerm) func(*v1.Pod) {
	return func(pod *v1.Pod) { affinityOf(pod).PreferredDuringSchedulingIgnoredDuringExecution = terms }
}

func rarely(terms ...v1.WeightedPodAffinityTerm) func(*v1.Pod) {
	return func(pod *v1.Pod) { existingAntiAffinity(pod).PreferredDuringSchedulingIgnoredDuringExecution = terms }
}

func weighted(weight int32, term v1.PodAffinityTerm) v1.WeightedPodAffinityTerm {
	return v1.WeightedPodAffinityTerm{Weight: weight, PodAffinityTerm: term}
}

func affinityOf(pod *v1.Pod) *v1.PodAffinity {
	if pod.Spec.Affinity == nil {
		pod.Spec.Affinity = &v1.Affinity{}
	}
	if pod.Spec.Affinity.PodAffinity == nil {
		pod.Spec.Affinity.PodAffinity = &v1.PodAffinity{}
	}
	return pod.Spec.Affinity.PodAffinity
}

func existingAntiAffinity(pod *v1.Pod) *v1.PodAntiAffinity {
	if pod.Spec.Affinity == nil {
		pod.Spec.Affinity = &v1.Affinity{}
	}
	if pod.Spec.Affinity.PodAntiAffinity == nil {
		pod.Spec.Affinity.PodAntiAffinity = &v1.PodAntiAffinity{}
	}
	return pod.Spec.Affinity.PodAntiAffinity
}

func asLister(nodes []*framework.NodeInfo) []fwk.NodeInfo {
	var infos []fwk.NodeInfo
	for _, info := range nodes {
		infos = append(infos, info)
	}
	return infos
}

func podInfo(tb testing.TB, pod *v1.Pod) fwk.PodInfo {
	tb.Helper()
	info, err := framework.NewPodInfo(pod)
	if err != nil {
		tb.Fatal(err)
	}
	return info
}

// verdicts filters nodes and writes what came out: ok, affinity (never), anti (not now, because of the pod's own
// anti-affinity) or existing (not now, because of that of other pods).
func verdicts(t *testing.T, pl *plugin, state fwk.CycleState, pod *v1.Pod, nodes []*framework.NodeInfo) string {
	t.Helper()
	var words []string
	for _, info := range nodes {
		status := pl.Filter(t.Context(), state, pod, info)
		word := status.Message()
		switch {
		case status.IsSuccess():
			word = "ok"
		case word == "node(s) didn't match pod affinity rules" && status.Code() == fwk.UnschedulableAndUnresolvable:
			word = "affinity"
		case word == "node(s) didn't match pod anti-affinity rules" && status.Code() == fwk.Unschedulable:
			word = "anti"
		case word == "node(s) didn't satisfy existing pods anti-affinity rules" && status.Code() == fwk.Unschedulable:
			word = "existing"
		default:
			t.Errorf("node %s: unexpected status %v %q", info.Node().Name, status.Code(), word)
		}
		words = append(words, info.Node().Name+"="+word)
	}
	return strings.Join(words, " ")
}
