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
		return with(pod("e", app, changes...), fixture.OnNode("n1"))
	}
	nominated := pod("e", "db", func(pod *v1.Pod) { pod.Status.NominatedNodeName = "n1" })
	waiting := pod("e", "db")
	likes, dislikes := pod("p", "web", to(term("zone", "db"))), pod("p", "web", from(term("zone", "db")))
	likesTwo := pod("p", "web", to(term("zone", "db"), term("zone", "", matching("tier", "Exists"))))
	tiered := fixture.Labelled(labelMap("app", "db", "tier", "back"))
	plain := pod("p", "web")
	ring := pod("p", "ring", to(term("zone", "ring")))
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
		{"add: all namespaces", pod("p", "web", to(term("zone", "db", ofAll))), nil, placed("db", inNamespace("a1")), fwk.Queue},
		{"add: namespaces by label", pod("p", "web", to(term("zone", "db", ofTeam("a")))), nil, placed("db", inNamespace("a1")), fwk.Queue},
		{"add: another namespace than those by label", pod("p", "web", to(term("zone", "db", ofTeam("a")))), nil, placed("db", inNamespace("b1")), fwk.QueueSkip},
		{"update: matches affinity now", likes, placed("x"), placed("db"), fwk.Queue},
		{"update: no longer matches affinity", likes, placed("db"), placed("x"), fwk.QueueSkip},
		{"update: matched affinity before already", likes, placed("db"), placed("db", tiered), fwk.QueueSkip},
		{"update: matches the second term now", likesTwo, placed("db"), placed("db", tiered), fwk.Queue},
		{"update: no longer matches anti-affinity", dislikes, placed("db"), placed("x"), fwk.Queue},
		{"update: matches anti-affinity now", dislikes, placed("x"), placed("db"), fwk.QueueSkip},
		{"update: still matches anti-affinity", dislikes, placed("db"), placed("db", tiered), fwk.QueueSkip},
		{"update: still matches another anti-affinity", pod("p", "web", from(term("zone", "db"), term("zone", "x"))), placed("db"), placed("x"), fwk.QueueSkip},
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
		{"delete: had anti-affinity to namespaces by label", pod("p", "web", inNamespace("a1")), placed("db", from(term("zone", "web", ofTeam("a")))), nil, fwk.Queue},
		{"delete: had anti-affinity to other namespaces by label", pod("p", "web", inNamespace("b1")), placed("db", from(term("zone", "web", ofTeam("a")))), nil, fwk.QueueSkip},
		{"delete: anti-affinity to namespaces by label", pod("p", "web", from(term("zone", "db", ofTeam("a")))), placed("db", inNamespace("a1")), nil, fwk.Queue},
		{"delete: the pod may be the first of its kind", ring, placed("ring"), nil, fwk.Queue},
		{"delete: of another kind", ring, placed("db"), nil, fwk.QueueSkip},
		{"update: the pod may be the first of its kind", ring, placed("ring"), placed("db"), fwk.Queue},
		{"update: stays of its kind", ring, placed("ring"), placed("ring", fixture.Labelled(labelMap("app", "ring", "tier", "back"))), fwk.QueueSkip},
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
	fixture.CheckHint(t, hint, pod("p", "web"), namespace("team", "a"), namespace("team", "b"), fwk.Queue)
	fixture.CheckHint(t, hint, pod("p", "web"), namespace("team", "a"), namespace(), fwk.Queue)
	fixture.CheckHint(t, hint, pod("p", "web"), namespace("team", "a"), namespace("team", "a"), fwk.QueueSkip)
	fixture.CheckHint(t, hint, pod("p", "web"), nil, namespace("team", "a"), fwk.Queue)
	fixture.CheckHint(t, hint, pod("p", "web"), nil, namespace(), fwk.QueueSkip)
}

func TestHintAfterSelfChange(t *testing.T) {
	hint := fixture.Hint(t, newPlugin(t, nil, nil), fwk.TargetPod, fwk.UpdatePodLabel)
	fixture.CheckHint(t, hint, pod("p", "web"), pod("p", "db"), pod("p", "web"), fwk.Queue)
	fixture.CheckHint(t, hint, pod("p", "web"), nil, nil, fwk.Queue)
}

