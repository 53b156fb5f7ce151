// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package interpodaffinity

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

const (
	podActions  = fwk.Add | fwk.Delete | fwk.UpdatePodLabel
	nodeActions = fwk.Add | fwk.UpdateNodeLabel
)

// untyped makes a nil pointer the absent object that it stands for.
func untyped[T any](object *T) any {
	if object == nil {
		return nil
	}
	return object
}

func TestHintAfterPodChange(t *testing.T) {
	placed := func(app string, changes ...func(*v1.Pod)) *v1.Pod {
		return objects.PodFrom(objects.Pod("e").Label("app", app).With(changes...).Build()).Node("n1").Build()
	}
	nominated := objects.Pod("e").Label("app", "db").With(func(pod *v1.Pod) { pod.Status.NominatedNodeName = "n1" }).Build()
	waiting := objects.Pod("e").Label("app", "db").Build()
	likes, dislikes := objects.Pod("p").Label("app", "web").With(to(term("zone", "db"))).Build(), objects.Pod("p").Label("app", "web").With(from(term("zone", "db"))).Build()
	likesTwo := objects.Pod("p").Label("app", "web").With(to(term("zone", "db"), term("zone", "", matching("tier", "Exists")))).Build()
	tiered := func(pod *v1.Pod) { pod.Labels = labelMap("app", "db", "tier", "back") }
	plain := objects.Pod("p").Label("app", "web").Build()
	ring := objects.Pod("p").Label("app", "ring").With(to(term("zone", "ring"))).Build()
	tests := []struct {
		name     string
		pod      *v1.Pod
		old, new *v1.Pod
		want     fwk.QueueingHint
	}{
		{"add: matches affinity", likes, nil, placed("db"), fwk.Queue},
		{"add: matches affinity, nominated", likes, nil, nominated, fwk.Queue},
		{"add: matches affinity, without a node", likes, nil, waiting, fwk.QueueSkip},
		{"add: matches not", likes, nil, placed("x"), fwk.QueueSkip},
		{"add: another namespace", likes, nil, placed("db", inNamespace("a1")), fwk.QueueSkip},
		{"add: matches one of two terms", likesTwo, nil, placed("db"), fwk.QueueSkip},
		{"add: matches both terms", likesTwo, nil, placed("db", tiered), fwk.Queue},
		{"add: matches anti-affinity", dislikes, nil, placed("db"), fwk.QueueSkip},
		{"add: no terms", plain, nil, placed("db"), fwk.QueueSkip},
		{"add: all namespaces", objects.Pod("p").Label("app", "web").With(to(term("zone", "db", ofAll))).Build(), nil, placed("db", inNamespace("a1")), fwk.Queue},
		{"add: namespaces by label", objects.Pod("p").Label("app", "web").With(to(term("zone", "db", ofTeam("a")))).Build(), nil, placed("db", inNamespace("a1")), fwk.Queue},
		{"add: another namespace than those by label", objects.Pod("p").Label("app", "web").With(to(term("zone", "db", ofTeam("a")))).Build(), nil, placed("db", inNamespace("b1")), fwk.QueueSkip},
		{"update: matches affinity now", likes, placed("x"), placed("db"), fwk.Queue},
		{"update: no longer matches affinity", likes, placed("db"), placed("x"), fwk.QueueSkip},
		{"update: matched affinity before already", likes, placed("db"), placed("db", tiered), fwk.QueueSkip},
		{"update: matches the second term now", likesTwo, placed("db"), placed("db", tiered), fwk.Queue},
		{"update: no longer matches anti-affinity", dislikes, placed("db"), placed("x"), fwk.Queue},
		{"update: matches anti-affinity now", dislikes, placed("x"), placed("db"), fwk.QueueSkip},
		{"update: still matches anti-affinity", dislikes, placed("db"), placed("db", tiered), fwk.QueueSkip},
		{"update: still matches another anti-affinity", objects.Pod("p").Label("app", "web").With(from(term("zone", "db"), term("zone", "x"))).Build(), placed("db"), placed("x"), fwk.QueueSkip},
		{"update: matches anti-affinity of a smaller domain", objects.Pod("p").Label("app", "web").With(from(term("zone", "db"), term("host", "x"))).Build(), placed("db"), placed("x"), fwk.Queue},
		{"update: no terms", plain, placed("db"), placed("x"), fwk.QueueSkip},
		{"update: anti-affinity of the other pod", plain, placed("db", from(term("zone", "web"))), placed("x", from(term("zone", "web"))), fwk.QueueSkip},
		{"delete: matches anti-affinity", dislikes, placed("db"), nil, fwk.Queue},
		{"delete: matches anti-affinity, nominated", dislikes, nominated, nil, fwk.Queue},
		{"delete: matches anti-affinity, without a node", dislikes, waiting, nil, fwk.QueueSkip},
		{"delete: matches not", dislikes, placed("x"), nil, fwk.QueueSkip},
		{"delete: matches affinity", likes, placed("db"), nil, fwk.QueueSkip},
		{"delete: had anti-affinity to the pod", plain, placed("db", from(term("zone", "web"))), nil, fwk.Queue},
		{"delete: had anti-affinity to other pods", plain, placed("db", from(term("zone", "x"))), nil, fwk.QueueSkip},
		{"delete: had anti-affinity in its own namespace", plain, placed("db", inNamespace("a1"), from(term("zone", "web"))), nil, fwk.QueueSkip},
		{"delete: had anti-affinity to namespaces by label", objects.Pod("p").Label("app", "web").With(inNamespace("a1")).Build(), placed("db", from(term("zone", "web", ofTeam("a")))), nil, fwk.Queue},
		{"delete: had anti-affinity to other namespaces by label", objects.Pod("p").Label("app", "web").With(inNamespace("b1")).Build(), placed("db", from(term("zone", "web", ofTeam("a")))), nil, fwk.QueueSkip},
		{"delete: anti-affinity to namespaces by label", objects.Pod("p").Label("app", "web").With(from(term("zone", "db", ofTeam("a")))).Build(), placed("db", inNamespace("a1")), nil, fwk.Queue},
		{"delete: the pod may be the first of its kind", ring, placed("ring"), nil, fwk.Queue},
		{"delete: of another kind", ring, placed("db"), nil, fwk.QueueSkip},
		{"update: the pod may be the first of its kind", ring, placed("ring"), placed("db"), fwk.Queue},
		{"update: stays of its kind", ring, placed("ring"), placed("ring", func(pod *v1.Pod) { pod.Labels["tier"] = "back" }), fwk.QueueSkip},
		{"delete: had preferred anti-affinity", plain, placed("db", rarely(weighted(1, term("zone", "web")))), nil, fwk.QueueSkip},
	}
	hint := fixture.Hint(t, newPlugin(t, nil, nil, namespaces()...), fwk.AssignedPod, podActions)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fixture.CheckHint(t, hint, tt.pod, untyped(tt.old), untyped(tt.new), tt.want)
		})
	}
	t.Run("wrong and absent objects", func(t *testing.T) {
		fixture.CheckHintObjects(t, hint, dislikes, placed("db"))
	})
}

