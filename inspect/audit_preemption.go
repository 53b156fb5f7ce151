// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/preemption"
	"github.com/rouse-scheduler/rouse/runtime"
)

// preemptionHooksProvider is a PostFilter plugin whose preemption can be run dry.
type preemptionHooksProvider interface {
	PreemptionHooks() preemption.Hooks
}

// preemptionHooks returns the hooks of the first PostFilter plugin of a profile that preempts; nil if there is none.
func preemptionHooks(profile *runtime.Framework) preemption.Hooks {
	for _, name := range profile.ListPlugins().PostFilter.Enabled {
		if plugin, ok := profile.Plugin(name.Name).(preemptionHooksProvider); ok {
			return plugin.PreemptionHooks()
		}
	}
	return nil
}

// dryRun is the result of removing the pods of lower priority from a node.
type dryRun struct {
	// plugin still rejects the pods; noVictims if there is no pod to remove, and empty if the pods fit then.
	plugin  string
	victims []string
	// reusable reports whether the result holds as long as the generation of the node is the same.
	reusable   bool
	generation int64
}

// noVictims stands for a plugin that rejects pods on a node without pods that could be preempted.
const noVictims = "no victims"

// preemptionResult is where preemption helps the pods of a class.
type preemptionResult struct {
	// node is empty if preemption helps on no node.
	node    string
	victims []string
	// blockedBy has for each node the plugin that rejects the pods even without the pods of lower priority. It is nil if
	// preemption helps on some node, and if it was not tried.
	blockedBy []string
}

func (r preemptionResult) equal(other preemptionResult) bool {
	return r.node == other.node && slices.Equal(r.victims, other.victims) && slices.Equal(r.blockedBy, other.blockedBy)
}

// dryRunPreemption finds a node on which preemption would help, without evicting any pod. The node of the last time is tried
// first.
func (q *evaluation) dryRunPreemption(before *feasibility) preemptionResult {
	c := q.class
	nodes := q.nodes()
	if c.hooks == nil || !q.mayPreempt(nodes) {
		return preemptionResult{}
	}
	if len(c.dryRuns) != len(nodes) {
		c.dryRuns = make([]dryRun, len(nodes))
	}
	if before != nil {
		if last := slices.Index(q.names, before.preemption.node); last >= 0 {
			if found := q.dryRunOnNode(last, nodes[last]); found.plugin == "" {
				return preemptionResult{node: q.names[last], victims: found.victims}
			}
		}
	}
	blockedBy := make([]string, len(nodes))
	for i, node := range nodes {
		found := q.dryRunOnNode(i, node)
		if found.plugin == "" {
			return preemptionResult{node: node.Node().Name, victims: found.victims}
		}
		blockedBy[i] = found.plugin
	}
	return preemptionResult{blockedBy: blockedBy}
}

// mayPreempt reports whether the pods may preempt at all.
func (q *evaluation) mayPreempt(nodes []fwk.NodeInfo) bool {
	var onNominated *fwk.Status
	for i, node := range nodes {
		if node.Node().Name == q.class.pod.Status.NominatedNodeName {
			onNominated = q.class.verdicts[i].status()
		}
	}
	eligible, _ := q.class.hooks.PodEligibleToPreemptOthers(q.ctx, q.class.pod, onNominated)
	return eligible
}

// dryRunOnNode removes the pods that may be preempted from a copy of a node, unless the last result can be reused.
func (q *evaluation) dryRunOnNode(i int, node fwk.NodeInfo) dryRun {
	rejected, known := &q.class.verdicts[i], &q.class.dryRuns[i]
	switch {
	case !rejected.resolvable:
		return dryRun{plugin: rejected.plugin}
	case known.reusable && known.generation == node.GetGeneration():
		return *known
	}
	*known = dryRun{generation: node.GetGeneration()}
	if !hasLowerPriorityPod(node, q.class.pod) {
		known.plugin, known.reusable = noVictims, true
		return *known
	}
	victims, _, status := q.class.hooks.SelectVictimsOnNode(q.ctx, q.state.Clone(), q.class.pod, node.Snapshot(), q.budgets())
	switch {
	case status.IsSuccess() && len(victims) > 0:
		for _, victim := range victims {
			known.victims = append(known.victims, victim.Namespace+"/"+victim.Name)
		}
	case status.IsSuccess() || status.Plugin() == "":
		known.plugin = noVictims
	default:
		known.plugin = q.rejectingPlugin(status)
		known.reusable = q.dependsOnNodeOnly(known.plugin, node)
	}
	return *known
}

// budgets returns the disruption budgets. They decide which pods are preempted, not whether preemption helps.
func (q *evaluation) budgets() []*policyv1.PodDisruptionBudget {
	informers := q.class.profile.SharedInformerFactory()
	if informers == nil {
		return nil
	}
	found, err := informers.Policy().V1().PodDisruptionBudgets().Lister().List(labels.Everything())
	if err != nil {
		q.warnings.Insert("the disruption budgets cannot be listed: " + err.Error())
	}
	return found
}

func hasLowerPriorityPod(node fwk.NodeInfo, pod *v1.Pod) bool {
	priority := corev1helpers.PodPriority(pod)
	return slices.ContainsFunc(node.GetPods(), func(other fwk.PodInfo) bool {
		return corev1helpers.PodPriority(other.GetPod()) < priority
	})
}

// status is the verdict as Filter gave it.
func (v *filterVerdict) status() *fwk.Status {
	switch {
	case v.plugin == "":
		return nil
	case v.resolvable:
		return fwk.NewStatus(fwk.Unschedulable).WithPlugin(v.plugin)
	}
	return fwk.NewStatus(fwk.UnschedulableAndUnresolvable).WithPlugin(v.plugin)
}
