// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/runtime"
)

// nodeSearch is the search for the node of one pod.
type nodeSearch struct {
	*attempt
	all       candidates
	diagnosis framework.Diagnosis
	// rejectedInPreFilter is set if a PreFilter plugin turned the pod down for all nodes at once.
	rejectedInPreFilter bool
}

// candidates are nodes to look at, in an order that stays as it is if plugins sort the lists that they are given.
type candidates struct {
	count int
	at    func(i int) fwk.NodeInfo
}

func candidatesOf(nodes []fwk.NodeInfo) candidates {
	return candidates{count: len(nodes), at: func(i int) fwk.NodeInfo { return nodes[i] }}
}

// allNodes returns all nodes of the snapshot as candidates.
func (s *Scheduler) allNodes() candidates {
	order := s.snapshot.ListOrder()
	return candidates{count: len(order), at: func(i int) fwk.NodeInfo { return s.snapshot.NodeAt(order[i]) }}
}

// findNode chooses the node for a pod. If there is none, it runs the PostFilter plugins.
func (s *Scheduler) findNode(ctx context.Context, a *attempt) (string, *failure) {
	all := s.allNodes()
	if all.count == 0 {
		return "", failed(fwk.NewStatus(fwk.UnschedulableAndUnresolvable).WithError(framework.ErrNoNodesAvailable))
	}
	search := &nodeSearch{attempt: a, all: all}
	search.diagnosis.NodeToStatus = framework.NewDefaultNodeToStatus()
	node, status := s.bestNode(ctx, search)
	switch {
	case status.IsError():
		return "", failed(status)
	case node == "":
		return "", s.postFilter(ctx, search)
	}
	return node, nil
}

// bestNode returns the name of the best node, empty if no node is feasible (kube-scheduler: schedulePod). The status is an
// error or nil.
func (s *Scheduler) bestNode(ctx context.Context, search *nodeSearch) (string, *fwk.Status) {
	result, status, narrowing := search.profile.RunPreFilterPlugins(ctx, search.state, search.pod)
	// A plugin that left nodes out counts as a rejector. As in kube-scheduler, it is the same set as
	// that of all rejectors: the reason of the nodes left out also names those that reject the nominated node.
	search.diagnosis.UnschedulablePlugins = narrowing
	if status.IsRejected() {
		search.rejectAll(status)
		return "", nil
	}
	if !status.IsSuccess() {
		return "", status
	}
	if feasible := s.tryNominatedNode(ctx, search); len(feasible) > 0 {
		return s.selectNode(ctx, search, feasible)
	}
	if result.AllNodes() && s.canUseVerdictCaches(search) {
		return s.searchVerdictCaches(ctx, search)
	}
	feasible, status := s.feasibleNodes(ctx, search, result, narrowing)
	if status.IsError() || len(feasible) == 0 {
		return "", status
	}
	return s.selectNode(ctx, search, feasible)
}

// canUseVerdictCaches reports whether runtime's Search can choose the node: nothing else has a say, as extenders have.
func (s *Scheduler) canUseVerdictCaches(search *nodeSearch) bool {
	return !s.options.Features.DisableVerdictCaches && len(s.options.Extenders) == 0 && search.profile.CanSearch()
}

// searchVerdictCaches has the framework choose the node by the plugins' cached verdicts and scores: runtime.Framework.Search
// runs plugins only for nodes that changed. This is the default path.
func (s *Scheduler) searchVerdictCaches(ctx context.Context, search *nodeSearch) (string, *fwk.Status) {
	options := runtime.SearchOptions{Pick: s.random.IntN, Start: s.nextStart}
	if enough := s.numFeasibleNodesToFind(search, search.all.count); enough < search.all.count {
		options.Sample = enough
	} else if s.percentage(search) == 0 {
		options.Limit = nodesToFind(adaptivePercentage(search.all.count), search.all.count)
	}
	choice, status := search.profile.Search(ctx, search.state, search.pod, options)
	if status.IsError() {
		return "", status
	}
	s.nextStart = (s.nextStart + choice.Checked) % search.all.count
	if choice.Feasible == 0 {
		search.diagnosis.NodeToStatus = choice.Rejections
		choice.Rejections.ForEachStatus(func(status *fwk.Status, _ int) { search.diagnosis.AddPluginStatus(status) })
	}
	return choice.Node, nil
}

