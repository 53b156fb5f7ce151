// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"fmt"
	goruntime "runtime"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/internal/lru"
	"github.com/rouse-scheduler/rouse/runtime/internal/verdicts"
)

// defaultVerdictCacheBytes is how many bytes of verdicts, scores and counts are kept when the options don't say.
const defaultVerdictCacheBytes = 128 << 20

// NominatedNodes is an optional interface of a fwk.PodNominator. [Framework.Search] needs it, so that it need not ask
// about every node whether pods are nominated for it.
type NominatedNodes interface {
	// NominatedNodes returns the names of the nodes that pods are nominated for.
	NominatedNodes() []string
}

// SearchOptions say which nodes [Framework.Search] compares, and how it chooses among equals.
type SearchOptions struct {
	// Pick returns the index of one of count equally good nodes. It must not be nil, unless there is an Order.
	Pick func(count int) int
	// Order has a number for each node index. Where it is not nil, the node with the lowest of equally good ones is chosen.
	Order []int
	// Sample is how many nodes that take the pod are enough (kube-scheduler: percentageOfNodesToScore); zero stands for all.
	// They are the first ones from position Start of the snapshot's list on.
	Sample, Start int
	// Limit, without a sample, is about how many nodes plugins without keys ([framework.FilterKeyPlugin],
	// [framework.ScoreKeyPlugin]) are asked about: those that the other plugins score highest come first. Zero stands for all.
	// It does not limit Filter plugins where no other plugin's score depends on which nodes they reject.
	Limit int
}

// Choice is what [Framework.Search] found.
type Choice struct {
	// Node is the name of the best node; empty if no node takes the pod.
	Node string
	// Feasible is how many nodes are known to take the pod: all that do, or fewer if not all were asked about.
	Feasible int
	// Checked is how many nodes of the snapshot's list were looked at for a sample, from Start on.
	Checked int
	// Rejections has the reason of every node, if no node takes the pod; otherwise it is nil.
	Rejections *framework.NodeToStatus
}

// cacheable is what the store of a [verdictCache] holds: the verdicts or scores of one plugin, combined verdicts, a score cache.
type cacheable interface{ Bytes() int }

// The keys of the store begin with what they are of.
const (
	keyOfVerdicts byte = iota // of one Filter plugin
	keyOfCombinedVerdicts
	keyOfNominatedNodes // combined verdicts on nodes with nominated pods
	keyOfScores         // of one Score plugin
	keyOfScoreCache
	keyOfGroups
	keyOfGroupTotals // a score cache by groups
)

// verdictCache is what a framework keeps about nodes from one cycle to the next, and the working space of a cycle. The lock
// guards all of it; it is held over a whole search.
type verdictCache struct {
	mu         sync.Mutex
	changes    verdicts.ChangeLog
	store      lru.Cache[cacheable]
	budget     *lru.Budget // of the store and what plugins keep
	rejections verdicts.StatusTable
	rejectors  []int // the indexes of the Filter plugins that the rejections are of
	// roles is what the plugins offer beyond the official interfaces.
	filters []filterRole
	scorers []scorerRole
	// plainPreScore reports whether a PreScore plugin must be shown the nodes that take the pod.
	plainPreScore bool
	// needsNodes reports whether a Score or PreScore plugin must be asked about, or shown, nodes that take the pod.
	needsNodes bool
	metrics    VerdictCacheMetrics // may be nil
	// workers are as many as can run at a time: more would only get in each other's way.
	workers *Parallelizer

	combinedKey, scoresKey, storeKey []byte
	allIndexes                       []int // 0, 1, 2, ...
	changed                          []int
	unknown                          []int
	answers                          []*fwk.Status
	scores                           []int64
	sums                             []int64
	verdicts                         []verdicts.Verdict
	indexes                          []int
	remaining                        []int
	unasked                          []int
	groups                           framework.NodeGroups
	candidates                       groupCandidates
	bestFirst                        verdicts.BestFirst
	totals                           []int64
	totalsOfUnseen                   verdicts.WinnerTree
	exceptions                       []groupException
	// asked is what came of asking about nodes in this search, by node index; askedNodes are those with a known verdict.
	asked      []verdicts.Verdict
	askedNodes []int
	// turn is the node index at which the last search for a few nodes ended.
	turn  int
	names nodeNames
	// checkedNode is the position in the list of the node that was last checked for changes that plugins make, and checkedPass counts how often plugins
	// that are checked were asked about nodes.
	checkedNode, checkedPass int
}

