// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package preemption

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	listersv1 "k8s.io/client-go/listers/core/v1"
	policylisters "k8s.io/client-go/listers/policy/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/pluginargs"
)

// The reasons that a preemption that comes to nothing gives.
const (
	// reasonNotHelpful is given for the nodes whose rejection no eviction can change.
	reasonNotHelpful = "Preemption is not helpful for scheduling"
	// reasonNoVictims is given for a node without pods that the pod may preempt.
	reasonNoVictims = "No preemption victims found for incoming pod"
	// reasonNoCandidate is given when extenders turned all nodes down.
	reasonNoCandidate = "no candidate node for preemption"
	// reasonNeverPreempts is given for a pod that must not preempt.
	reasonNeverPreempts = "not eligible due to preemptionPolicy=Never."
	// reasonVictimsTerminating is given for a pod whose victims are still ending.
	reasonVictimsTerminating = "not eligible due to a terminating pod on the nominated node."
)

// Options are what an [Evaluator] is built from.
type Options struct {
	// PluginName is the name of the plugin that preempts. It is required.
	PluginName string
	// Handle is what the plugin was built with. It is required, with an informer factory in it.
	//
	// Evictions are started by its method Go(func()), and times come from its method Clock(), where it has them, as that
	// of this module's runtime has; otherwise from the go statement and from the real clock. What its method Metrics()
	// returns is told what happens if it implements [Metrics].
	Handle fwk.Handle
	// Hooks are what the plugin decides itself; nil means [DefaultHooks].
	Hooks Hooks
	// Synchronous has the victims evicted before Preempt returns, instead of in the background.
	Synchronous bool
}

// Evaluator finds out which pods to evict to make room for another, and evicts them. It is safe for concurrent use.
type Evaluator struct {
	plugin  string
	handle  fwk.Handle
	hooks   Hooks
	pods    listersv1.PodLister
	budgets policylisters.PodDisruptionBudgetLister
	evictor *evictor
	metrics Metrics

	// lowest has the lowest priority of the pods on each node.
	lowest  *framework.NodeTable[int32]
	dryRuns dryRunCache
}

// NewEvaluator returns an Evaluator, and has the informer factory follow pods and disruption budgets. It fails if a
// required option is missing.
func NewEvaluator(options Options) (*Evaluator, error) {
	if options.PluginName == "" {
		return nil, errors.New("building a preemption evaluator: Options.PluginName is empty; set it to the name of the plugin")
	}
	informers, err := pluginargs.Informers(options.PluginName, "pods and disruption budgets", options.Handle)
	if err != nil {
		return nil, err
	}
	hooks := options.Hooks
	if hooks == nil {
		hooks = NewDefaultHooks(HooksOptions{Handle: options.Handle})
	}
	pods := informers.Core().V1().Pods().Lister()
	return &Evaluator{
		plugin:  options.PluginName,
		handle:  options.Handle,
		hooks:   hooks,
		pods:    pods,
		budgets: informers.Policy().V1().PodDisruptionBudgets().Lister(),
		evictor: newEvictor(options, pods),
		metrics: metricsOf(options.Handle),
		lowest:  framework.NewNodeTable(lowestPriority),
	}, nil
}

// Candidate is a node on which evicting the victims makes room.
type Candidate struct {
	Node string
	// Victims has at least one pod, the most important first, and how many of them exceed a disruption budget.
	Victims *extenderv1.Victims
}

// Preempt tries to make room for a pod, given what Filter said of each node. It is made to be what PostFilter returns:
//
//   - Success: a node is nominated, and victims are being evicted.
//   - Unschedulable: nothing was done, because nothing helps, the pod may not preempt, or extenders object. Where nothing
//     helps, the result takes back the node that is nominated for the pod, and the plugins that rejected the pod in dry
//     runs are noted in the state; otherwise the result is nil and the nomination stays.
//   - Error: the pod or the nodes could not be looked up, no dry run ended but in an error, an extender failed, or, if
//     synchronous, an eviction did. The plugins of dry runs are noted as before.
func (e *Evaluator) Preempt(
	ctx context.Context, state fwk.CycleState, pod *v1.Pod, statuses fwk.NodeToStatusReader,
) (*fwk.PostFilterResult, *fwk.Status) {
	e.metrics.PreemptionAttempted()
	current, err := e.pods.Pods(pod.Namespace).Get(pod.Name)
	if err != nil {
		return nil, fwk.AsStatus(fmt.Errorf("looking up the pod to preempt for: %w", err))
	}
	pod = current
	if eligible, reason := e.hooks.PodEligibleToPreemptOthers(ctx, pod, statuses.Get(pod.Status.NominatedNodeName)); !eligible {
		return nil, fwk.NewStatus(fwk.Unschedulable, reason)
	}
	candidates, status := e.candidates(ctx, state, pod, statuses)
	switch {
	case status.IsError():
		return nil, status
	case len(candidates) == 0:
		return nominating(""), status
	}
	victims, err := e.askExtenders(ctx, pod, e.hooks.CandidatesToVictimsMap(candidates))
	if err != nil {
		return nil, fwk.AsStatus(err)
	}
	best := e.best(ctx, candidates, victims)
	if best == "" {
		return nil, fwk.NewStatus(fwk.Unschedulable, reasonNoCandidate)
	}
	e.metrics.VictimsChosen(len(victims[best].Pods))
	if err := e.evictor.preempt(ctx, pod, best, victims[best].Pods); err != nil {
		return nil, fwk.AsStatus(err)
	}
	return nominating(best), fwk.NewStatus(fwk.Success,
		fmt.Sprintf("found a potential placement for pod on node %s, preempting %d victims", best, len(victims[best].Pods)))
}

