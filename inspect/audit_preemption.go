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

// dryRun is the result of removing the pods of lower priority from a node, without success.
type dryRun struct {
	// plugin still rejects the pods; noVictims if there is no pod to remove.
	plugin pluginNumber
	// reusable reports whether the result holds as long as the node does not change.
	reusable bool
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
	blockedBy []pluginNumber
}

func (r preemptionResult) equal(other preemptionResult) bool {
	return r.node == other.node && slices.Equal(r.victims, other.victims) &&
		(sameSlice(r.blockedBy, other.blockedBy) || slices.Equal(r.blockedBy, other.blockedBy))
}

// dryRunPreemption finds a node on which preemption would help, without evicting any pod. The node of the last time is tried
// first.
func (q *evaluation) dryRunPreemption() preemptionResult {
	c := q.class
	if c.hooks == nil || !q.mayPreempt() {
		return preemptionResult{}
	}
	nodes := q.nodes()
	if c.latest != nil {
		if last, found := q.positions[c.latest.preemption.node]; found {
			if victims := q.dryRunOnNode(last, nodes[last]); len(victims) > 0 {
				return preemptionResult{node: q.names[last], victims: victims}
			}
		}
	}
	var result preemptionResult
	c.rerun.visit(func(i int) (keep, goOn bool) {
		if result.victims = q.dryRunOnNode(i, nodes[i]); len(result.victims) > 0 {
			result.node = q.names[i]
			return true, false
		}
		return c.verdicts[i].resolvable && !c.dryRuns[i].reusable, true
	})
	if result.node == "" {
		if c.sharedBlockedBy == nil {
			c.sharedBlockedBy = slices.Clone(c.blockedBy)
		}
		result.blockedBy = c.sharedBlockedBy
	}
	return result
}

// mayPreempt reports whether the pods may preempt at all.
func (q *evaluation) mayPreempt() bool {
	var onNominated *fwk.Status
	if position, found := q.positions[q.class.pod.Status.NominatedNodeName]; found {
		onNominated = q.statusOf(q.class.verdicts[position])
	}
	eligible, _ := q.class.hooks.PodEligibleToPreemptOthers(q.ctx, q.class.pod, onNominated)
	return eligible
}

// dryRunOnNode returns the pods whose removal from a copy of a node helps. If there are none, it notes why, and does not try if
// the last result can be reused.
func (q *evaluation) dryRunOnNode(i int, node fwk.NodeInfo) (victims []string) {
	verdict, known := q.class.verdicts[i], &q.class.dryRuns[i]
	if verdict.resolvable && !known.reusable {
		if victims, *known = q.removePods(node); len(victims) > 0 {
			return victims
		}
	}
	plugin := verdict.plugin
	if verdict.resolvable {
		plugin = known.plugin
	}
	if q.class.blockedBy[i] != plugin {
		q.class.blockedBy[i], q.class.sharedBlockedBy = plugin, nil
	}
	return nil
}

// removePods removes the pods that may be preempted from a copy of a node.
func (q *evaluation) removePods(node fwk.NodeInfo) (names []string, failed dryRun) {
	if !hasLowerPriorityPod(node, q.class.pod) {
		return nil, dryRun{plugin: q.plugins.number(noVictims), reusable: true}
	}
	victims, _, status := q.class.hooks.SelectVictimsOnNode(q.ctx, q.state.Clone(), q.class.pod, node.Snapshot(), q.budgets())
	switch {
	case status.IsSuccess() && len(victims) > 0:
		for _, victim := range victims {
			names = append(names, victim.Namespace+"/"+victim.Name)
		}
		return names, dryRun{}
	case status.IsSuccess() || status.Plugin() == "":
		return nil, dryRun{plugin: q.plugins.number(noVictims)}
	}
	plugin := q.rejectingPlugin(status)
	return nil, dryRun{plugin: q.plugins.number(plugin), reusable: q.dependsOnNodeOnly(plugin, node)}
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

// statusOf is the verdict as Filter gave it.
func (t *evaluator) statusOf(verdict filterVerdict) *fwk.Status {
	switch {
	case verdict.plugin == noPlugin:
		return nil
	case verdict.resolvable:
		return fwk.NewStatus(fwk.Unschedulable).WithPlugin(t.plugins.name(verdict.plugin))
	}
	return fwk.NewStatus(fwk.UnschedulableAndUnresolvable).WithPlugin(t.plugins.name(verdict.plugin))
}
