// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package advice

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	ndf "k8s.io/component-helpers/nodedeclaredfeatures"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	"github.com/rouse-scheduler/rouse/inspect"
)

// removeGates are the scheduling gates of the pod, all of which have to go.
func (v *view) removeGates() fix {
	var changes fix
	for _, gate := range v.pod.Spec.SchedulingGates {
		changes = append(changes, &change{
			Change: ofPod(inspect.ChangeRemoveGate, v.pod, gate.Name, "", "remove the scheduling gate "+gate.Name),
			rank:   rankOfPod,
			apply: editPod(v.pod, func(pod *v1.Pod) {
				pod.Spec.SchedulingGates = slices.DeleteFunc(pod.Spec.SchedulingGates, func(g v1.PodSchedulingGate) bool { return g.Name == gate.Name })
			}),
		})
	}
	return changes
}

// uncordon makes a node schedulable, as kubectl uncordon and the controller of nodes do.
func (v *view) uncordon(node *v1.Node, _ []string) []fix {
	return []fix{{{
		Change: ofNode(inspect.ChangeUncordon, node.Name, "", "", "uncordon "+node.Name),
		rank:   rankOfCordon,
		apply: editNode(node.Name, func(node *v1.Node) {
			node.Spec.Unschedulable = false
			node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(t v1.Taint) bool { return t.Key == v1.TaintNodeUnschedulable })
		}),
	}}}
}

// taints has the pod tolerate the taints of a node, or takes them away.
func (v *view) taints(node *v1.Node, _ []string) []fix {
	var removals, tolerations fix
	tolerable := true
	for _, taint := range node.Spec.Taints {
		keepsAway := taint.Effect == v1.TaintEffectNoSchedule || taint.Effect == v1.TaintEffectNoExecute
		if !keepsAway || corev1helpers.TolerationsTolerateTaint(klog.Logger{}, v.pod.Spec.Tolerations, &taint, false) {
			continue
		}
		if taint.Key == v1.TaintNodeUnschedulable {
			removals = append(removals, v.uncordon(node, nil)[0]...)
			tolerable = false
			continue
		}
		removals = append(removals, removeTaint(node.Name, taint))
		if strings.HasPrefix(taint.Key, "node.kubernetes.io/") { // the node is not well, and the pod would not be either
			tolerable = false
			continue
		}
		tolerations = append(tolerations, v.tolerate(taint))
	}
	fixes := []fix{removals}
	if tolerable {
		fixes = append(fixes, tolerations)
	}
	return fixes
}

func removeTaint(node string, taint v1.Taint) *change {
	return &change{
		Change: ofNode(inspect.ChangeRemoveTaint, node, taint.Key, taint.Value, fmt.Sprintf("remove the taint %s from %s", taint.ToString(), node)),
		rank:   rankOfTaint,
		apply: editNode(node, func(node *v1.Node) {
			node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(t v1.Taint) bool { return t.MatchTaint(&taint) })
		}),
	}
}

func (v *view) tolerate(taint v1.Taint) *change {
	operator := v1.TolerationOpEqual
	if taint.Value == "" {
		operator = v1.TolerationOpExists
	}
	return &change{
		Change: ofPod(inspect.ChangeTolerate, v.pod, taint.Key, taint.Value, "tolerate "+taint.ToString()),
		rank:   rankOfPod,
		apply: editPod(v.pod, func(pod *v1.Pod) {
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, v1.Toleration{Key: taint.Key, Operator: operator, Value: taint.Value, Effect: taint.Effect})
		}),
	}
}

// declare has a node declare the features that the pod needs.
func (v *view) declare(node *v1.Node, _ []string) []fix {
	needed, err := ndf.DefaultFramework.InferForPodScheduling(&ndf.PodInfo{Spec: &v.pod.Spec}, version.MajorMinor(1, 37))
	if err != nil {
		return nil
	}
	match, err := ndf.DefaultFramework.MatchNode(needed, node)
	if err != nil {
		return nil
	}
	var changes fix
	for _, feature := range match.UnsatisfiedRequirements {
		changes = append(changes, &change{
			Change: ofNode(inspect.ChangeDeclareFeature, node.Name, feature, "", fmt.Sprintf("have the kubelet of %s declare the feature %s", node.Name, feature)),
			rank:   rankOfRequest,
			apply: editNode(node.Name, func(node *v1.Node) {
				node.Status.DeclaredFeatures = append(slices.Clone(node.Status.DeclaredFeatures), feature)
				slices.Sort(node.Status.DeclaredFeatures)
			}),
		})
	}
	return []fix{changes}
}

