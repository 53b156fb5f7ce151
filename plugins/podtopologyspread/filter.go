// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package podtopologyspread

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/statedata"
	"github.com/rouse-scheduler/rouse/plugins/internal/topology"
)

const preFilterKey fwk.StateKey = "PreFilter" + Name

// preFilterState is the constraints of the pod being scheduled that keep it from nodes.
type preFilterState struct {
	// table has the pods on all nodes.
	*table
	// self has for each constraint one if the pod itself will count for it, and zero if not.
	self []int64
	// changes are what AddPod and RemovePod did to the counts of the table; the table does not change.
	changes []countChange
	// full returns fullDomains, which is found once; it is not right after changes.
	full func() [][]bool
	// asked is about how many nodes FilterBatch was asked, in calls for a few at a time.
	asked atomic.Int64
}

// countChange is pods added to one domain of one constraint, or taken away.
type countChange struct {
	constraint int
	domain     string
	pods       int64
}

// Clone implements fwk.StateData; it costs what AddPod and RemovePod changed. The table is that of the plugin, which the
// next PreFilter brings up to date: state and clones are good until then, and may be read by several goroutines.
func (s *preFilterState) Clone() fwk.StateData {
	return &preFilterState{table: s.table, self: s.self, changes: slices.Clone(s.changes), full: s.full}
}

// PreFilter implements fwk.PreFilterPlugin: it brings the counts of the pods on all nodes up to date. It skips a pod
// without hard constraints.
func (pl *plugin) PreFilter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	snapshot, lasting := topology.IndexedNodesOf(pl.handle.SnapshotSharedLister(), nodes)
	table, err := pl.tableFor(pod, v1.DoNotSchedule, snapshot, lasting)
	if err != nil {
		return nil, fwk.AsStatus(err)
	}
	if table == nil {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	if err := context.Cause(ctx); err != nil {
		return nil, fwk.AsStatus(fmt.Errorf("counting the pods that pod %s/%s is to be spread with: %w", pod.Namespace, pod.Name, err))
	}
	spread := &preFilterState{table: table, self: make([]int64, len(table.constraints))}
	for i := range table.constraints {
		if table.constraints[i].selects(pod) {
			spread.self[i] = 1
		}
	}
	spread.full = sync.OnceValue(spread.fullDomains)
	state.Write(preFilterKey, spread)
	return nil, nil
}

// PreFilterExtensions implements fwk.PreFilterPlugin.
func (pl *plugin) PreFilterExtensions() fwk.PreFilterExtensions { return pl }

// AddPod implements fwk.PreFilterExtensions.
func (pl *plugin) AddPod(_ context.Context, state fwk.CycleState, _ *v1.Pod, added fwk.PodInfo, nodeInfo fwk.NodeInfo) *fwk.Status {
	return changeCounts(state, added.GetPod(), nodeInfo.Node(), 1)
}

// RemovePod implements fwk.PreFilterExtensions.
func (pl *plugin) RemovePod(_ context.Context, state fwk.CycleState, _ *v1.Pod, removed fwk.PodInfo, nodeInfo fwk.NodeInfo) *fwk.Status {
	return changeCounts(state, removed.GetPod(), nodeInfo.Node(), -1)
}

// changeCounts adds a pod to the counts of the domains that its node is in, or takes it away. Other than by PreFilter, a
// pod in deletion and one that an empty selector selects are counted.
func changeCounts(state fwk.CycleState, other *v1.Pod, node *v1.Node, delta int64) *fwk.Status {
	spread, err := statedata.Read[*preFilterState](state, preFilterKey)
	if err != nil {
		return fwk.AsStatus(err)
	}
	if node == nil || other.Namespace != spread.namespace || !hasAllKeys(spread.constraints, node) {
		return nil
	}
	eligibility := spread.eligibility(node)
	for i := range spread.constraints {
		c := &spread.constraints[i]
		if c.selects(other) && c.includes(eligibility) {
			spread.addChange(i, node.Labels[c.topologyKey], delta)
		}
	}
	return nil
}

func (s *preFilterState) addChange(constraint int, domain string, delta int64) {
	for i := range s.changes {
		if c := &s.changes[i]; c.constraint == constraint && c.domain == domain {
			c.pods += delta
			return
		}
	}
	s.changes = append(s.changes, countChange{constraint: constraint, domain: domain, pods: delta})
}

// pods returns the pods in a domain; one that is not known has none.
func (s *preFilterState) pods(constraint int, domain string) int64 {
	pods, _ := s.counts[constraint].sum(domain)
	for i := range s.changes {
		if c := &s.changes[i]; c.constraint == constraint && c.domain == domain {
			pods += c.pods
		}
	}
	return pods
}

// fewest returns the pods in the domain that has the fewest; zero if there are too few domains.
func (s *preFilterState) fewest(constraint int) int64 {
	counts := &s.counts[constraint]
	known, fewest := counts.placement.known, counts.fewest()
	if len(s.changes) > 0 {
		known, fewest = s.fewestAfterChanges(constraint)
	}
	if int64(known) < s.constraints[constraint].minDomains {
		return 0
	}
	return fewest
}