func TestHintAfterNamespaceChange(t *testing.T) {
	namespace := func(pairs ...string) *v1.Namespace {
		return &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: labelMap(pairs...)}}
	}
	hint := fixture.Hint(t, newPlugin(t, nil, nil), framework.Namespace, fwk.Add|fwk.Update)
	fixture.CheckHint(t, hint, objects.Pod("p").Label("app", "web").Build(), namespace("team", "a"), namespace("team", "b"), fwk.Queue)
	fixture.CheckHint(t, hint, objects.Pod("p").Label("app", "web").Build(), namespace("team", "a"), namespace(), fwk.Queue)
	fixture.CheckHint(t, hint, objects.Pod("p").Label("app", "web").Build(), namespace("team", "a"), namespace("team", "a"), fwk.QueueSkip)
	fixture.CheckHint(t, hint, objects.Pod("p").Label("app", "web").Build(), nil, namespace("team", "a"), fwk.Queue)
	fixture.CheckHint(t, hint, objects.Pod("p").Label("app", "web").Build(), nil, namespace(), fwk.QueueSkip)
}

func TestHintAfterSelfChange(t *testing.T) {
	hint := fixture.Hint(t, newPlugin(t, nil, nil), fwk.TargetPod, fwk.UpdatePodLabel)
	fixture.CheckHint(t, hint, objects.Pod("p").Label("app", "web").Build(), objects.Pod("p").Label("app", "db").Build(), objects.Pod("p").Label("app", "web").Build(), fwk.Queue)
	fixture.CheckHint(t, hint, objects.Pod("p").Label("app", "web").Build(), nil, nil, fwk.Queue)
}

