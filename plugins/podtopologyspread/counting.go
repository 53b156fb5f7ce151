// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package podtopologyspread

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/topology"
)

// notCounted is the count of a node that does not count for a constraint. That is different from a count of zero, which
// makes the domain of the node known.
const notCounted = -1

// rules say which nodes and pods count for the constraints of one pod. They don't change once made.
type rules struct {
	constraints []constraint
	// allKeys leaves out the nodes that lack a topology key of any constraint.
	allKeys bool

	pod         *v1.Pod
	affinity    nodeaffinity.RequiredNodeAffinity
	logger      klog.Logger
	anyAffinity bool
	anyTaints   bool
}

// newRules returns the rules for some constraints of a pod.
func newRules(ctx context.Context, pod *v1.Pod, constraints []constraint, allKeys bool) *rules {
	r := &rules{constraints: constraints, allKeys: allKeys, pod: pod, logger: klog.FromContext(ctx)}
	for i := range constraints {
		r.anyAffinity = r.anyAffinity || constraints[i].honorAffinity
		r.anyTaints = r.anyTaints || constraints[i].honorTaints
	}
	if r.anyAffinity {
		r.affinity = nodeaffinity.GetRequiredNodeAffinity(pod)
	}
	return r
}

// nodeVerdict is what a node is to the pod that the policies of its constraints may go by.
type nodeVerdict struct{ matches, tolerated bool }

// judge finds out no more about a node than some constraint wants to know.
func (r *rules) judge(node *v1.Node) nodeVerdict {
	verdict := nodeVerdict{matches: true, tolerated: true}
	if r.anyAffinity {
		// An affinity that does not parse matches no node.
		verdict.matches, _ = r.affinity.Match(node)
	}
	if r.anyTaints {
		verdict.tolerated = r.tolerates(node)
	}
	return verdict
}

func (r *rules) tolerates(node *v1.Node) bool {
	for i := range node.Spec.Taints {
		taint := &node.Spec.Taints[i]
		keepsAway := taint.Effect == v1.TaintEffectNoSchedule || taint.Effect == v1.TaintEffectNoExecute
		if keepsAway && !corev1.TolerationsTolerateTaint(r.logger, r.pod.Spec.Tolerations, taint, false) {
			return false
		}
	}
	return true
}

// includes tells whether a node counts for a constraint, by the constraint's policies.
func (c *constraint) includes(verdict nodeVerdict) bool {
	return (verdict.matches || !c.honorAffinity) && (verdict.tolerated || !c.honorTaints)
}

// count returns how many pods on a node count for a constraint.
func (r *rules) count(c *constraint, nodeInfo fwk.NodeInfo) int64 {
	if c.selector.Empty() {
		return 0
	}
	var count int64
	for _, info := range nodeInfo.GetPods() {
		other := info.GetPod()
		if other.Namespace == r.pod.Namespace && other.DeletionTimestamp == nil && c.selector.Matches(labels.Set(other.Labels)) {
			count++
		}
	}
	return count
}

// countNode fills in the counts of a node, one for each constraint.
func (r *rules) countNode(nodeInfo fwk.NodeInfo, counts []int64, wanted func(*constraint) bool) {
	node := nodeInfo.Node()
	counts = counts[:len(r.constraints)]
	for i := range counts {
		counts[i] = notCounted
	}
	if node == nil || r.allKeys && !hasAllKeys(r.constraints, node) {
		return
	}
	verdict := r.judge(node)
	for i := range r.constraints {
		if c := &r.constraints[i]; wanted(c) && c.includes(verdict) {
			counts[i] = r.count(c, nodeInfo)
		}
	}
}

// countNodes counts in parallel, for the constraints that are wanted, and then calls add for every node and constraint
// that the node counts for, one after the other.
func (r *rules) countNodes(
	ctx context.Context, parallelizer fwk.Parallelizer, nodes []fwk.NodeInfo,
	wanted func(*constraint) bool, add func(constraint int, domain string, count int64),
) error {
	width := len(r.constraints)
	counts := make([]int64, len(nodes)*width)
	parallelizer.Until(ctx, len(nodes), func(i int) {
		r.countNode(nodes[i], counts[i*width:(i+1)*width], wanted)
	}, Name)
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("counting the pods that pod %s/%s is to be spread with: %w", r.pod.Namespace, r.pod.Name, err)
	}
	for i, nodeInfo := range nodes {
		for j, count := range counts[i*width : (i+1)*width] {
			if count != notCounted {
				add(j, nodeInfo.Node().Labels[r.constraints[j].topologyKey], count)
			}
		}
	}
	return nil
}

// domains has the count of every domain of a constraint, and the smallest of them.
type domains struct {
	topology.Counter
	fewest int64
}

// change changes the count of a domain by one, up or down, and keeps the smallest count right. That only costs more than
// a step when a domain with the fewest pods gets one more.
func (d *domains) change(domain string, delta int64) {
	before, known := d.Add(domain, delta)
	switch now := before + delta; {
	case now < d.fewest:
		d.fewest = now
	case known && before == d.fewest:
		d.fewest = d.Least()
	}
}

func (d *domains) clone() domains {
	return domains{Counter: d.Clone(), fewest: d.fewest}
}
