// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package podtopologyspread

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// rules say which nodes and pods count for the constraints of pods that are alike. They don't change once made.
type rules struct {
	constraints []constraint
	// allKeys leaves out the nodes that lack a topology key of any constraint.
	allKeys bool

	namespace   string
	affinity    nodeaffinity.RequiredNodeAffinity
	tolerations []v1.Toleration
	anyAffinity bool
	anyTaints   bool
	// restricted says that the pod requires anything of nodes.
	restricted bool
}

// newRules returns the rules for some constraints of a pod.
func newRules(pod *v1.Pod, constraints []constraint, allKeys bool) *rules {
	r := &rules{constraints: constraints, allKeys: allKeys, namespace: pod.Namespace}
	for i := range constraints {
		r.anyAffinity = r.anyAffinity || constraints[i].honorAffinity
		r.anyTaints = r.anyTaints || constraints[i].honorTaints
	}
	r.restricted = len(pod.Spec.NodeSelector) > 0 || requiredNodeAffinity(pod) != nil
	if r.anyAffinity {
		r.affinity = nodeaffinity.GetRequiredNodeAffinity(pod)
	}
	if r.anyTaints {
		r.tolerations = pod.Spec.Tolerations
	}
	return r
}

// nodeEligibility is what the inclusion policies of constraints depend on: whether the node matches the pod's node affinity,
// and whether the pod tolerates its taints.
type nodeEligibility struct{ matches, tolerated bool }

// eligibility looks at no more of a node than some constraint depends on.
func (r *rules) eligibility(node *v1.Node) nodeEligibility {
	eligibility := nodeEligibility{matches: true, tolerated: true}
	if r.anyAffinity {
		// An affinity that does not parse matches no node.
		eligibility.matches, _ = r.affinity.Match(node)
	}
	if r.anyTaints {
		eligibility.tolerated = r.tolerates(node)
	}
	return eligibility
}

func (r *rules) tolerates(node *v1.Node) bool {
	for i := range node.Spec.Taints {
		taint := &node.Spec.Taints[i]
		keepsAway := taint.Effect == v1.TaintEffectNoSchedule || taint.Effect == v1.TaintEffectNoExecute
		if keepsAway && !corev1.TolerationsTolerateTaint(klog.Logger{}, r.tolerations, taint, false) {
			return false
		}
	}
	return true
}

// includes reports whether a node counts for a constraint, by the constraint's policies.
func (c *constraint) includes(eligibility nodeEligibility) bool {
	return (eligibility.matches || !c.honorAffinity) && (eligibility.tolerated || !c.honorTaints)
}

// count returns how many pods on a node count for a constraint.
func (r *rules) count(c *constraint, nodeInfo fwk.NodeInfo) int64 {
	if c.selector.Empty() {
		return 0
	}
	var count int64
	for _, info := range framework.View(nodeInfo).Pods() {
		other := framework.ViewPod(info).Meta()
		if other.Namespace == r.namespace && other.DeletionTimestamp == nil && c.selector.Matches(labels.Set(other.Labels)) {
			count++
		}
	}
	return count
}
