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

// DefaultVerdictCacheBytes is how many bytes of verdicts and scores a framework keeps when the options don't say.
const DefaultVerdictCacheBytes = 128 << 20

// NominatedNodes is an optional interface of a fwk.PodNominator. [Framework.Search] needs it, so that it need not ask
// about every node whether pods are nominated for it.
type NominatedNodes interface {
	// NominatedNodes returns the names of the nodes that pods are nominated for.
	NominatedNodes() []string
}

// Choice is what [Framework.Search] found.
type Choice struct {
	// Node is the name of the best node; empty if no node takes the pod.
	Node string
	// Feasible is how many nodes take the pod.
	Feasible int
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
)

// verdictCache is what a framework keeps about nodes from one cycle to the next, and the working space of a cycle. The lock
// guards all of it; it is held over a whole search.
type verdictCache struct {
	mu         sync.Mutex
	changes    verdicts.ChangeLog
	store      lru.Cache[cacheable]
	rejections verdicts.StatusTable
	// roles is what the plugins offer beyond the official interfaces.
	filters []filterRole
	scorers []scorerRole
	metrics VerdictCacheMetrics // may be nil
	// workers are as many as can run at a time: more would only get in each other's way.
	workers *Parallelizer

	combinedKey, scoresKey, pluginKey, storeKey []byte
	allIndexes                                  []int // 0, 1, 2, ...
	changed                                     []int
	unknown                                     []int
	answers                                     []*fwk.Status
	scores                                      []int64
	sums                                        []int64
	verdicts                                    []verdicts.Verdict
	indexes                                     []int
	checked                                     int // nodes, one after the other, for changes that plugins make
	names                                       nodeNames
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
		for i, slot := range order {
			n.names[i] = nodes.NodeAt(slot).Node().Name
		}
	}
	return n.names
}

// filterRole is what a Filter plugin offers to a search; either may be nil.
type filterRole struct {
	key   framework.FilterKeyPlugin
	batch framework.BatchFilterPlugin
}

// scorerRole is what a Score plugin offers to a search; each may be nil.
type scorerRole struct {
	key   framework.ScoreKeyPlugin
	batch framework.BatchScorePlugin
	all   framework.ScoreAllPlugin
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
	// filteredFurther reports whether remaining, instead of combined, has the nodes that take the pod, and verdicts why others
	// don't.
	filteredFurther bool
	remaining       []int
	verdicts        []verdicts.Verdict
}

// wireSearch finds out what the plugins offer.
func (f *Framework) wireSearch() {
	c := &f.cache
	c.store.Budget = f.options.VerdictCacheBytes
	c.metrics, _ = f.options.Metrics.(VerdictCacheMetrics)
	c.workers = NewParallelizer(min(f.parallelizer.parallelism, goruntime.GOMAXPROCS(0)), f.options.Metrics)
	for i := range f.filter {
		var role filterRole
		role.key, _ = f.filter[i].plugin.(framework.FilterKeyPlugin)
		role.batch, _ = f.filter[i].plugin.(framework.BatchFilterPlugin)
		c.filters = append(c.filters, role)
	}
	for i := range f.score {
		var role scorerRole
		role.key, _ = f.score[i].plugin.(framework.ScoreKeyPlugin)
		role.batch, _ = f.score[i].plugin.(framework.BatchScorePlugin)
		role.all, _ = f.score[i].plugin.(framework.ScoreAllPlugin)
		c.scorers = append(c.scorers, role)
	}
}

// CanSearch reports whether [Framework.Search] works with the snapshot and the nominator that the framework was given.
func (f *Framework) CanSearch() bool {
	_, indexed := f.options.Snapshot.(framework.IndexedSnapshot)
	_, nominated := f.options.Nominator.(NominatedNodes)
	return indexed && nominated
}

