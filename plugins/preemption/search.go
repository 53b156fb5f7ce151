// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package preemption

import (
	"context"
	"fmt"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// dryRun is what looking for victims on one node came to: victims, or a status that says why there are none. The zero
// value is a node that was not looked at.
type dryRun struct {
	node    string
	victims *extenderv1.Victims
	status  *fwk.Status
}

func (d *dryRun) withinBudgets() bool { return d.victims.NumPDBViolations == 0 }

// selection is some of a list of nodes.
type selection struct {
	nodes []fwk.NodeInfo
	// lister has the nodes by their slots; nil where nodes is a list of its own, which no plugin has changed.
	lister framework.IndexedSnapshot
	// slots are the slots of all the nodes in the snapshot; nil if it has none.
	slots []int
	// indexes are the places in the list of the nodes that are selected.
	indexes []int
}

// at returns the node at an index.
func (s *selection) at(index int) fwk.NodeInfo {
	if s.lister != nil {
		return s.lister.NodeAt(s.slots[index])
	}
	return s.nodes[index]
}

// search looks for victims on the selected nodes, in parallel, until there are enough candidates and one of them stays
// within the budgets. Those that do come first. If there are none, what is wrong with the nodes is written to found.
// Nodes where the dry run failed are passed over; it is an error only if that leaves no candidate.
func (e *Evaluator) search(
	ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes selection, found *verdicts,
) ([]Candidate, error) {
	total := len(nodes.indexes)
	offset, enough := e.hooks.GetOffsetAndNumCandidates(int32(total))
	offset, enough = max(offset, 0), max(enough, 1)
	worth := e.withVictims(pod, nodes, int(offset)%total, found)
	if len(worth) == 0 {
		return nil, nil
	}
	budgets, err := e.listBudgets()
	if err != nil {
		return nil, err
	}
	runs := make([]dryRun, len(worth))
	e.known.use(e, state, pod, budgets, func(known []dryRun) {
		e.tryNodes(ctx, state, pod, nodes, worth, enough, budgets, known, runs)
	})
	if err := context.Cause(ctx); err != nil { // nodes that were not looked at must not count as hopeless
		return nil, fmt.Errorf("looking for nodes to preempt on: %w", err)
	}
	return sortOut(runs, worth, int(enough), found)
}

// tryNodes tries nodes, or recalls what came of it before, until there are enough candidates.
func (e *Evaluator) tryNodes(
	ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes selection, worth []int, enough int32,
	budgets []*policyv1.PodDisruptionBudget, known, runs []dryRun,
) {
	var within, beyond atomic.Int32
	searching, stop := context.WithCancel(ctx)
	defer stop()
	try := func(i int) {
		index := worth[i]
		var recalled *dryRun
		if known != nil {
			recalled = &known[nodes.slots[index]]
		}
		runs[i] = e.tryOrRecall(ctx, state, pod, nodes.at(index), budgets, recalled)
		switch run := &runs[i]; {
		case run.victims == nil:
			return
		case run.withinBudgets():
			within.Add(1)
		default:
			beyond.Add(1)
		}
		if within.Load() > 0 && within.Load()+beyond.Load() >= enough {
			stop()
		}
	}
	e.handle.Parallelizer().Until(searching, len(worth), try, e.plugin)
}

// withVictims returns the indexes of the selected nodes, from the one at offset on and around, without those that have no
// pod of lower priority, which are hopeless. Only the default way to find victims is known to need such pods.
func (e *Evaluator) withVictims(pod *v1.Pod, nodes selection, offset int, found *verdicts) []int {
	var lowest []int32
	if lister, ok := e.handle.SnapshotSharedLister().(framework.IndexedSnapshot); ok && nodes.slots != nil {
		if _, ok := e.hooks.(*DefaultHooks); ok {
			lowest = e.lowest.Rows(lister)
		}
	}
	var worth []int
	priority := corev1helpers.PodPriority(pod)
	var hopeless *fwk.Status
	for i := range nodes.indexes {
		index := nodes.indexes[(offset+i)%len(nodes.indexes)]
		if lowest == nil || lowest[nodes.slots[index]] < priority {
			worth = append(worth, index)
			continue
		}
		if hopeless == nil {
			hopeless = fwk.NewStatus(fwk.UnschedulableAndUnresolvable, ReasonNoVictims)
		}
		found.set(index, hopeless)
	}
	return worth
}

// verdicts is why the nodes of a list are no candidates.
type verdicts struct {
	nodes []fwk.NodeInfo
	// which has an index in different plus one for each node; zero for nodes that were not looked at.
	which     []int32
	different []*fwk.Status
}

// set says what is wrong with the node at an index.
func (v *verdicts) set(index int, status *fwk.Status) {
	if v.which == nil {
		v.which = make([]int32, len(v.nodes))
	}
	if last := len(v.different) - 1; last < 0 || v.different[last] != status {
		v.different = append(v.different, status)
	}
	v.which[index] = int32(len(v.different))
}

// statuses returns the verdicts by node. No eviction helps on the nodes that were not looked at.
func (v *verdicts) statuses() *framework.NodeToStatus {
	result := framework.NewNodeStatusList(v.nodes, nil, v.which, v.different)
	result.SetAbsentNodesStatus(fwk.NewStatus(fwk.UnschedulableAndUnresolvable, ReasonNotHelpful))
	return result
}

// tryNode finds the victims on a copy of one node.
func (e *Evaluator) tryNode(
	ctx context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo, budgets []*policyv1.PodDisruptionBudget,
) dryRun {
	run := dryRun{node: node.Node().Name}
	victims, violations, status := e.hooks.SelectVictimsOnNode(ctx, state.Clone(), pod, node.Snapshot(), budgets)
	switch {
	case !status.IsSuccess():
		run.status = status
	case len(victims) == 0:
		run.status = fwk.AsStatus(withoutVictims(run.node))
	default:
		run.victims = &extenderv1.Victims{Pods: victims, NumPDBViolations: int64(violations)}
	}
	return run
}

func withoutVictims(node string) error {
	return fmt.Errorf("expected at least one victim pod on node %q", node)
}

// sortOut makes candidates of the dry runs that found victims, at most enough within the budgets and as many beyond. The
// indexes are those of the nodes that the runs were made on.
func sortOut(runs []dryRun, indexes []int, enough int, found *verdicts) ([]Candidate, error) {
	var within, beyond []Candidate
	var errs []error
	for i := range runs {
		run := &runs[i]
		switch {
		case run.victims == nil && run.status == nil:
		case run.victims == nil:
			found.set(indexes[i], run.status)
			if run.status.IsError() {
				errs = append(errs, run.status.AsError())
			}
		case run.withinBudgets() && len(within) < enough:
			within = append(within, Candidate{Node: run.node, Victims: run.victims})
		case !run.withinBudgets() && len(beyond) < enough:
			beyond = append(beyond, Candidate{Node: run.node, Victims: run.victims})
		}
	}
	candidates := append(within, beyond...)
	if len(candidates) == 0 {
		return nil, utilerrors.NewAggregate(errs) // equal messages count once
	}
	return candidates, nil
}
