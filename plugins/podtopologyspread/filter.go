// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package podtopologyspread

import (
	"context"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/statedata"
	"github.com/rouse-scheduler/rouse/plugins/internal/topology"
)

const preFilterKey fwk.StateKey = "PreFilter" + Name

// hardSpread is the constraints of the pod being scheduled that keep it from nodes, and the count of every domain.
type hardSpread struct {
	*rules
	// self has for each constraint one if the pod itself will count for it, and zero if not.
	self    []int64
	domains []domains
}

// Clone implements fwk.StateData; only the counts are copied, the constraints never change.
func (s *hardSpread) Clone() fwk.StateData {
	clone := &hardSpread{rules: s.rules, self: s.self, domains: make([]domains, len(s.domains))}
	for i := range s.domains {
		clone.domains[i] = s.domains[i].clone()
	}
	return clone
}

// PreFilter implements fwk.PreFilterPlugin: it counts pods on all nodes. It skips a pod without hard constraints.
func (pl *Plugin) PreFilter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	constraints, err := pl.constraints(pod, v1.DoNotSchedule)
	if err != nil {
		return nil, fwk.AsStatus(err)
	}
	if len(constraints) == 0 {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	spread, err := pl.newHardSpread(ctx, pod, constraints, nodes)
	if err != nil {
		return nil, fwk.AsStatus(err)
	}
	state.Write(preFilterKey, spread)
	return nil, nil
}

func (pl *Plugin) newHardSpread(ctx context.Context, pod *v1.Pod, constraints []constraint, nodes []fwk.NodeInfo) (*hardSpread, error) {
	s := &hardSpread{
		rules:   newRules(ctx, pod, constraints, true),
		self:    make([]int64, len(constraints)),
		domains: make([]domains, len(constraints)),
	}
	for i := range constraints {
		if constraints[i].selects(pod) {
			s.self[i] = 1
		}
		if constraints[i].topologyKey == v1.LabelHostname {
			s.domains[i].Counter = topology.NewCounter(len(nodes))
		}
	}
	all := func(*constraint) bool { return true }
	err := s.countNodes(ctx, pl.handle.Parallelizer(), nodes, all, func(i int, domain string, count int64) {
		s.domains[i].Add(domain, count)
	})
	if err != nil {
		return nil, err
	}
	for i := range s.domains {
		s.domains[i].Freeze()
		s.domains[i].fewest = s.domains[i].Least()
	}
	return s, nil
}

// PreFilterExtensions implements fwk.PreFilterPlugin.
func (pl *Plugin) PreFilterExtensions() fwk.PreFilterExtensions { return pl }

// AddPod implements fwk.PreFilterExtensions.
func (pl *Plugin) AddPod(_ context.Context, state fwk.CycleState, _ *v1.Pod, added fwk.PodInfo, nodeInfo fwk.NodeInfo) *fwk.Status {
	return changeCounts(state, added.GetPod(), nodeInfo.Node(), 1)
}

// RemovePod implements fwk.PreFilterExtensions.
func (pl *Plugin) RemovePod(_ context.Context, state fwk.CycleState, _ *v1.Pod, removed fwk.PodInfo, nodeInfo fwk.NodeInfo) *fwk.Status {
	return changeCounts(state, removed.GetPod(), nodeInfo.Node(), -1)
}

// changeCounts adds a pod to the counts of the domains that its node is in, or takes it away. Other than by PreFilter, a
// pod in deletion and one that an empty selector selects are counted.
func changeCounts(state fwk.CycleState, other *v1.Pod, node *v1.Node, delta int64) *fwk.Status {
	spread, err := statedata.Read[*hardSpread](state, preFilterKey)
	if err != nil {
		return fwk.AsStatus(err)
	}
	if node == nil || other.Namespace != spread.pod.Namespace || !hasAllKeys(spread.constraints, node) {
		return nil
	}
	verdict := spread.judge(node)
	for i := range spread.constraints {
		c := &spread.constraints[i]
		if c.selects(other) && c.includes(verdict) {
			spread.domains[i].change(node.Labels[c.topologyKey], delta)
		}
	}
	return nil
}

// Filter implements fwk.FilterPlugin. The node is judged by its domain, whether or not it counts itself; a domain that is
// not known has no pods.
func (pl *Plugin) Filter(_ context.Context, state fwk.CycleState, _ *v1.Pod, nodeInfo fwk.NodeInfo) *fwk.Status {
	spread, err := statedata.Read[*hardSpread](state, preFilterKey)
	if err != nil {
		return fwk.AsStatus(err)
	}
	labels := nodeInfo.Node().Labels
	for i := range spread.constraints {
		c, domains := &spread.constraints[i], &spread.domains[i]
		domain, ok := labels[c.topologyKey]
		if !ok {
			return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, ReasonLabel)
		}
		fewest := domains.fewest
		if int64(domains.Len()) < c.minDomains {
			fewest = 0
		}
		if domains.Count(domain)+spread.self[i]-fewest > c.maxSkew {
			return fwk.NewStatus(fwk.Unschedulable, ReasonSkew)
		}
	}
	return nil
}