func TestHintAfterNodeChange(t *testing.T) {
	aNode := func(pairs ...string) *v1.Node {
		return objects.Node("n1").With(func(node *v1.Node) { node.Labels = labelMap(pairs...) }).Build()
	}
	z1, z2, none := aNode("zone", "z1"), aNode("zone", "z2"), aNode()
	likes, dislikes, plain := objects.Pod("p").Label("app", "web").With(to(term("zone", "db"))).Build(), objects.Pod("p").Label("app", "web").With(from(term("zone", "db"))).Build(), objects.Pod("p").Label("app", "web").Build()
	likesTwo := objects.Pod("p").Label("app", "web").With(to(term("host", "db"), term("zone", "db"))).Build()
	ring := objects.Pod("p").Label("app", "ring").With(to(term("zone", "ring"))).Build()
	n2InZone := objects.Node("n2").With(func(node *v1.Node) { node.Labels = labelMap("zone", "z1") }).Build()
	tests := []struct {
		name     string
		pod      *v1.Pod
		old, new *v1.Node
		want     fwk.QueueingHint
	}{
		{"add: affinity, has the key", likes, nil, z1, fwk.Queue},
		{"add: affinity, lacks the key", likes, nil, none, fwk.QueueSkip},
		{"add: affinity, has one of two keys", likesTwo, nil, z1, fwk.Queue},
		{"add: anti-affinity, has the key", dislikes, nil, z1, fwk.Queue},
		{"add: anti-affinity, lacks the key", dislikes, nil, none, fwk.Queue},
		{"add: no terms, because of anti-affinity of others", plain, nil, z1, fwk.Queue},
		{"update: affinity, key appears", likes, none, z1, fwk.Queue},
		{"update: affinity, value changes", likes, z1, z2, fwk.Queue},
		{"update: affinity, key disappears", likes, z1, none, fwk.QueueSkip},
		{"update: affinity, another label changes", likes, z1, aNode("zone", "z1", "disk", "ssd"), fwk.QueueSkip},
		{"update: affinity, the second key appears", likesTwo, none, z1, fwk.Queue},
		{"update: anti-affinity, key appears", dislikes, none, z1, fwk.QueueSkip},
		{"update: anti-affinity, value changes", dislikes, z1, z2, fwk.Queue},
		{"update: anti-affinity, key disappears", dislikes, z1, none, fwk.Queue},
		{"update: anti-affinity, another label changes", dislikes, z1, aNode("zone", "z1", "disk", "ssd"), fwk.QueueSkip},
		{"update: an empty value appears", likes, none, aNode("zone", ""), fwk.Queue},
		{"update: no terms", plain, z1, z2, fwk.QueueSkip},
		{"update: key disappears, the pod may be the first of its kind", ring, z1, none, fwk.Queue},
		{"update: anti-affinity of a pod on the node, value changes", objects.Pod("p").Label("app", "repelled").Build(), z1, z2, fwk.Queue},
		{"update: anti-affinity of a pod on the node, key disappears", objects.Pod("p").Label("app", "repelled").Build(), z1, none, fwk.Queue},
		{"update: anti-affinity of a pod on the node, key appears", objects.Pod("p").Label("app", "repelled").Build(), none, z1, fwk.QueueSkip},
		{"update: anti-affinity of a pod on the node, another label changes", objects.Pod("p").Label("app", "repelled").Build(), z1, aNode("zone", "z1", "disk", "ssd"), fwk.QueueSkip},
		{"update: anti-affinity of a pod on the node to another namespace", objects.Pod("p").Label("app", "repelled").With(inNamespace("b1")).Build(), z1, z2, fwk.QueueSkip},
		{"update: anti-affinity of a pod on the node to namespaces by label", objects.Pod("p").Label("app", "web").With(inNamespace("a1")).Build(), z1, z2, fwk.Queue},
		{"update: anti-affinity of a pod on another node, the node leaves the domain", objects.Pod("p").Label("app", "repelled").Build(), n2InZone, objects.Node("n2").Build(), fwk.Queue},
		{"update: anti-affinity of a pod on another node, another label disappears", objects.Pod("p").Label("app", "repelled").Build(),
			objects.Node("n2").With(func(node *v1.Node) { node.Labels = labelMap("disk", "ssd") }).Build(), objects.Node("n2").Build(), fwk.QueueSkip},
		{"update: anti-affinity of a pod without a node", objects.Pod("p").Label("app", "waiting").Build(), z1, z2, fwk.QueueSkip},
		{"delete: anti-affinity of a pod on another node", objects.Pod("p").Label("app", "repelled").Build(), n2InZone, nil, fwk.QueueSkip},
		{"delete: affinity", likes, z1, nil, fwk.QueueSkip},
		{"delete: anti-affinity, has the key", dislikes, z1, nil, fwk.Queue},
		{"delete: anti-affinity, lacks the key", dislikes, none, nil, fwk.QueueSkip},
		{"delete: the pod may be the first of its kind", ring, z1, nil, fwk.Queue},
		{"delete: anti-affinity of a pod on the node", objects.Pod("p").Label("app", "repelled").Build(), z1, nil, fwk.Queue},
		{"delete: no terms", plain, z1, nil, fwk.QueueSkip},
	}
	repeller := objects.Pod("r").Label("app", "r").Node("n1").With(from(term("zone", "repelled"), term("zone", "web", ofTeam("a")))).Build()
	waits := objects.Pod("s").Label("app", "s").With(from(term("zone", "waiting"))).Build()
	pl := newPlugin(t, nil, nil, append(namespaces(), repeller, waits)...)
	hint, deleted := fixture.Hint(t, pl, fwk.Node, nodeActions), fixture.Hint(t, pl, fwk.Node, fwk.Delete)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			hint := hint
			if tt.new == nil {
				hint = deleted
			}
			fixture.CheckHint(t, hint, tt.pod, untyped(tt.old), untyped(tt.new), tt.want)
		})
	}
	t.Run("wrong and absent objects", func(t *testing.T) {
		fixture.CheckHintObjects(t, hint, likes, nil)
		fixture.CheckHintObjects(t, deleted, dislikes, z1)
	})
}

