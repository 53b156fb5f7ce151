// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/dynamicresources"
	"github.com/rouse-scheduler/rouse/plugins/interpodaffinity"
	"github.com/rouse-scheduler/rouse/plugins/nodeaffinity"
	"github.com/rouse-scheduler/rouse/plugins/nodedeclaredfeatures"
	"github.com/rouse-scheduler/rouse/plugins/nodename"
	"github.com/rouse-scheduler/rouse/plugins/nodeports"
	"github.com/rouse-scheduler/rouse/plugins/noderesourcesfit"
	"github.com/rouse-scheduler/rouse/plugins/nodeunschedulable"
	"github.com/rouse-scheduler/rouse/plugins/nodevolumelimits"
	"github.com/rouse-scheduler/rouse/plugins/podtopologyspread"
	"github.com/rouse-scheduler/rouse/plugins/tainttoleration"
	"github.com/rouse-scheduler/rouse/plugins/volumebinding"
	"github.com/rouse-scheduler/rouse/plugins/volumerestrictions"
	"github.com/rouse-scheduler/rouse/plugins/volumezone"
)

// evaluation is one evaluation of a class, after PreFilter.
type evaluation struct {
	*evaluator
	*preFiltered
	class *podClass
}

// preFiltered is what PreFilter says of a class.
type preFiltered struct {
	state *framework.CycleState
	// everywhere is the verdict on all nodes if PreFilter rejected the pods.
	everywhere filterVerdict
	// allowed are the nodes that PreFilter returned, and narrowedBy is a plugin that left nodes out.
	allowed    *fwk.PreFilterResult
	narrowedBy string
	// reusable reports whether PreFilter would say the same as long as nothing but pods and nodes changes, and no pod on any
	// node has required anti-affinity. calledAfter is how many other changes there were when it was called.
	reusable    bool
	calledAfter int
}

func (t *evaluator) newEvaluation(c *podClass) *evaluation {
	q := &evaluation{evaluator: t, class: c, preFiltered: c.preFiltered}
	if q.preFiltered == nil || !q.reusable || q.calledAfter != t.otherChanges || t.hasAntiAffinity() {
		q.preFilter()
		c.preFiltered = q.preFiltered
	}
	return q
}

func (t *evaluator) hasAntiAffinity() bool {
	nodes, _ := t.snapshot.HavePodsWithRequiredAntiAffinityList() // never fails
	return len(nodes) > 0
}

// preFilter runs PreFilter.
func (q *evaluation) preFilter() {
	p := &preFiltered{state: framework.NewCycleState(), calledAfter: q.otherChanges}
	q.preFiltered = p
	allowed, status, narrowing := q.class.profile.RunPreFilterPlugins(q.ctx, p.state, q.class.pod)
	if !status.IsSuccess() {
		p.everywhere = filterVerdict{plugin: q.plugins.number(q.rejectingPlugin(status)), resolvable: status.Code() == fwk.Unschedulable}
		return
	}
	p.allowed = allowed
	if len(narrowing) > 0 {
		p.narrowedBy = sets.List(narrowing)[0]
	}
	p.reusable = q.class.readsPodOnly(p.state.GetSkipFilterPlugins())
}