// fewestAfterChanges also returns how many domains are known. It looks at the sums that there are only if there are no
// domains without pods that did not change.
func (s *preFilterState) fewestAfterChanges(constraint int) (known int, fewest int64) {
	counts := &s.counts[constraint]
	known, fewest = counts.placement.known, int64(math.MaxInt32)
	unchanged := known
	changed := map[int64]int32{} // domains by the sum that they had
	for i := range s.changes {
		c := &s.changes[i]
		if c.constraint != constraint {
			continue
		}
		pods, ok := counts.sum(c.domain)
		if ok {
			unchanged--
			changed[pods]++
		} else {
			known++
		}
		fewest = min(fewest, pods+c.pods)
	}
	switch {
	case unchanged == 0:
		return known, fewest
	case counts.placement.known-counts.sums.Nonzero() > int(changed[0]):
		return known, min(fewest, 0)
	}
	return known, min(fewest, leastOf(counts.bySum, changed))
}

// Filter implements fwk.FilterPlugin. It is the domain of the node that counts, whether or not the node itself does; a
// domain that is not known has no pods.
func (pl *plugin) Filter(_ context.Context, state fwk.CycleState, _ *v1.Pod, nodeInfo fwk.NodeInfo) *fwk.Status {
	spread, err := statedata.Read[*preFilterState](state, preFilterKey)
	if err != nil {
		return fwk.AsStatus(err)
	}
	labels := nodeInfo.Node().Labels
	for i := range spread.constraints {
		c := &spread.constraints[i]
		domain, ok := labels[c.topologyKey]
		if !ok {
			return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, reasonLabel)
		}
		if spread.pods(i, domain)+spread.self[i]-spread.fewest(i) > c.maxSkew {
			return fwk.NewStatus(fwk.Unschedulable, reasonSkew)
		}
	}
	return nil
}

// FilterBatch implements framework.BatchFilterPlugin.
func (pl *plugin) FilterBatch(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes framework.IndexedSnapshot, indexes []int, statuses []*fwk.Status) *fwk.Status {
	spread, err := statedata.Read[*preFilterState](state, preFilterKey)
	if err != nil {
		return fwk.AsStatus(err)
	}
	if spread.nodes != nodes || len(spread.changes) > 0 {
		for i, index := range indexes {
			statuses[i] = pl.Filter(ctx, state, pod, nodes.NodeAt(index))
		}
		return nil
	}
	if 16*spread.asked.Add(int64(len(indexes))) < int64(nodes.IndexCount()) { // less work than to look at all domains
		for i, index := range indexes {
			statuses[i] = pl.filterAt(spread, index)
		}
		return nil
	}
	full := spread.full()
	for i := range spread.constraints {
		domains, full := spread.counts[i].domains.ByNode(), full[i]
		for j, index := range indexes {
			domain := domains[index]
			switch {
			case domain == topology.None:
				if statuses[j] == nil {
					statuses[j] = pl.lacksLabel
				}
			case full[domain]:
				if statuses[j] == nil {
					statuses[j] = pl.skewed
				}
			}
		}
	}
	return nil
}

// AddFilterGroups implements framework.FilterGroupsPlugin.
func (pl *plugin) AddFilterGroups(groups *framework.NodeGroups, state fwk.CycleState, _ *v1.Pod, nodes framework.IndexedSnapshot) bool {
	spread, err := statedata.Read[*preFilterState](state, preFilterKey)
	if err != nil || spread.nodes != nodes || len(spread.changes) > 0 {
		return false
	}
	for i := range spread.counts {
		spread.counts[i].domains.Group(groups, &spread.counts[i].sums)
	}
	return true
}

// filterAt returns what Filter says of the node at an index where nothing changed since PreFilter.
func (pl *plugin) filterAt(spread *preFilterState, index int) *fwk.Status {
	for i := range spread.constraints {
		counts := &spread.counts[i]
		domain := counts.domains.ByNode()[index]
		if domain == topology.None {
			return pl.lacksLabel
		}
		if counts.sums.At(domain)+spread.self[i]-spread.fewest(i) > spread.constraints[i].maxSkew {
			return pl.skewed
		}
	}
	return nil
}

// fullDomains returns, for each constraint, the domains that have too many pods already for the pod to join them.
func (s *preFilterState) fullDomains() [][]bool {
	all := make([][]bool, len(s.constraints))
	for i := range s.constraints {
		counts := &s.counts[i]
		most := s.constraints[i].maxSkew + s.fewest(i) - s.self[i]
		full := make([]bool, counts.domains.Size())
		if most < 0 {
			for domain := range full {
				full[domain] = true
			}
		}
		for domain, pods := range counts.sums.All() {
			full[domain] = pods > most
		}
		all[i] = full
	}
	return all
}
