// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package interpodaffinity

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/statedata"
)

const preFilterKey fwk.StateKey = "PreFilter" + Name

// required is the requirements of the pod being scheduled, and the count of every topology domain.
type required struct {
	*requirements
	counts
}

// Clone implements fwk.StateData; only the counts are copied, the requirements never change.
func (r *required) Clone() fwk.StateData {
	return &required{requirements: r.requirements, counts: r.counts.clone()}
}

// PreFilter implements fwk.PreFilterPlugin: it counts pods on all nodes. It skips a pod that requires nothing, unless
// the anti-affinity of a pod on a node is about it.
func (pl *Plugin) PreFilter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	// Preferred terms that do not parse make the pod invalid too.
	parsed, err := framework.NewPodInfo(pod)
	if err != nil {
		return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, fmt.Sprintf("parsing pod: %v", err))
	}
	requirements, err := pl.newRequirements(parsed)
	if err != nil {
		return nil, fwk.AsStatus(err)
	}
	withAntiAffinity, err := pl.nodesWithAntiAffinity()
	if err != nil {
		return nil, fwk.AsStatus(err)
	}
	counts, err := pl.count(ctx, requirements, nodes, withAntiAffinity)
	if err != nil {
		return nil, fwk.AsStatus(err)
	}
	if counts.existing.empty() && len(requirements.affinity) == 0 && len(requirements.antiAffinity) == 0 {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	state.Write(preFilterKey, &required{requirements: requirements, counts: *counts})
	return nil, nil
}

// newRequirements looks up the namespaces that the terms of a pod select, and notes them there: the terms must not be
// shared.
func (pl *Plugin) newRequirements(parsed *framework.PodInfo) (*requirements, error) {
	pod, affinity, antiAffinity := parsed.Pod, parsed.GetRequiredAffinityTerms(), parsed.GetRequiredAntiAffinityTerms()
	for _, terms := range [...][]fwk.AffinityTerm{affinity, antiAffinity} {
		for i := range terms {
			if err := pl.resolveNamespaces(&terms[i]); err != nil {
				return nil, err
			}
		}
	}
	namespaceLabels, err := pl.namespaceLabels(pod.Namespace)
	if err != nil {
		return nil, err
	}
	return &requirements{
		pod:             pod,
		namespaceLabels: namespaceLabels,
		affinity:        affinity,
		antiAffinity:    antiAffinity,
		first:           matchesAll(affinity, pod, namespaceLabels),
	}, nil
}

func (pl *Plugin) nodesWithAntiAffinity() ([]fwk.NodeInfo, error) {
	snapshot := pl.handle.SnapshotSharedLister()
	if snapshot == nil {
		return nil, nil
	}
	nodes, err := snapshot.NodeInfos().HavePodsWithRequiredAntiAffinityList()
	if err != nil {
		return nil, fmt.Errorf("listing the nodes whose pods have required anti-affinity: %w", err)
	}
	return nodes, nil
}

// PreFilterExtensions implements fwk.PreFilterPlugin.
func (pl *Plugin) PreFilterExtensions() fwk.PreFilterExtensions { return pl }

// AddPod implements fwk.PreFilterExtensions.
func (pl *Plugin) AddPod(_ context.Context, state fwk.CycleState, _ *v1.Pod, added fwk.PodInfo, nodeInfo fwk.NodeInfo) *fwk.Status {
	return changeCounts(state, added, nodeInfo.Node(), 1)
}

// RemovePod implements fwk.PreFilterExtensions.
func (pl *Plugin) RemovePod(_ context.Context, state fwk.CycleState, _ *v1.Pod, removed fwk.PodInfo, nodeInfo fwk.NodeInfo) *fwk.Status {
	return changeCounts(state, removed, nodeInfo.Node(), -1)
}

func changeCounts(state fwk.CycleState, other fwk.PodInfo, node *v1.Node, delta int64) *fwk.Status {
	required, err := statedata.Read[*required](state, preFilterKey)
	if err != nil {
		return fwk.AsStatus(err)
	}
	if node != nil {
		required.change(required.requirements, other, node, delta)
	}
	return nil
}

// Filter implements fwk.FilterPlugin. The status has the first reason of three.
func (pl *Plugin) Filter(_ context.Context, state fwk.CycleState, _ *v1.Pod, nodeInfo fwk.NodeInfo) *fwk.Status {
	required, err := statedata.Read[*required](state, preFilterKey)
	if err != nil {
		return fwk.AsStatus(err)
	}
	labels := nodeInfo.Node().Labels
	switch {
	case !required.meetsAffinity(labels):
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, ReasonAffinity)
	case !required.meetsAntiAffinity(labels):
		return fwk.NewStatus(fwk.Unschedulable, ReasonAntiAffinity)
	case required.existing.anyOn(labels):
		return fwk.NewStatus(fwk.Unschedulable, ReasonExistingAntiAffinity)
	}
	return nil
}

// meetsAffinity tells whether each affinity term has a pod in its domain that matches all of them. If there are none in
// any domain, a pod that matches them itself may be the first, on a node that is in a domain of each term.
func (r *required) meetsAffinity(labels map[string]string) bool {
	together := true
	for i := range r.requirements.affinity {
		key := r.requirements.affinity[i].TopologyKey
		value, ok := labels[key]
		if !ok {
			return false
		}
		together = together && r.counts.affinity.count(key, value) > 0
	}
	return together || r.first && r.counts.affinity.empty()
}

// meetsAntiAffinity tells whether no anti-affinity term has a pod in its domain.
func (r *required) meetsAntiAffinity(labels map[string]string) bool {
	for i := range r.requirements.antiAffinity {
		key := r.requirements.antiAffinity[i].TopologyKey
		if value, ok := labels[key]; ok && r.counts.antiAffinity.count(key, value) > 0 {
			return false
		}
	}
	return true
}