// Search finds the best of all nodes for a pod for which PreFilter has run. It comes to the same as asking the Filter
// plugins about every node, nominated pods included, and then PreScore, Score and NormalizeScore about those that are
// left; but what plugins with a key said before (see [framework.FilterKeyPlugin]) is not asked again, and where all
// plugins have one, the cost follows the number of nodes that changed.
//
// When several nodes are the best, pick is called with their number, and chooses one by its index.
//
// The status is nil or an Error. Searches of a framework run one at a time; the snapshot must not be updated meanwhile.
func (f *Framework) Search(ctx context.Context, state fwk.CycleState, pod *v1.Pod, pick func(count int) int) (Choice, *fwk.Status) {
	var choice Choice
	status := f.searching(ctx, state, pod, func(s *cachedSearch) *fwk.Status {
		choice.Feasible = s.feasible()
		switch choice.Feasible {
		case 0:
			choice.Rejections = s.rejections()
		case 1:
			choice.Node = s.nameAt(s.feasibleIndexes()[0])
		default:
			nodeIndex, failure := s.best(pick)
			if failure != nil {
				return failure
			}
			choice.Node = s.nameAt(nodeIndex)
		}
		return nil
	})
	if status != nil {
		return Choice{}, status
	}
	return choice, nil
}

// Totals returns the total score of every node that takes the pod, and why the others don't, which is what Search
// decides by. It takes as long as there are nodes.
func (f *Framework) Totals(ctx context.Context, state fwk.CycleState, pod *v1.Pod) (map[string]int64, *framework.NodeToStatus, *fwk.Status) {
	totals := map[string]int64{}
	var rejections *framework.NodeToStatus
	status := f.searching(ctx, state, pod, func(s *cachedSearch) *fwk.Status {
		rejections = s.rejections()
		if s.feasible() == 0 {
			return nil
		}
		nodeIndexes := slices.Clone(s.feasibleIndexes())
		sums, failure := s.totals(nodeIndexes)
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

// searching filters the nodes and calls do with what came of it. Where a plugin ends the goroutine in the midst of it, what
// was known from searches before is forgotten, because some of it may be half done.
func (f *Framework) searching(ctx context.Context, state fwk.CycleState, pod *v1.Pod, do func(*cachedSearch) *fwk.Status) *fwk.Status {
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
		c.end(f.ProfileName())
	}()
	if failure = s.filter(); failure == nil {
		failure = do(s)
	}
	complete = true
	return failure
}

func (f *Framework) startSearch(ctx context.Context, state fwk.CycleState, pod *v1.Pod) (*cachedSearch, *fwk.Status) {
	nodes, ok := f.options.Snapshot.(framework.IndexedSnapshot)
	if !ok {
		return nil, fwk.AsStatus(fmt.Errorf("searching all nodes: a snapshot of type %T has no node indexes; ask CanSearch first", f.options.Snapshot))
	}
	c := &f.cache
	if c.rejections.Full() {
		c.rejections = verdicts.StatusTable{}
		c.store.Clear()
	}
	c.changes.CatchUp(nodes)
	return &cachedSearch{f: f, cache: c, ctx: ctx, state: state, pod: pod, nodes: nodes}, nil
}

// end ends a search: what was not used for long makes room.
func (c *verdictCache) end(profile string) {
	c.store.EndCycle()
	if c.metrics != nil {
		c.metrics.VerdictCacheBytes(profile, c.store.Used())
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

// rejections returns why nodes don't take the pod. It does not change when cached verdicts do.
func (s *cachedSearch) rejections() *framework.NodeToStatus {
	byNode := s.combined.verdicts
	if s.filteredFurther {
		byNode = s.verdicts
	}
	list, _ := s.nodes.NodeInfos().List() // a list by node index never fails
	byPosition := make([]int32, len(list))
	for i, nodeIndex := range s.nodes.ListOrder() {
		if v := byNode[nodeIndex]; v >= verdicts.FirstRejection {
			byPosition[i] = int32(v-verdicts.FirstRejection) + 1
		}
	}
	return framework.NewNodeStatusList(list, s.cache.names.of(s.nodes), byPosition, s.cache.rejections.Statuses)
}

// sized returns working space of a length, with anything in it, in place of s if that is large enough.
func sized[T any](s []T, length int) []T { return slices.Grow(s[:0], length)[:length] }
