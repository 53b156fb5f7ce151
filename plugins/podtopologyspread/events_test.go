// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package podtopologyspread

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

const (
	podActions  = fwk.Add | fwk.Delete | fwk.UpdatePodLabel
	nodeActions = fwk.Add | fwk.Delete | fwk.UpdateNodeLabel | fwk.UpdateNodeTaint
	selfActions = fwk.UpdatePodLabel | fwk.UpdatePodToleration
)

// untyped makes a nil pointer the absent object that it stands for.
func untyped[T any](object *T) any {
	if object == nil {
		return nil
	}
	return object
}

func TestHintAfterPodChange(t *testing.T) {
	placed := func(pairs ...string) *v1.Pod { return with(labelled("other", pairs...), onNode("n1")) }
	elsewhere := func(pairs ...string) *v1.Pod { return with(placed(pairs...), inNamespace("other")) }
	nominated := with(labelled("other", "app", "web"), func(pod *v1.Pod) { pod.Status.NominatedNodeName = "n1" })
	waiting := labelled("other", "app", "web")
	one := web(constraintOn(1, zone, hard))
	two := web(constraintOn(1, zone, hard), constraintOn(1, host, hard, selecting("tier", "front")))
	tests := []struct {
		name     string
		pod      *v1.Pod
		old, new *v1.Pod
		want     fwk.QueueingHint
	}{
		{"add: selected", one, nil, placed("app", "web"), fwk.Queue},
		{"add: not selected", one, nil, placed("app", "db"), fwk.QueueSkip},
		{"add: another namespace", one, nil, elsewhere("app", "web"), fwk.QueueSkip},
		{"add: without a node", one, nil, waiting, fwk.QueueSkip},
		{"add: nominated", one, nil, nominated, fwk.Queue},
		{"add: selected by the second constraint", two, nil, placed("tier", "front"), fwk.Queue},
		{"add: selected by a soft constraint only", web(constraintOn(1, zone, hard, selecting("tier", "front")), constraintOn(1, host, soft)), nil,
			placed("app", "web"), fwk.QueueSkip},
		{"add: no constraints", web(), nil, placed("app", "web"), fwk.QueueSkip},
		{"delete: selected", one, placed("app", "web"), nil, fwk.Queue},
		{"delete: not selected", one, placed("app", "db"), nil, fwk.QueueSkip},
		{"delete: another namespace", one, elsewhere("app", "web"), nil, fwk.QueueSkip},
		{"delete: without a node", one, waiting, nil, fwk.QueueSkip},
		{"delete: nominated", one, nominated, nil, fwk.Queue},
		{"update: selected now", one, placed("app", "db"), placed("app", "web"), fwk.Queue},
		{"update: no longer selected", one, placed("app", "web"), placed(), fwk.Queue},
		{"update: still selected", one, placed("app", "web"), placed("app", "web", "x", "y"), fwk.QueueSkip},
		{"update: still not selected", one, placed("app", "db"), placed("app", "cache"), fwk.QueueSkip},
		{"update: same labels", one, placed("app", "web"), placed("app", "web"), fwk.QueueSkip},
		{"update: changes for the second constraint", two, placed("app", "web"), placed("app", "web", "tier", "front"), fwk.Queue},
		{"update: from one constraint to the other", two, placed("app", "web"), placed("tier", "front"), fwk.Queue},
		{"update: another namespace", one, elsewhere("app", "db"), elsewhere("app", "web"), fwk.QueueSkip},
	}
	hint := fixture.Hint(t, newPlugin(t, nil, nil), fwk.AssignedPod, podActions)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fixture.CheckHint(t, hint, tt.pod, untyped(tt.old), untyped(tt.new), tt.want)
		})
	}
	t.Run("wrong and absent objects", func(t *testing.T) {
		fixture.CheckHintObjects(t, hint, one, placed("app", "web"))
	})
	t.Run("constraints of the profile", func(t *testing.T) {
		pl := newPlugin(t, list(constraintOn(1, zone, hard, selectingNothing)), nil, service("s", labelMap("app", "web")))
		hint := fixture.Hint(t, pl, fwk.AssignedPod, podActions)
		fixture.CheckHint(t, hint, web(), nil, placed("app", "web"), fwk.Queue)
		fixture.CheckHint(t, hint, web(), nil, placed("app", "db"), fwk.QueueSkip)
	})
}