// labels gives a node what the pod's node selector and one of its node affinity terms ask for.
func (v *view) labels(node *v1.Node, _ []string) []fix {
	selector := labelChanges{node: node}
	for _, key := range slices.Sorted(maps.Keys(v.pod.Spec.NodeSelector)) {
		selector.require(v1.NodeSelectorRequirement{Key: key, Operator: v1.NodeSelectorOpIn, Values: []string{v.pod.Spec.NodeSelector[key]}})
	}
	affinity := v.pod.Spec.Affinity
	if affinity == nil || affinity.NodeAffinity == nil || affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return selector.fixes()
	}
	return selector.forTerms(affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms)
}

// labelChanges collects changes of labels of one node.
type labelChanges struct {
	node       *v1.Node
	changes    fix
	impossible bool
}

func (l labelChanges) fixes() []fix {
	if l.impossible || len(l.changes) == 0 {
		return nil
	}
	return []fix{l.changes}
}

// forTerms returns a fix for each of the terms, of which one is enough.
func (l labelChanges) forTerms(terms []v1.NodeSelectorTerm) []fix {
	var fixes []fix
	for i := range terms {
		of := labelChanges{node: l.node, changes: slices.Clone(l.changes), impossible: l.impossible}
		of.requireTerm(&terms[i])
		fixes = append(fixes, of.fixes()...)
	}
	return fixes
}

func (l *labelChanges) requireTerm(term *v1.NodeSelectorTerm) {
	for _, expression := range term.MatchExpressions {
		l.require(expression)
	}
	for _, field := range term.MatchFields { // the name of the node, which does not change
		l.impossible = l.impossible || !matches(l.node, v1.NodeSelectorTerm{MatchFields: []v1.NodeSelectorRequirement{field}})
	}
}

func matches(node *v1.Node, term v1.NodeSelectorTerm) bool {
	selector, err := nodeaffinity.NewNodeSelector(&v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{term}})
	return err == nil && selector.Match(node)
}

// require adds the change with which the node matches an expression, if it does not.
func (l *labelChanges) require(expression v1.NodeSelectorRequirement) {
	if matches(l.node, v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{expression}}) {
		return
	}
	if len(expression.Values) == 0 && expression.Operator != v1.NodeSelectorOpExists && expression.Operator != v1.NodeSelectorOpDoesNotExist {
		l.impossible = true
		return
	}
	switch expression.Operator {
	case v1.NodeSelectorOpIn:
		l.set(expression.Key, expression.Values[0])
	case v1.NodeSelectorOpExists:
		l.set(expression.Key, "true")
	case v1.NodeSelectorOpNotIn, v1.NodeSelectorOpDoesNotExist:
		l.remove(expression.Key)
	case v1.NodeSelectorOpGt, v1.NodeSelectorOpLt:
		bound, err := strconv.ParseInt(expression.Values[0], 10, 64)
		if err != nil {
			l.impossible = true
			return
		}
		step := int64(1)
		if expression.Operator == v1.NodeSelectorOpLt {
			step = -1
		}
		l.set(expression.Key, strconv.FormatInt(bound+step, 10))
	}
}

// belongsToKubernetes reports whether a label says what a node is, so that it must not be changed.
func belongsToKubernetes(key string) bool {
	prefix, _, _ := strings.Cut(key, "/")
	return prefix == "kubernetes.io" || strings.HasSuffix(prefix, ".kubernetes.io")
}

func (l *labelChanges) set(key, value string) {
	before, has := l.node.Labels[key]
	if has && before != value && belongsToKubernetes(key) {
		l.impossible = true
		return
	}
	verb := "add the label %s=%s to %s"
	if has {
		verb = "set the label %s=%s on %s"
	}
	l.changes = append(l.changes, &change{
		Change: ofNode(inspect.ChangeSetLabel, l.node.Name, key, value, fmt.Sprintf(verb, key, value, l.node.Name)),
		rank:   rankOfLabel,
		apply: editNode(l.node.Name, func(node *v1.Node) {
			metav1.SetMetaDataLabel(&node.ObjectMeta, key, value)
		}),
	})
}

func (l *labelChanges) remove(key string) {
	if belongsToKubernetes(key) {
		l.impossible = true
		return
	}
	l.changes = append(l.changes, &change{
		Change: ofNode(inspect.ChangeRemoveLabel, l.node.Name, key, "", fmt.Sprintf("remove the label %s from %s", key, l.node.Name)),
		rank:   rankOfLabel,
		apply:  editNode(l.node.Name, func(node *v1.Node) { delete(node.Labels, key) }),
	})
}
