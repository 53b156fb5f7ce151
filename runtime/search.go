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
)

// DefaultVerdictCacheBytes is how many bytes of verdicts and scores a framework keeps when the options don't say.
const DefaultVerdictCacheBytes = 128 << 20

// NominatedNodes is an optional interface beside fwk.PodNominator. [Framework.Search] needs it, so that it need not ask
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

// columns is what a framework keeps about nodes from one cycle to the next, and the working space of a cycle. The lock
// guards all of it; it is held over a whole search.
type columns struct {
	mu       sync.Mutex
	log      changeLog
	store    columnStore
	statuses statusTable
	// roles is what the plugins offer beyond the official interfaces.
	filters []filterRole
	scorers []scorerRole
	metrics VerdictCacheMetrics // may be nil
	// workers are as many as can run at a time: more would only get in each other's way.
	workers *Parallelizer

	key, rankingKey, columnKey, storeKey []byte
	all                                  []int // 0, 1, 2, ...
	changed                              []int
	unknown                              []int
	answers                              []*fwk.Status
	scores                               []int64
	sums                                 []int64
	verdicts                             []verdict
	slots                                []int
	checked                              int // nodes, one after the other, for changes that plugins make
	named                                nodeNames
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
	slots framework.BatchFilterPlugin
}

// scorerRole is what a Score plugin offers to a search; each may be nil.
type scorerRole struct {
	key   framework.ScoreKeyPlugin
	slots framework.BatchScorePlugin
	all   framework.ScoreAllPlugin
}

// search is one search for the node of a pod.
type search struct {
	f       *Framework
	columns *columns
	ctx     context.Context
	state   fwk.CycleState
	pod     *v1.Pod
	nodes   framework.IndexedSnapshot

	board    *board
	boardKey []byte
	// narrowed tells that slots, not the board, has the nodes that take the pod, and verdicts why others don't.
	narrowed bool
	slots    []int
	verdicts []verdict
}

// wireSearch finds out what the plugins offer.
func (f *Framework) wireSearch() {
	c := &f.columns
	c.store.budget = f.options.VerdictCacheBytes
	c.metrics, _ = f.options.Metrics.(VerdictCacheMetrics)
	c.workers = NewParallelizer(min(f.parallelizer.parallelism, goruntime.GOMAXPROCS(0)), f.options.Metrics)
	for i := range f.filter {
		var role filterRole
		role.key, _ = f.filter[i].plugin.(framework.FilterKeyPlugin)
		role.slots, _ = f.filter[i].plugin.(framework.BatchFilterPlugin)
		c.filters = append(c.filters, role)
	}
	for i := range f.score {
		var role scorerRole
		role.key, _ = f.score[i].plugin.(framework.ScoreKeyPlugin)
		role.slots, _ = f.score[i].plugin.(framework.BatchScorePlugin)
		role.all, _ = f.score[i].plugin.(framework.ScoreAllPlugin)
		c.scorers = append(c.scorers, role)
	}
}

// CanSearch tells whether [Framework.Search] works with the snapshot and the nominator that the framework was given.
func (f *Framework) CanSearch() bool {
	_, slots := f.options.Snapshot.(framework.IndexedSnapshot)
	_, nominated := f.options.Nominator.(NominatedNodes)
	return slots && nominated
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
	status := f.searching(ctx, state, pod, func(s *search) *fwk.Status {
		choice.Feasible = s.feasible()
		switch choice.Feasible {
		case 0:
			choice.Rejections = s.rejections()
		case 1:
			choice.Node = s.nameAt(s.feasibleSlots()[0])
		default:
			slot, failure := s.best(pick)
			if failure != nil {
				return failure
			}
			choice.Node = s.nameAt(slot)
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
	status := f.searching(ctx, state, pod, func(s *search) *fwk.Status {
		rejections = s.rejections()
		if s.feasible() == 0 {
			return nil
		}
		slots := slices.Clone(s.feasibleSlots())
		sums, failure := s.totals(slots)
		if failure != nil {
			return failure
		}
		for i, slot := range slots {
			totals[s.nameAt(slot)] = sums[i]
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
func (f *Framework) searching(ctx context.Context, state fwk.CycleState, pod *v1.Pod, do func(*search) *fwk.Status) *fwk.Status {
	c := &f.columns
	c.mu.Lock()
	defer c.mu.Unlock()
	s, failure := f.startSearch(ctx, state, pod)
	if failure != nil {
		return failure
	}
	complete := false
	defer func() {
		if !complete {
			c.store.clear()
		}
		c.end(f.ProfileName())
	}()
	if failure = s.filter(); failure == nil {
		failure = do(s)
	}
	complete = true
	return failure
}

func (f *Framework) startSearch(ctx context.Context, state fwk.CycleState, pod *v1.Pod) (*search, *fwk.Status) {
	nodes, ok := f.options.Snapshot.(framework.IndexedSnapshot)
	if !ok {
		return nil, fwk.AsStatus(fmt.Errorf("searching all nodes: a snapshot of type %T has no slots; ask CanSearch first", f.options.Snapshot))
	}
	c := &f.columns
	if c.statuses.full() {
		c.statuses = statusTable{}
		c.store.clear()
	}
	c.log.catchUp(nodes)
	return &search{f: f, columns: c, ctx: ctx, state: state, pod: pod, nodes: nodes}, nil
}

// end ends a search: what was not used for long makes room.
func (c *columns) end(profile string) {
	c.store.trim()
	if c.metrics != nil {
		c.metrics.VerdictCacheBytes(profile, c.store.used)
	}
}

func (s *search) log() *changeLog { return &s.columns.log }

// changedSince returns the distinct slots that changed from a position of the log on; all slots, and false, if that is
// too long ago. The result is good until the next call.
func (s *search) changedSince(position int) ([]int, bool) {
	changed, ok := s.log().since(position)
	if !ok || len(changed) > s.nodes.IndexCount() {
		return s.allSlots(), false
	}
	s.columns.changed = append(s.columns.changed[:0], changed...)
	slices.Sort(s.columns.changed)
	s.columns.changed = slices.Compact(s.columns.changed)
	return s.columns.changed, true
}

func (s *search) allSlots() []int {
	c := s.columns
	for len(c.all) < s.nodes.IndexCount() {
		c.all = append(c.all, len(c.all))
	}
	return c.all[:s.nodes.IndexCount()]
}

func (s *search) nameAt(slot int) string { return s.nodes.NodeAt(slot).Node().Name }

// feasible is how many nodes take the pod.
func (s *search) feasible() int {
	if s.narrowed {
		return len(s.slots)
	}
	return s.board.accepted
}

// feasibleSlots returns the slots of the nodes that take the pod.
func (s *search) feasibleSlots() []int {
	if !s.narrowed {
		s.columns.slots = s.board.acceptedSlots(s.columns.slots[:0], s.allSlots())
		return s.columns.slots
	}
	return s.slots
}

// rejections returns why nodes don't take the pod. It does not change when columns do.
func (s *search) rejections() *framework.NodeToStatus {
	verdicts := s.board.verdicts
	if s.narrowed {
		verdicts = s.verdicts
	}
	list, _ := s.nodes.NodeInfos().List() // a list of slots never fails
	byPosition := make([]int32, len(list))
	for i, slot := range s.nodes.ListOrder() {
		if v := verdicts[slot]; v >= firstRejection {
			byPosition[i] = int32(v-firstRejection) + 1
		}
	}
	return framework.NewNodeStatusList(list, s.columns.named.of(s.nodes), byPosition, s.columns.statuses.statuses)
}