// readsPodOnly reports whether PreFilter, which succeeded for the pods, would say the same as long as nothing but pods and nodes
// changes, and no pod on any node has required anti-affinity.
func (c *podClass) readsPodOnly(skipped sets.Set[string]) bool {
	if len(c.outOfTree) > 0 {
		return false
	}
	for _, enabled := range c.profile.ListPlugins().PreFilter.Enabled {
		if c.readsNodeOnly(enabled.Name) {
			continue
		}
		switch enabled.Name {
		case nodedeclaredfeatures.Name:
		case podtopologyspread.Name, dynamicresources.Name:
			if !skipped.Has(enabled.Name) { // for want of constraints, or of claims
				return false
			}
		case volumebinding.Name, volumerestrictions.Name, volumezone.Name, nodevolumelimits.Name:
			if !skipped.Has(enabled.Name) || len(c.pod.Spec.Volumes) > 0 {
				return false
			}
		case interpodaffinity.Name:
			if !skipped.Has(enabled.Name) || c.pod.Spec.Affinity != nil && (c.pod.Spec.Affinity.PodAffinity != nil || c.pod.Spec.Affinity.PodAntiAffinity != nil) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// rejectingPlugin returns the plugin of a status, and remembers failures.
func (q *evaluation) rejectingPlugin(status *fwk.Status) string {
	if !status.IsRejected() {
		q.noteFailedVerdict(q.class.pod, status)
	}
	return cmp.Or(status.Plugin(), "PreFilter") // it was a combination of plugins
}

// filterNodes brings the verdicts on all nodes up to date.
func (q *evaluation) filterNodes() {
	c := q.class
	if q.everywhere.plugin != noPlugin {
		q.rejectAllNodes()
		return
	}
	c.everywhere = filterVerdict{}
	nodes := q.nodes()
	c.refilter.visit(func(i int) (keep, goOn bool) {
		verdict, reusable := q.filterNode(nodes[i])
		c.setVerdict(i, verdict)
		return !reusable, true
	})
}

// rejectAllNodes makes the verdict of PreFilter that on all nodes.
func (q *evaluation) rejectAllNodes() {
	c := q.class
	if c.everywhere == q.everywhere {
		return
	}
	c.everywhere = q.everywhere
	for i := range c.verdicts {
		c.setVerdict(i, q.everywhere)
	}
	c.refilter.fill()
}

// filterNode returns the verdict on one node, and whether it holds as long as the node does not change.
func (q *evaluation) filterNode(node fwk.NodeInfo) (verdict filterVerdict, reusable bool) {
	if !q.allowed.AllNodes() && !q.allowed.NodeNames.Has(node.Node().Name) {
		return filterVerdict{plugin: q.plugins.number(q.narrowedBy)}, false
	}
	status := q.class.profile.RunFilterPluginsWithNominatedPods(q.ctx, q.state, q.class.pod, node)
	if status.IsSuccess() {
		return filterVerdict{}, false
	}
	plugin := q.rejectingPlugin(status)
	verdict = filterVerdict{plugin: q.plugins.number(plugin), resolvable: status.Code() == fwk.Unschedulable}
	return verdict, q.dependsOnNodeOnly(plugin, node)
}

// dependsOnNodeOnly reports whether the verdict of a plugin on a node can only change with the node.
func (q *evaluation) dependsOnNodeOnly(plugin string, node fwk.NodeInfo) bool {
	return q.class.readsNodeOnly(plugin) && len(q.class.profile.NominatedPodsForNode(node.Node().Name)) == 0
}

// readsNodeOnly reports whether the verdict of a plugin on a node can only change with the node, with an object that is
// neither a pod nor a node, or with a nomination.
func (c *podClass) readsNodeOnly(plugin string) bool {
	if c.outOfTree.Has(plugin) {
		return false
	}
	switch plugin {
	case nodeaffinity.Name, nodename.Name, nodeports.Name, noderesourcesfit.Name, nodeunschedulable.Name,
		tainttoleration.Name:
		return true
	}
	return false
}

// bestNode returns the feasible node with the highest score, the first of several; empty if no node is feasible.
func (t *evaluator) bestNode(c *podClass) (string, error) {
	result, err := t.evaluate(c)
	if err != nil || result.feasibleNodes == 0 {
		return "", err
	}
	var feasible []fwk.NodeInfo
	for i, node := range t.nodes() {
		if result.rejectedBy[i] == noPlugin {
			feasible = append(feasible, node)
		}
	}
	best := feasible[0].Node().Name
	var scores []fwk.NodePluginScores
	status := c.profile.Contain(c.pod, func() (status *fwk.Status) {
		q := t.newEvaluation(c)
		if status = c.profile.RunPreScorePlugins(t.ctx, q.state, c.pod, feasible); status.IsSuccess() {
			scores, status = c.profile.RunScorePlugins(t.ctx, q.state, c.pod, feasible)
		}
		return status
	})
	if !status.IsSuccess() {
		return best, nil
	}
	highest := slices.MaxFunc(scores, func(a, b fwk.NodePluginScores) int { return cmp.Compare(a.TotalScore, b.TotalScore) })
	return highest.Name, nil
}