func TestHintAfterNodeChange(t *testing.T) {
	aNode := func(pairs ...string) *v1.Node { return fixture.Node("n1", fixture.NodeLabels(labelMap(pairs...))) }
	z1, z2, none := aNode("zone", "z1"), aNode("zone", "z2"), aNode()
	likes, dislikes, plain := pod("p", "web", to(term("zone", "db"))), pod("p", "web", from(term("zone", "db"))), pod("p", "web")
	likesTwo := pod("p", "web", to(term("host", "db"), term("zone", "db")))
	ring := pod("p", "ring", to(term("zone", "ring")))
	n2InZone := fixture.Node("n2", fixture.NodeLabels(labelMap("zone", "z1")))
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
		{"update: anti-affinity of a pod on the node, value changes", pod("p", "repelled"), z1, z2, fwk.Queue},
		{"update: anti-affinity of a pod on the node, key disappears", pod("p", "repelled"), z1, none, fwk.Queue},
		{"update: anti-affinity of a pod on the node, key appears", pod("p", "repelled"), none, z1, fwk.QueueSkip},
		{"update: anti-affinity of a pod on the node, another label changes", pod("p", "repelled"), z1, aNode("zone", "z1", "disk", "ssd"), fwk.QueueSkip},
		{"update: anti-affinity of a pod on the node to another namespace", pod("p", "repelled", inNamespace("b1")), z1, z2, fwk.QueueSkip},
		{"update: anti-affinity of a pod on the node to namespaces by label", pod("p", "web", inNamespace("a1")), z1, z2, fwk.Queue},
		{"update: anti-affinity of a pod on another node, the node leaves the domain", pod("p", "repelled"), n2InZone, fixture.Node("n2"), fwk.Queue},
		{"update: anti-affinity of a pod on another node, another label disappears", pod("p", "repelled"),
			fixture.Node("n2", fixture.NodeLabels(labelMap("disk", "ssd"))), fixture.Node("n2"), fwk.QueueSkip},
		{"update: anti-affinity of a pod without a node", pod("p", "waiting"), z1, z2, fwk.QueueSkip},
		{"delete: anti-affinity of a pod on another node", pod("p", "repelled"), n2InZone, nil, fwk.QueueSkip},
		{"delete: affinity", likes, z1, nil, fwk.QueueSkip},
		{"delete: anti-affinity, has the key", dislikes, z1, nil, fwk.Queue},
		{"delete: anti-affinity, lacks the key", dislikes, none, nil, fwk.QueueSkip},
		{"delete: the pod may be the first of its kind", ring, z1, nil, fwk.Queue},
		{"delete: anti-affinity of a pod on the node", pod("p", "repelled"), z1, nil, fwk.Queue},
		{"delete: no terms", plain, z1, nil, fwk.QueueSkip},
	}
	repelling := pod("r", "r", fixture.OnNode("n1"), from(term("zone", "repelled"), term("zone", "web", ofTeam("a"))))
	waits := pod("s", "s", from(term("zone", "waiting")))
	pl := newPlugin(t, nil, nil, append(namespaces(), repelling, waits)...)
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
	placed := pod("e", "db", fixture.OnNode("n1"))
	check := func(name string, got fwk.QueueingHint, err error) {
		if err == nil || got != fwk.Queue {
			t.Errorf("%s: got %v and error %v, want Queue and an error", name, got, err)
		}
	}
	for name, waiting := range map[string]*v1.Pod{
		"affinity":      pod("p", "web", to(term("zone", "db", badSelector))),
		"anti-affinity": pod("p", "web", from(term("zone", "db", badSelector))),
	} {
		got, err := ofPod(klog.Logger{}, waiting, nil, placed)
		check(name+", assigned pod", got, err)
		got, err = ofNode(klog.Logger{}, waiting, nil, fixture.Node("n1"))
		check(name+", node", got, err)
	}
	got, err := ofPod(klog.Logger{}, pod("p", "web"), with(placed, from(term("zone", "db", badSelector))), nil)
	check("anti-affinity of the deleted pod", got, err)
}