// Preempting reports whether victims of a pod are still being evicted, so that the pod must not be tried again yet. It is
// for PreEnqueue, and cheap enough for that: if it was true when an event would have brought the pod back, the pod is
// activated when the evictions are over.
func (e *Evaluator) Preempting(pod *v1.Pod) bool { return e.evictor.holdBack(pod.UID) }

// nominating is the result that nominates a node, or takes a nomination back.
func nominating(node string) *fwk.PostFilterResult {
	return &fwk.PostFilterResult{NominatingInfo: &fwk.NominatingInfo{NominatingMode: fwk.ModeOverride, NominatedNodeName: node}}
}

// candidates returns the nodes where eviction helps, those first where it stays within the budgets. When there are none,
// the status says why; it is an error if that could not be found out.
func (e *Evaluator) candidates(
	ctx context.Context, state fwk.CycleState, pod *v1.Pod, statuses fwk.NodeToStatusReader,
) ([]Candidate, *fwk.Status) {
	nodes := e.handle.SnapshotSharedLister().NodeInfos()
	all, err := nodes.List()
	if err != nil {
		return nil, fwk.AsStatus(fmt.Errorf("listing nodes to preempt on: %w", err))
	}
	if len(all) == 0 {
		return nil, fwk.AsStatus(errors.New("no nodes available"))
	}
	promising, err := e.promising(nodes, all, statuses)
	if err != nil {
		return nil, fwk.AsStatus(fmt.Errorf("listing nodes to preempt on: %w", err))
	}
	found := &nodeStatuses{nodes: promising.nodes}
	if len(promising.selected) > 0 {
		candidates, err := e.search(ctx, state, pod, promising, found)
		if err != nil {
			framework.AddDryRunRejectors(state, rejectors(found.statuses())...)
			return nil, fwk.AsStatus(err)
		}
		if len(candidates) > 0 {
			return candidates, nil
		}
	}
	diagnosis := framework.Diagnosis{NodeToStatus: found.statuses()}
	framework.AddDryRunRejectors(state, rejectors(diagnosis.NodeToStatus)...)
	fit := &framework.FitError{Pod: pod, NumAllNodes: len(all), Diagnosis: diagnosis}
	return nil, fwk.NewStatus(fwk.Unschedulable, fit.Error())
}

// promising returns the nodes that rejected the pod for a reason that an eviction may remove.
func (e *Evaluator) promising(nodes fwk.NodeInfoLister, all []fwk.NodeInfo, statuses fwk.NodeToStatusReader) (nodeSubset, error) {
	result := nodeSubset{nodes: all}
	indexed, hasIndexes := e.handle.SnapshotSharedLister().(framework.IndexedSnapshot)
	if known, ok := statuses.(*framework.NodeToStatus); ok && hasIndexes {
		if indexes, ok := known.IndexesForStatusCode(all, fwk.Unschedulable); ok {
			result.selected, result.nodeIndexes, result.lister = indexes, indexed.ListOrder(), indexed
			return result, nil
		}
	}
	var err error
	if result.nodes, err = statuses.NodesForStatusCode(nodes, fwk.Unschedulable); err != nil {
		return nodeSubset{}, err
	}
	result.selected = make([]int, len(result.nodes))
	if hasIndexes {
		result.nodeIndexes = make([]int, len(result.nodes))
	}
	for i, node := range result.nodes {
		result.selected[i] = i
		if hasIndexes {
			index, ok := indexed.NodeIndex(node.Node().Name)
			if !ok {
				return nodeSubset{}, fmt.Errorf("node %s is not in the snapshot", node.Node().Name)
			}
			result.nodeIndexes[i] = index
		}
	}
	return result, nil
}

// rejectors returns the plugins that rejected the pod in dry runs, or failed there.
func rejectors(verdicts *framework.NodeToStatus) []string {
	var plugins []string
	verdicts.ForEachStatus(func(status *fwk.Status, _ int) {
		if plugin := status.Plugin(); plugin != "" {
			plugins = append(plugins, plugin)
		}
	})
	return plugins
}

// listBudgets returns all disruption budgets in an order that does not change from one call to the next: where a pod
// belongs to several, the order decides which of them it uses up.
func (e *Evaluator) listBudgets() ([]*policyv1.PodDisruptionBudget, error) {
	budgets, err := e.budgets.List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("listing disruption budgets: %w", err)
	}
	slices.SortFunc(budgets, func(a, b *policyv1.PodDisruptionBudget) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return budgets, nil
}