// feasibleNodes returns feasible nodes, not necessarily all of them (kube-scheduler: findNodesThatFitPod). The status is
// an error or nil.
func (s *Scheduler) feasibleNodes(ctx context.Context, search *nodeSearch, result *fwk.PreFilterResult, narrowing sets.Set[string]) ([]fwk.NodeInfo, *fwk.Status) {
	candidates := search.all
	if !result.AllNodes() {
		candidates = s.namedNodes(result.NodeNames, search.all)
		search.diagnosis.NodeToStatus.SetAbsentNodesStatus(fwk.NewStatus(fwk.UnschedulableAndUnresolvable,
			fmt.Sprintf("node(s) didn't satisfy plugin(s) [%s]", strings.Join(sets.List(narrowing), " "))))
	}
	feasible, status := s.checkNodes(ctx, search, candidates, s.nextStart, s.numFeasibleNodesToFind(search, candidates.count))
	s.nextStart = (s.nextStart + len(feasible) + search.diagnosis.NodeToStatus.Len()) % search.all.count
	if status.IsError() {
		return nil, status
	}
	return s.filterThroughExtenders(ctx, search, feasible)
}

// rejectAll records that PreFilter turned the pod down for all nodes at once.
func (s *nodeSearch) rejectAll(status *fwk.Status) {
	s.rejectedInPreFilter = true
	s.diagnosis.NodeToStatus.SetAbsentNodesStatus(status)
	s.diagnosis.PreFilterMsg = status.Message()
	s.diagnosis.AddPluginStatus(status)
}

// tryNominatedNode returns the node that was nominated for the pod if it is feasible; no other node is then looked at
// (kube-scheduler: evaluateNominatedNode).
func (s *Scheduler) tryNominatedNode(ctx context.Context, search *nodeSearch) []fwk.NodeInfo {
	nominated := search.pod.Status.NominatedNodeName
	if nominated == "" {
		return nil
	}
	node, err := s.snapshot.NodeInfos().Get(nominated)
	if err != nil {
		s.options.Logger.V(2).Info("The nominated node is gone", "pod", klog.KObj(search.pod), "node", nominated)
		return nil
	}
	feasible, status := s.checkNodes(ctx, search, candidatesOf([]fwk.NodeInfo{node}), 0, 1)
	if !status.IsError() {
		feasible, status = s.filterThroughExtenders(ctx, search, feasible)
	}
	if status.IsError() {
		s.options.Logger.Error(status.AsError(), "Evaluating the nominated node failed; trying all nodes",
			"pod", klog.KObj(search.pod), "node", nominated)
		return nil
	}
	return feasible
}

// namedNodes returns the nodes with the given names in the order of all nodes, so that equal input gives equal
// results.
func (s *Scheduler) namedNodes(names sets.Set[string], all candidates) candidates {
	nodes := make([]fwk.NodeInfo, 0, len(names))
	if len(names) == 1 {
		for name := range names {
			if node, err := s.snapshot.NodeInfos().Get(name); err == nil {
				nodes = append(nodes, node)
			}
		}
		return candidatesOf(nodes)
	}
	for i := range all.count {
		if node := all.at(i); names.Has(node.Node().Name) {
			nodes = append(nodes, node)
		}
	}
	return candidatesOf(nodes)
}

// checkNodes (kube-scheduler: findNodesThatPassFilters) runs the Filter plugins on the candidates, beginning at start
// and wrapping around, until enough of them take the pod. Rejections go to the diagnosis. The feasible nodes are in the
// order of the search, which with more than one worker need not be the first ones.
func (s *Scheduler) checkNodes(ctx context.Context, search *nodeSearch, candidates candidates, start, enough int) (_ []fwk.NodeInfo, status *fwk.Status) {
	if candidates.count == 0 {
		return nil, nil
	}
	began := s.clock.Now()
	defer func() { search.profile.ObserveFilter(status.Code(), s.clock.Since(began)) }()
	results := s.clearFilterResults(candidates.count)
	var found atomic.Int64
	var broken atomic.Pointer[fwk.Status]
	searching, stop := context.WithCancel(ctx)
	defer stop()
	check := func(i int) {
		node := candidates.at((start + i) % candidates.count)
		status := search.profile.RunFilterPluginsWithNominatedPods(searching, search.state, search.pod, node)
		switch {
		case status.IsSuccess():
			if found.Add(1) >= int64(enough) {
				stop()
			}
		case status.IsError():
			// Once the search is over, plugins that heed the context fail, and it no longer matters.
			if searching.Err() == nil {
				broken.CompareAndSwap(nil, status)
				stop()
			}
			return
		}
		results[i] = filterResult{node: node, status: status}
	}
	search.profile.Parallelizer().Until(searching, candidates.count, check, "Filter")
	if status := broken.Load(); status != nil {
		return nil, status
	}
	if err := context.Cause(ctx); err != nil { // nodes that were not looked at must not count as rejected
		return nil, fwk.AsStatus(fmt.Errorf("looking for nodes that fit: %w", err))
	}
	feasible := make([]fwk.NodeInfo, 0, min(int(found.Load()), enough))
	for _, v := range results {
		switch {
		case v.node == nil:
		case !v.status.IsSuccess():
			search.diagnosis.NodeToStatus.Set(v.node.Node().Name, v.status)
			search.diagnosis.AddPluginStatus(v.status)
		case len(feasible) < enough:
			feasible = append(feasible, v.node)
		}
	}
	return feasible, nil
}