// nodeNames are the names of the nodes of a snapshot, in the order of its list.
type nodeNames struct {
	order []int
	names []string
}

// of returns the names of the nodes in their order, which may be the same as before, with nodes replaced by others of the
// same name. They are made once, and may be kept.
func (n *nodeNames) of(nodes framework.IndexedSnapshot) []string {
	order := nodes.ListOrder()
	if len(order) == 0 {
		return nil
	}
	if len(n.order) != len(order) || &n.order[0] != &order[0] {
		n.order, n.names = order, make([]string, len(order))
		for i, nodeIndex := range order {
			n.names[i] = nodes.NodeAt(nodeIndex).Node().Name
		}
	}
	return n.names
}

// filterRole is what a Filter plugin offers to a search; each may be nil.
type filterRole struct {
	key     framework.FilterKeyPlugin
	batch   framework.BatchFilterPlugin
	groups  framework.FilterGroupsPlugin
	changed framework.ChangedNodesPlugin
}

// scorerRole is what a Score plugin offers to a search; each may be nil.
type scorerRole struct {
	key    framework.ScoreKeyPlugin
	batch  framework.BatchScorePlugin
	all    framework.ScoreAllPlugin
	groups framework.ScoreGroupsPlugin
}

// cachedSearch is one search for the node of a pod.
type cachedSearch struct {
	f     *Framework
	cache *verdictCache
	ctx   context.Context
	state fwk.CycleState
	pod   *v1.Pod
	nodes framework.IndexedSnapshot

	combined    *combinedVerdicts
	combinedKey []byte
	// rest are the Filter plugins that are not part of the combined verdicts, as indexes in Framework.filter. hasKeyless
	// reports whether any of them has no key.
	rest       []int
	hasKeyless bool
	// askedFirst are those that stood before rest, and were asked about all nodes; see askInTree.
	askedFirst []int
	nominated  []nominatedNode
	// failed reports that a plugin failed that is part of the combined verdicts, so that rest has all plugins.
	failed bool
	// askingForChanges is set while a plugin says which nodes changed, which it says only once.
	askingForChanges bool
	// snapshotOnly reports whether some answers can be kept only about nodes as they are in the snapshot.
	snapshotOnly bool
	// filteredFurther reports whether remaining, instead of combined, has the nodes that take the pod.
	filteredFurther bool
	remaining       []int
	// verdicts says why nodes don't take the pod; see explain.
	verdicts []verdicts.Verdict
	// checked are objects that plugins must leave as they are in this search; nil until a plugin is checked.
	checked []checkedObject
}

// prepareSearch sets up the caches of Search, and records which optional interfaces the plugins implement.
func (f *Framework) prepareSearch() {
	c := &f.cache
	c.budget = lru.BudgetOf(f.options.Snapshot, f.options.VerdictCacheBytes)
	c.store.Join(c.budget, &c.mu)
	c.metrics, _ = f.options.Metrics.(VerdictCacheMetrics)
	c.workers = NewParallelizer(min(f.parallelizer.parallelism, goruntime.GOMAXPROCS(0)), f.options.Metrics)
	for i := range f.filter {
		var role filterRole
		role.key, _ = f.filter[i].plugin.(framework.FilterKeyPlugin)
		role.batch, _ = f.filter[i].plugin.(framework.BatchFilterPlugin)
		role.groups, _ = f.filter[i].plugin.(framework.FilterGroupsPlugin)
		role.changed, _ = f.filter[i].plugin.(framework.ChangedNodesPlugin)
		c.filters = append(c.filters, role)
	}
	for i := range f.score {
		var role scorerRole
		role.key, _ = f.score[i].plugin.(framework.ScoreKeyPlugin)
		role.batch, _ = f.score[i].plugin.(framework.BatchScorePlugin)
		role.all, _ = f.score[i].plugin.(framework.ScoreAllPlugin)
		role.groups, _ = f.score[i].plugin.(framework.ScoreGroupsPlugin)
		c.scorers = append(c.scorers, role)
	}
	for i := range f.preScore {
		c.plainPreScore = c.plainPreScore || c.roleOf(f, f.preScore[i].name).plain()
	}
	c.needsNodes = c.plainPreScore || slices.ContainsFunc(c.scorers, func(role scorerRole) bool { return role.plain() })
}