func TestHintAfterPodEnding(t *testing.T) {
	placed := func(pairs ...string) *v1.Pod { return with(labelled("other", pairs...), onNode("n1")) }
	ending := func(pod *v1.Pod) *v1.Pod {
		return with(pod, func(pod *v1.Pod) { pod.DeletionTimestamp = &metav1.Time{} })
	}
	pod, counted := web(constraintOn(1, zone, hard)), placed("app", "web")
	tests := []struct {
		name     string
		pod      *v1.Pod
		old, new *v1.Pod
		want     fwk.QueueingHint
	}{
		{"selected", pod, counted, ending(counted), fwk.Queue},
		{"selected until now", pod, counted, ending(placed("app", "db")), fwk.Queue},
		{"selected now", pod, placed("app", "db"), ending(counted), fwk.QueueSkip},
		{"not selected", pod, placed("app", "db"), ending(placed("app", "db")), fwk.QueueSkip},
		{"selected by a soft constraint only", web(constraintOn(1, zone, soft)), counted, ending(counted), fwk.QueueSkip},
		{"another namespace", pod, with(counted, inNamespace("other")), ending(with(counted, inNamespace("other"))), fwk.QueueSkip},
		{"without a node", pod, labelled("other", "app", "web"), ending(labelled("other", "app", "web")), fwk.QueueSkip},
		{"was being deleted before", pod, ending(counted), ending(counted), fwk.QueueSkip},
		{"is not being deleted", pod, counted, counted, fwk.QueueSkip},
	}
	hint := fixture.Hint(t, newPlugin(t, nil, nil), fwk.AssignedPod, fwk.Update)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fixture.CheckHint(t, hint, tt.pod, tt.old, tt.new, tt.want)
		})
	}
	t.Run("wrong and absent objects", func(t *testing.T) {
		fixture.CheckHintObjects(t, hint, pod, counted)
	})
	invalid := web(constraintOn(1, zone, hard, func(c *v1.TopologySpreadConstraint) {
		c.LabelSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Near"}}}
	}))
	if got, err := hint(klog.Logger{}, invalid, counted, ending(counted)); err == nil || got != fwk.Queue {
		t.Errorf("a constraint that does not parse: got %v and error %v, want Queue and an error", got, err)
	}
}

func TestHintAfterSelfChange(t *testing.T) {
	toleration := tolerates(v1.Toleration{Key: "k", Operator: v1.TolerationOpExists})
	plain, honoring := web(constraintOn(1, zone, hard)), web(constraintOn(1, zone, hard, taintsPolicy(honor)))
	softHonoring := web(constraintOn(1, zone, hard), constraintOn(1, zone, soft, taintsPolicy(honor)))
	relabelled := func(pod *v1.Pod, pairs ...string) *v1.Pod { return with(pod, withLabels(labelMap(pairs...))) }
	tests := []struct {
		name     string
		old, new *v1.Pod
		want     fwk.QueueingHint
	}{
		{"tolerations change, taints are honored", honoring, with(honoring, toleration), fwk.Queue},
		{"tolerations change, taints are ignored", plain, with(plain, toleration), fwk.QueueSkip},
		{"tolerations change, taints are honored by a soft constraint", softHonoring, with(softHonoring, toleration), fwk.QueueSkip},
		{"labels change: no longer selected", plain, relabelled(plain, "app", "db"), fwk.Queue},
		{"labels change: selected now", relabelled(plain, "app", "db"), plain, fwk.Queue},
		{"labels change: still selected", plain, relabelled(plain, "app", "web", "x", "y"), fwk.QueueSkip},
		{"labels and tolerations change", plain, with(relabelled(plain, "app", "db"), toleration), fwk.Queue},
		{"something else changes", plain, plain, fwk.QueueSkip},
		{"before is not known", nil, plain, fwk.Queue},
	}
	hint := fixture.Hint(t, newPlugin(t, nil, nil), fwk.TargetPod, selfActions)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fixture.CheckHint(t, hint, tt.new, untyped(tt.old), untyped(tt.new), tt.want)
		})
	}
	t.Run("wrong and absent objects", func(t *testing.T) {
		fixture.CheckHintObjects(t, hint, plain, plain)
	})
}