// filterResult is the result of the Filter plugins for a node; the zero value means that they did not run.
type filterResult struct {
	node   fwk.NodeInfo
	status *fwk.Status
}

// clearFilterResults returns n zero results, in the same memory in every cycle.
func (s *Scheduler) clearFilterResults(n int) []filterResult {
	clear(s.filterResults)
	s.filterResults = slices.Grow(s.filterResults[:0], n)[:n]
	return s.filterResults
}

// minNodesToFind is the number of nodes below which a share of them is not enough.
const minNodesToFind = 100

// numFeasibleNodesToFind (kube-scheduler has the same name) returns how many feasible nodes are enough: one when nothing
// compares them, otherwise the configured share of the candidates, all of them by default.
func (s *Scheduler) numFeasibleNodesToFind(search *nodeSearch, candidates int) int {
	if !search.profile.Has(profiles.Score) && !s.hasExtender(fwk.Extender.IsFilter) && !s.hasExtender(fwk.Extender.IsPrioritizer) {
		return 1
	}
	return nodesToFind(s.percentage(search), candidates)
}

func nodesToFind(percentage, candidates int) int {
	if percentage == 0 || candidates < minNodesToFind {
		return candidates
	}
	return max(candidates*percentage/100, minNodesToFind)
}

// adaptivePercentage is the share of nodes that kube-scheduler looks at if the configuration does not say: half of them in a
// small cluster, and ever less down to a twentieth. Here only plugins without keys are asked about no more.
func adaptivePercentage(nodes int) int { return max(50-nodes/125, 5) }

// percentage is the share of nodes that the configuration asks to look at, zero if it does not say.
func (s *Scheduler) percentage(search *nodeSearch) int {
	if own := search.profile.PercentageOfNodesToScore(); own != nil {
		return int(*own)
	}
	return int(s.options.Configuration.PercentageOfNodesToScore)
}

// postFilter runs the PostFilter plugins and returns the failure of a pod for which no node is feasible.
func (s *Scheduler) postFilter(ctx context.Context, search *nodeSearch) *failure {
	fit := &framework.FitError{Pod: search.pod, NumAllNodes: search.all.count, Diagnosis: search.diagnosis}
	rejected := func() *fwk.Status { return fwk.NewStatus(fwk.Unschedulable).WithError(fit) }
	if !search.profile.Has(profiles.PostFilter) {
		return failed(rejected())
	}
	result, status := search.profile.RunPostFilterPlugins(ctx, search.state, search.pod, search.diagnosis.NodeToStatus)
	fit.Diagnosis.PostFilterMsg = status.Message()
	if status.IsError() {
		s.options.Logger.Error(status.AsError(), "Running the PostFilter plugins failed", "pod", klog.KObj(search.pod), "plugin", status.Plugin())
		// No event says that it would not fail again, so that the pod is also tried again after its backoff. After a rejection in
		// PreFilter it fails as long as that stands, since dry runs lack what the other plugins prepare.
		if !search.rejectedInPreFilter {
			s.queue.Activate(s.options.Logger, map[string]*v1.Pod{podKey(search.pod): search.info.Pod})
		}
	}
	f := &failure{status: rejected()}
	if result != nil {
		f.nomination = result.NominatingInfo
	}
	return f
}