// CanSearch reports whether [Framework.Search] works with the snapshot and the nominator that the framework was given.
func (f *Framework) CanSearch() bool {
	_, indexed := f.options.Snapshot.(framework.IndexedSnapshot)
	_, nominated := f.options.Nominator.(NominatedNodes)
	return indexed && nominated
}

// Search finds the best node for a pod for which PreFilter has run. It comes to the same as asking the Filter
// plugins about every node, nominated pods included, and then PreScore, Score and NormalizeScore about those that are
// left; but what plugins with a key said before (see [framework.FilterKeyPlugin]) is not asked again, and where all
// plugins have one, the cost follows the number of nodes that changed. Plugins without a key are asked last, about as few nodes
// as can be.
//
// The status is nil or an Error. Searches of a framework run one at a time; the snapshot must not be updated meanwhile.
func (f *Framework) Search(ctx context.Context, state fwk.CycleState, pod *v1.Pod, options SearchOptions) (Choice, *fwk.Status) {
	var choice Choice
	status := f.withSearch(ctx, state, pod, func(s *cachedSearch) (failure *fwk.Status) {
		if options.Sample > 0 {
			choice, failure = s.chooseFromSample(options)
			return failure
		}
		if options.Limit > 0 {
			failure = s.askInTree()
		}
		switch {
		case failure != nil:
		case s.mayAskFew() && (s.hasKeyless || len(s.nominated) > 0 || s.cache.needsNodes):
			choice, failure = s.chooseBestFirst(options)
		default:
			choice, failure = s.chooseFromAll(options)
		}
		return failure
	})
	if status != nil {
		return Choice{}, status
	}
	return choice, nil
}

// chooseFromAll compares all nodes that take the pod.
func (s *cachedSearch) chooseFromAll(options SearchOptions) (choice Choice, failure *fwk.Status) {
	if failure := s.askAll(); failure != nil {
		return choice, failure
	}
	choice.Feasible = s.feasible()
	if choice.Feasible == 0 || s.mayFail() {
		if failure := s.explain(); failure != nil {
			return choice, failure
		}
	}
	switch choice.Feasible {
	case 0:
		choice.Rejections = s.rejections()
	case 1:
		choice.Node = s.nameAt(s.feasibleIndexes()[0])
	default:
		choice.Node, failure = s.best(options.chooser())
	}
	return choice, failure
}

// mayFail reports whether a plugin may fail on a node that one after it rejects.
func (s *cachedSearch) mayFail() bool {
	return !s.mayAskFew() && s.combined.accepted < s.nodes.NodeCount()
}

// reject returns why nodes don't take the pod, for every node that does not.
func (s *cachedSearch) reject() (*framework.NodeToStatus, *fwk.Status) {
	if failure := s.askAll(); failure != nil {
		return nil, failure
	}
	if failure := s.explain(); failure != nil {
		return nil, failure
	}
	return s.rejections(), nil
}

// Totals returns the total score of every node that takes the pod, and why the others don't, which is what Search
// decides by. It takes as long as there are nodes.
func (f *Framework) Totals(ctx context.Context, state fwk.CycleState, pod *v1.Pod) (map[string]int64, *framework.NodeToStatus, *fwk.Status) {
	totals := map[string]int64{}
	var rejections *framework.NodeToStatus
	status := f.withSearch(ctx, state, pod, func(s *cachedSearch) *fwk.Status {
		var failure *fwk.Status
		if rejections, failure = s.reject(); failure != nil || s.feasible() == 0 {
			return failure
		}
		nodeIndexes := slices.Clone(s.feasibleIndexes())
		scores, others, failure := s.startScores()
		if failure != nil {
			return failure
		}
		sums, failure := s.finishScores(scores, others, nodeIndexes)
		if failure != nil {
			return failure
		}
		for i, nodeIndex := range nodeIndexes {
			totals[s.nameAt(nodeIndex)] = sums[i]
		}
		return nil
	})
	if status != nil {
		return nil, nil, status
	}
	return totals, rejections, nil
}