func TestHintsOfTermsThatDoNotParse(t *testing.T) {
	pl := newPlugin(t, nil, nil)
	ofPod, ofNode := fixture.Hint(t, pl, fwk.AssignedPod, podActions), fixture.Hint(t, pl, fwk.Node, nodeActions)
	placed := objects.Pod("e").Label("app", "db").Node("n1").Build()
	check := func(name string, got fwk.QueueingHint, err error) {
		if err == nil || got != fwk.Queue {
			t.Errorf("%s: got %v and error %v, want Queue and an error", name, got, err)
		}
	}
	for name, waiting := range map[string]*v1.Pod{
		"affinity":      objects.Pod("p").Label("app", "web").With(to(term("zone", "db", badSelector))).Build(),
		"anti-affinity": objects.Pod("p").Label("app", "web").With(from(term("zone", "db", badSelector))).Build(),
	} {
		got, err := ofPod(klog.Logger{}, waiting, nil, placed)
		check(name+", assigned pod", got, err)
		got, err = ofNode(klog.Logger{}, waiting, nil, objects.Node("n1").Build())
		check(name+", node", got, err)
	}
	got, err := ofPod(klog.Logger{}, objects.Pod("p").Label("app", "web").Build(), objects.PodFrom(placed).With(from(term("zone", "db", badSelector))).Build(), nil)
	check("anti-affinity of the deleted pod", got, err)
}