func TestHintAfterNodeChange(t *testing.T) {
	aNode := func(pairs ...string) *v1.Node { return nodeLabelled("n1", labelMap(pairs...)) }
	tainted := func(node *v1.Node) *v1.Node {
		node = node.DeepCopy()
		tainted(v1.Taint{Key: "k", Effect: v1.TaintEffectNoSchedule})(node)
		return node
	}
	both, onlyZone, none := aNode(zone, "z1", host, "n1"), aNode(zone, "z1"), aNode()
	pod := web(constraintOn(1, zone, hard), constraintOn(1, host, hard))
	withoutConstraints := web()
	picky := with(pod, func(pod *v1.Pod) { pod.Spec.NodeSelector = labelMap("disk", "ssd") })
	pickyEverywhere := with(picky, func(pod *v1.Pod) {
		for i := range pod.Spec.TopologySpreadConstraints {
			pod.Spec.TopologySpreadConstraints[i].NodeAffinityPolicy = ptr.To(v1.NodeInclusionPolicyIgnore)
		}
	})
	tests := []struct {
		name     string
		pod      *v1.Pod
		old, new *v1.Node
		want     fwk.QueueingHint
	}{
		{"add: has all keys", pod, nil, both, fwk.Queue},
		{"add: lacks a key", pod, nil, onlyZone, fwk.QueueSkip},
		{"add: lacks the key of a soft constraint", web(constraintOn(1, zone, hard), constraintOn(1, host, soft)), nil, onlyZone, fwk.Queue},
		{"add: no constraints", withoutConstraints, nil, none, fwk.Queue},
		{"delete: has all keys", pod, both, nil, fwk.Queue},
		{"delete: lacks a key", pod, onlyZone, nil, fwk.QueueSkip},
		{"update: has all keys now", pod, onlyZone, both, fwk.Queue},
		{"update: loses a key", pod, both, onlyZone, fwk.Queue},
		{"update: still lacks a key", pod, onlyZone, none, fwk.QueueSkip},
		{"update: another domain", pod, both, aNode(zone, "z2", host, "n1"), fwk.Queue},
		{"update: another label", pod, both, aNode(zone, "z1", host, "n1", "disk", "ssd"), fwk.QueueSkip},
		{"update: another domain of a key that does not matter while one is lacking", pod, onlyZone, aNode(zone, "z2"), fwk.QueueSkip},
		{"update: taints come", pod, both, tainted(both), fwk.Queue},
		{"update: taints go", pod, tainted(both), both, fwk.Queue},
		{"update: taints change on a node that lacks a key", pod, onlyZone, tainted(onlyZone), fwk.QueueSkip},
		{"update: nothing", pod, both, both, fwk.QueueSkip},
		{"update: the pod may go there now", picky, both, aNode(zone, "z1", host, "n1", "disk", "ssd"), fwk.Queue},
		{"update: the pod may no longer go there", picky, aNode(zone, "z1", host, "n1", "disk", "ssd"), both, fwk.Queue},
		{"update: the pod may go there still", picky, aNode(zone, "z1", host, "n1", "disk", "ssd"), aNode(zone, "z1", host, "n1", "disk", "ssd", "x", "y"), fwk.QueueSkip},
		{"update: the pod may go there now, but lacks a key", picky, onlyZone, aNode(zone, "z1", "disk", "ssd"), fwk.QueueSkip},
		{"update: the pod may go there now, and all nodes count", pickyEverywhere, both, aNode(zone, "z1", host, "n1", "disk", "ssd"), fwk.QueueSkip},
	}
	hint := fixture.Hint(t, newPlugin(t, nil, nil), fwk.Node, nodeActions)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fixture.CheckHint(t, hint, tt.pod, untyped(tt.old), untyped(tt.new), tt.want)
		})
	}
	t.Run("wrong and absent objects", func(t *testing.T) {
		fixture.CheckHintObjects(t, hint, pod, both)
	})
}

func TestHintsOfSelectorsThatDoNotParse(t *testing.T) {
	invalid := web(constraintOn(1, zone, hard, selectingInvalid))
	placed := with(invalid, onNode("n1"))
	pl := newPlugin(t, nil, nil)
	for name, ask := range map[string]func() (fwk.QueueingHint, error){
		"assigned pod": func() (fwk.QueueingHint, error) {
			return fixture.Hint(t, pl, fwk.AssignedPod, podActions)(klog.Logger{}, invalid, nil, placed)
		},
		"target pod": func() (fwk.QueueingHint, error) {
			return fixture.Hint(t, pl, fwk.TargetPod, selfActions)(klog.Logger{}, invalid, invalid, invalid)
		},
		"node": func() (fwk.QueueingHint, error) {
			return fixture.Hint(t, pl, fwk.Node, nodeActions)(klog.Logger{}, invalid, nil, objects.Node("n1").Build())
		},
	} {
		if got, err := ask(); err == nil || got != fwk.Queue {
			t.Errorf("%s: got %v and error %v, want Queue and an error", name, got, err)
		}
	}
}