// withSearch filters the nodes, then calls do. Where a plugin ends the goroutine meanwhile, or fails to say which nodes changed,
// what was known from searches before is forgotten, because some of it may be half done or out of date.
func (f *Framework) withSearch(ctx context.Context, state fwk.CycleState, pod *v1.Pod, do func(*cachedSearch) *fwk.Status) *fwk.Status {
	c := &f.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	s, failure := f.startSearch(ctx, state, pod)
	if failure != nil {
		return failure
	}
	complete := false
	defer func() {
		if !complete {
			c.store.Clear()
		}
		c.end()
	}()
	if failure = s.filter(); failure == nil {
		failure = do(s)
	}
	complete = !s.askingForChanges
	return failure
}

func (f *Framework) startSearch(ctx context.Context, state fwk.CycleState, pod *v1.Pod) (*cachedSearch, *fwk.Status) {
	nodes, ok := f.options.Snapshot.(framework.IndexedSnapshot)
	if !ok {
		return nil, fwk.AsStatus(fmt.Errorf("searching all nodes: a snapshot of type %T has no node indexes; ask CanSearch first", f.options.Snapshot))
	}
	c := &f.cache
	if c.rejections.Full() {
		c.rejections, c.rejectors = verdicts.StatusTable{}, nil
		c.store.Clear()
	}
	c.changes.CatchUp(nodes)
	return &cachedSearch{f: f, cache: c, ctx: ctx, state: state, pod: pod, nodes: nodes}, nil
}

// leave gives the room of the caches back to other frameworks.
func (c *verdictCache) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.store.Leave()
}

// end ends a search: what was not used for long makes room.
func (c *verdictCache) end() {
	c.forgetAsked()
	c.store.EndCycle()
	if c.metrics != nil {
		c.metrics.VerdictCacheBytes(c.budget.Used())
	}
}

func (s *cachedSearch) changes() *verdicts.ChangeLog { return &s.cache.changes }

// changedSince returns the distinct indexes of the nodes that changed from a position of the log on; all nodes, and false, if that is
// too long ago. The result is good until the next call.
func (s *cachedSearch) changedSince(position int) ([]int, bool) {
	changed, ok := s.changes().Since(position)
	if !ok || len(changed) > s.nodes.IndexCount() {
		return s.allNodes(), false
	}
	s.cache.changed = append(s.cache.changed[:0], changed...)
	slices.Sort(s.cache.changed)
	s.cache.changed = slices.Compact(s.cache.changed)
	return s.cache.changed, true
}

func (s *cachedSearch) allNodes() []int {
	c := s.cache
	for len(c.allIndexes) < s.nodes.IndexCount() {
		c.allIndexes = append(c.allIndexes, len(c.allIndexes))
	}
	return c.allIndexes[:s.nodes.IndexCount()]
}

// bytesOfShape is about what is kept for the pods of a shape that differs from others in its requests: for every node two
// verdicts, two scores, and what the score cache has.
func (s *cachedSearch) bytesOfShape() int { return 42 * s.nodes.IndexCount() }

func (s *cachedSearch) nameAt(nodeIndex int) string { return s.nodes.NodeAt(nodeIndex).Node().Name }

// feasible is how many nodes take the pod.
func (s *cachedSearch) feasible() int {
	if s.filteredFurther {
		return len(s.remaining)
	}
	return s.combined.accepted
}

// feasibleIndexes returns the indexes of the nodes that take the pod.
func (s *cachedSearch) feasibleIndexes() []int {
	if !s.filteredFurther {
		s.cache.indexes = s.combined.acceptedNodes(s.cache.indexes[:0], s.allNodes())
		return s.cache.indexes
	}
	return s.remaining
}

// rejections returns why nodes don't take the pod, after explain. It does not change when cached verdicts do.
func (s *cachedSearch) rejections() *framework.NodeToStatus {
	list, _ := s.nodes.NodeInfos().List() // a list by node index never fails
	byPosition := make([]int32, len(list))
	for i, nodeIndex := range s.nodes.ListOrder() {
		if v := s.verdicts[nodeIndex]; v >= verdicts.FirstRejection {
			byPosition[i] = int32(v-verdicts.FirstRejection) + 1
		}
	}
	return framework.NewNodeStatusList(list, s.cache.names.of(s.nodes), byPosition, s.cache.rejections.Statuses)
}

// sized returns working space of a length, with anything in it, in place of s if that is large enough.
func sized[T any](s []T, length int) []T { return slices.Grow(s[:0], length)[:length] }
