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

// nodeSubset is some of a list of nodes.
type nodeSubset struct {
	nodes []fwk.NodeInfo
	// lister has the nodes by node index; nil where nodes is a list of its own, which no plugin has changed.
	lister framework.IndexedSnapshot
	// nodeIndexes are those of all the nodes in the snapshot; nil if it has none.
	nodeIndexes []int
	// indexes are the places in the list of the nodes that are selected.
	selected []int
}

// at returns the node at an index.
func (s *nodeSubset) at(index int) fwk.NodeInfo {
	if s.lister != nil {
		return s.lister.NodeAt(s.nodeIndexes[index])
	}
	return s.nodes[index]
}

// search looks for victims on the selected nodes, in parallel, until there are enough candidates and one of them stays
// within the budgets. Those that do come first. If there are none, what is wrong with the nodes is written to found.
// Nodes where the dry run failed are passed over; it is an error only if that leaves no candidate.
func (e *Evaluator) search(
	ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes nodeSubset, found *nodeStatuses,
) ([]Candidate, error) {
	total := len(nodes.selected)
	offset, enough := e.hooks.GetOffsetAndNumCandidates(int32(total))
	offset, enough = max(offset, 0), max(enough, 1)
	promising := e.nodesWithVictims(pod, nodes, int(offset)%total, found)
	if len(promising) == 0 {
		return nil, nil
	}
	budgets, err := e.listBudgets()
	if err != nil {
		return nil, err
	}
	runs := make([]dryRun, len(promising))
	e.dryRuns.use(e, state, pod, budgets, func(known []dryRun) {
		e.dryRunNodes(ctx, state, pod, nodes, promising, enough, budgets, known, runs)
	})
	if err := context.Cause(ctx); err != nil { // nodes that were not looked at must not count as rejected
		return nil, fmt.Errorf("looking for nodes to preempt on: %w", err)
	}
	return candidatesOf(runs, promising, int(enough), found)
}

// dryRunNodes tries nodes, or recalls what came of it before, until there are enough candidates.
func (e *Evaluator) dryRunNodes(
	ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes nodeSubset, promising []int, enough int32,
	budgets []*policyv1.PodDisruptionBudget, known, runs []dryRun,
) {
	var within, beyond atomic.Int32
	searching, stop := context.WithCancel(ctx)
	defer stop()
	try := func(i int) {
		index := promising[i]
		var cached *dryRun
		if known != nil {
			cached = &known[nodes.nodeIndexes[index]]
		}
		runs[i] = e.dryRunCached(ctx, state, pod, nodes.at(index), budgets, cached)
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
	e.handle.Parallelizer().Until(searching, len(promising), try, e.plugin)
}

// nodesWithVictims returns the indexes of the selected nodes, from the one at offset on and around, without those that have no
// pod of lower priority: eviction cannot help there. Only the default way to find victims is known to need such pods.
func (e *Evaluator) nodesWithVictims(pod *v1.Pod, nodes nodeSubset, offset int, found *nodeStatuses) []int {
	var lowest []int32
	if lister, ok := e.handle.SnapshotSharedLister().(framework.IndexedSnapshot); ok && nodes.nodeIndexes != nil {
		if _, ok := e.hooks.(*DefaultHooks); ok {
			lowest = e.lowest.Rows(lister)
		}
	}
	var promising []int
	priority := corev1helpers.PodPriority(pod)
	var noVictims *fwk.Status
	for i := range nodes.selected {
		index := nodes.selected[(offset+i)%len(nodes.selected)]
		if lowest == nil || lowest[nodes.nodeIndexes[index]] < priority {
			promising = append(promising, index)
			continue
		}
		if noVictims == nil {
			noVictims = fwk.NewStatus(fwk.UnschedulableAndUnresolvable, reasonNoVictims)
		}
		found.set(index, noVictims)
	}
	return promising
}

// nodeStatuses is why the nodes of a list are no candidates.
type nodeStatuses struct {
	nodes []fwk.NodeInfo
	// which has an index in different plus one for each node; zero for nodes that were not looked at.
	numbers   []int32
	different []*fwk.Status
}

// set says what is wrong with the node at an index.
func (v *nodeStatuses) set(index int, status *fwk.Status) {
	if v.numbers == nil {
		v.numbers = make([]int32, len(v.nodes))
	}
	if last := len(v.different) - 1; last < 0 || v.different[last] != status {
		v.different = append(v.different, status)
	}
	v.numbers[index] = int32(len(v.different))
}

// statuses returns the verdicts by node. No eviction helps on the nodes that were not looked at.
func (v *nodeStatuses) statuses() *framework.NodeToStatus {
	result := framework.NewNodeStatusList(v.nodes, nil, v.numbers, v.different)
	result.SetAbsentNodesStatus(fwk.NewStatus(fwk.UnschedulableAndUnresolvable, reasonNotHelpful))
	return result
}

// dryRun finds the victims on a copy of one node.
func (e *Evaluator) dryRun(
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

// candidatesOf makes candidates of the dry runs that found victims, at most enough within the budgets and as many beyond. The
// indexes are those of the nodes that the runs were made on.
func candidatesOf(runs []dryRun, indexes []int, enough int, found *nodeStatuses) ([]Candidate, error) {
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
