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

// preempts is a PostFilter plugin that can be asked what it would do, without doing it.
type preempts interface {
	PreemptionHooks() preemption.Hooks
}

// hooksOf returns the decisions of the first PostFilter plugin of a profile that makes room by preemption; nil if there
// is none.
func hooksOf(profile *runtime.Framework) preemption.Hooks {
	for _, name := range profile.ListPlugins().PostFilter.Enabled {
		if plugin, ok := profile.Plugin(name.Name).(preempts); ok {
			return plugin.PreemptionHooks()
		}
	}
	return nil
}

// trial is what came of removing the pods from a node that are less important than those of a class.
type trial struct {
	// plugin keeps the pods off the node all the same; noVictims if there is nobody to remove, and empty if they fit then.
	plugin  string
	victims []string
	// lasts tells that it comes to the same while the generation of the node is the same.
	lasts      bool
	generation int64
}

// noVictims is in place of a plugin that rejects pods on a node where preemption has nothing to take away.
const noVictims = "no victims"

// room is where preemption makes room for the pods of a class.
type room struct {
	// node is empty if it does so nowhere.
	node    string
	victims []string
	// heldBy says for each node what keeps the pods away even if less important pods go. It is nil if somewhere nothing
	// does, and where preemption is not asked.
	heldBy []string
}

func (r room) equal(other room) bool {
	return r.node == other.node && slices.Equal(r.victims, other.victims) && slices.Equal(r.heldBy, other.heldBy)
}

// preempt finds a node where preemption would make room for the pods of the question. Nobody is evicted.
// Where it did before is tried first.
func (q *question) preempt(before *judgement) room {
	c := q.class
	nodes := q.nodes()
	if c.hooks == nil || !q.eligible(nodes) {
		return room{}
	}
	if len(c.trials) != len(nodes) {
		c.trials = make([]trial, len(nodes))
	}
	if before != nil {
		if last := slices.Index(q.names, before.room.node); last >= 0 {
			if found := q.try(last, nodes[last]); found.plugin == "" {
				return room{node: q.names[last], victims: found.victims}
			}
		}
	}
	held := make([]string, len(nodes))
	for i, node := range nodes {
		found := q.try(i, node)
		if found.plugin == "" {
			return room{node: node.Node().Name, victims: found.victims}
		}
		held[i] = found.plugin
	}
	return room{heldBy: held}
}

// eligible tells whether the pods may preempt at all.
func (q *question) eligible(nodes []fwk.NodeInfo) bool {
	var onNominated *fwk.Status
	for i, node := range nodes {
		if node.Node().Name == q.class.pod.Status.NominatedNodeName {
			onNominated = q.class.verdicts[i].status()
		}
	}
	eligible, _ := q.class.hooks.PodEligibleToPreemptOthers(q.ctx, q.class.pod, onNominated)
	return eligible
}

// try has the pods that may be preempted removed from a copy of a node, unless it is known what comes of that.
func (q *question) try(i int, node fwk.NodeInfo) trial {
	rejected, known := &q.class.verdicts[i], &q.class.trials[i]
	switch {
	case !rejected.resolvable:
		return trial{plugin: rejected.plugin}
	case known.lasts && known.generation == node.GetGeneration():
		return *known
	}
	*known = trial{generation: node.GetGeneration()}
	if !hasLessImportant(node, q.class.pod) {
		known.plugin, known.lasts = noVictims, true
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
		known.plugin = q.rejecter(status)
		known.lasts = q.judgesForLong(known.plugin, node)
	}
	return *known
}

// budgets returns the disruption budgets. They decide who is preempted, not whether anybody is.
func (q *question) budgets() []*policyv1.PodDisruptionBudget {
	informers := q.class.profile.SharedInformerFactory()
	if informers == nil {
		return nil
	}
	found, err := informers.Policy().V1().PodDisruptionBudgets().Lister().List(labels.Everything())
	if err != nil {
		q.faults.Insert("the disruption budgets cannot be listed: " + err.Error())
	}
	return found
}

func hasLessImportant(node fwk.NodeInfo, pod *v1.Pod) bool {
	priority := corev1helpers.PodPriority(pod)
	return slices.ContainsFunc(node.GetPods(), func(other fwk.PodInfo) bool {
		return corev1helpers.PodPriority(other.GetPod()) < priority
	})
}

// status is the verdict as Filter gave it.
func (v *verdict) status() *fwk.Status {
	switch {
	case v.plugin == "":
		return nil
	case v.resolvable:
		return fwk.NewStatus(fwk.Unschedulable).WithPlugin(v.plugin)
	}
	return fwk.NewStatus(fwk.UnschedulableAndUnresolvable).WithPlugin(v.plugin)
}
