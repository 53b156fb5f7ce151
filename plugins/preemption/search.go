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

// search looks for victims on the nodes, in parallel, until there are enough candidates and one of them stays within the
// budgets. Those that do come first. What is wrong with the other nodes that were looked at is written to verdicts.
// Nodes where the dry run failed are passed over; it is an error only if that leaves no candidate.
func (e *Evaluator) search(
	ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo, budgets []*policyv1.PodDisruptionBudget,
	verdicts *framework.NodeToStatus,
) ([]Candidate, error) {
	offset, enough := e.hooks.GetOffsetAndNumCandidates(int32(len(nodes)))
	offset, enough = max(offset, 0), max(enough, 1)
	runs := make([]dryRun, len(nodes))
	var within, beyond atomic.Int32
	searching, stop := context.WithCancel(ctx)
	defer stop()
	try := func(i int) {
		runs[i] = e.tryNode(ctx, state, pod, nodes[(int(offset)+i)%len(nodes)], budgets)
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
	e.handle.Parallelizer().Until(searching, len(nodes), try, e.plugin)
	if err := context.Cause(ctx); err != nil { // nodes that were not looked at must not count as hopeless
		return nil, fmt.Errorf("looking for nodes to preempt on: %w", err)
	}
	return sortOut(runs, int(enough), verdicts)
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

// sortOut makes candidates of the dry runs that found victims, at most enough within the budgets and as many beyond.
func sortOut(runs []dryRun, enough int, verdicts *framework.NodeToStatus) ([]Candidate, error) {
	var within, beyond []Candidate
	var errs []error
	for i := range runs {
		run := &runs[i]
		switch {
		case run.victims == nil && run.status == nil:
		case run.victims == nil:
			verdicts.Set(run.node, run.status)
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
