// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package interpodaffinity

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/statedata"
	"github.com/rouse-scheduler/rouse/plugins/internal/topology"
)

const preFilterKey fwk.StateKey = "PreFilter" + Name

// preFilterState is what the incoming pod requires, and the existing pods that match or reject it.
type preFilterState struct {
	pod             *v1.Pod
	namespaceLabels labels.Set
	nodes           framework.IndexedSnapshot
	*incomingTerms
	// existing are the anti-affinity terms of pods on nodes that match the pod.
	existing []*existingTerm
	// first reports that the pod may be the first of those that it has affinity to: it matches its own terms.
	first bool
	// changes are what AddPod and RemovePod did to the counts, which do not change themselves.
	changes []countChange
	// rejecting returns findRejecting, which is found once; it is not right after changes.
	rejecting func() []rejectedDomains
}

// role is what pods count for. Of several reasons to reject a node, the highest role is the one that counts.
type role uint8

const (
	noRole              role = iota
	hasAntiAffinity          // they have an anti-affinity term that matches the pod
	matchesAntiAffinity      // they match one of its anti-affinity terms
	matchesAffinity          // they match all affinity terms of the pod
)

// countChange is pods added to a domain, or taken away.
type countChange struct {
	role       role
	key, value string
	pods       int64
}

// Clone implements fwk.StateData; it costs what AddPod and RemovePod changed. The counts are those of the plugin, which the
// next PreFilter brings up to date: state and clones are good until then, and may be read by several goroutines.
func (r *preFilterState) Clone() fwk.StateData {
	clone := *r
	clone.changes = slices.Clone(r.changes)
	return &clone
}

// PreFilter implements fwk.PreFilterPlugin: it brings the counts of the pods on all nodes up to date. It skips a pod that
// requires nothing, unless the anti-affinity of a pod on a node is about it.
func (pl *plugin) PreFilter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	required, err := pl.newPreFilterState(pod, nodes)
	if err != nil {
		return nil, invalid(err)
	}
	if err := interrupted(ctx, pod); err != nil {
		return nil, fwk.AsStatus(err)
	}
	if len(required.existing) == 0 && !required.requires() {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	required.rejecting = sync.OnceValue(func() []rejectedDomains { return required.findRejecting(&pl.roles) })
	state.Write(preFilterKey, required)
	return nil, nil
}

// invalid is the status of a pod whose terms don't parse, or which fails for another reason.
func invalid(err error) *fwk.Status {
	var terms unparsable
	if errors.As(err, &terms) {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, fmt.Sprintf("parsing pod: %v", terms.error))
	}
	return fwk.AsStatus(err)
}

// interrupted returns an error if the cycle is over.
func interrupted(ctx context.Context, pod *v1.Pod) error {
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("counting the pods that affinity of pod %s/%s is about: %w", pod.Namespace, pod.Name, err)
	}
	return nil
}

func (pl *plugin) newPreFilterState(pod *v1.Pod, nodes []fwk.NodeInfo) (*preFilterState, error) {
	snapshot, lasting := topology.IndexedNodesOf(pl.handle.SnapshotSharedLister(), nodes)
	pl.mu.Lock()
	defer pl.mu.Unlock()
	counts := pl.countsOf(snapshot, lasting)
	counts.shared.Lock()
	defer counts.shared.Unlock()
	incoming, err := pl.incomingTermsOf(pod, counts)
	if err != nil {
		return nil, err
	}
	if incoming.affinity != nil {
		incoming.affinity.sync(counts.shared)
	}
	for _, m := range incoming.antiAffinity {
		m.sync(counts.shared)
	}
	existing := counts
	if !lasting {
		withAntiAffinity, err := pl.nodesWithAntiAffinity()
		if err != nil {
			return nil, err
		}
		few, _ := topology.IndexedNodesOf(nil, withAntiAffinity)
		existing = pl.countsOf(few, false)
	}
	existing.existingAntiAffinity.sync(existing.shared)
	r := &preFilterState{pod: pod, nodes: snapshot, incomingTerms: incoming}
	if len(existing.existingAntiAffinity.byKey) == 0 && !incoming.requires() {
		return r, nil
	}
	if r.namespaceLabels, err = pl.namespaceLabels(pod.Namespace); err != nil {
		return nil, err
	}
	r.existing = existing.existingAntiAffinity.matching(pod, r.namespaceLabels)
	r.first = incoming.affinity != nil && matchesAll(incoming.affinity.terms, pod, r.namespaceLabels)
	return r, nil
}

func (pl *plugin) nodesWithAntiAffinity() ([]fwk.NodeInfo, error) {
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
func (pl *plugin) PreFilterExtensions() fwk.PreFilterExtensions { return pl }

// AddPod implements fwk.PreFilterExtensions.
func (pl *plugin) AddPod(_ context.Context, state fwk.CycleState, _ *v1.Pod, added fwk.PodInfo, nodeInfo fwk.NodeInfo) *fwk.Status {
	return changeCounts(state, added, nodeInfo.Node(), 1)
}

// RemovePod implements fwk.PreFilterExtensions.
func (pl *plugin) RemovePod(_ context.Context, state fwk.CycleState, _ *v1.Pod, removed fwk.PodInfo, nodeInfo fwk.NodeInfo) *fwk.Status {
	return changeCounts(state, removed, nodeInfo.Node(), -1)
}

func changeCounts(state fwk.CycleState, other fwk.PodInfo, node *v1.Node, delta int64) *fwk.Status {
	r, err := statedata.Read[*preFilterState](state, preFilterKey)
	if err != nil {
		return fwk.AsStatus(err)
	}
	if node == nil {
		return nil
	}
	for i, terms := 0, other.GetRequiredAntiAffinityTerms(); i < len(terms); i++ {
		if terms[i].Matches(r.pod, r.namespaceLabels) {
			r.addChange(hasAntiAffinity, node, terms[i].TopologyKey, delta)
		}
	}
	if r.affinity != nil && matchesAll(r.affinity.terms, other.GetPod(), nil) {
		for i := range r.affinity.keys {
			r.addChange(matchesAffinity, node, r.affinity.keys[i].domains.Key(), delta)
		}
	}
	for _, m := range r.antiAffinity {
		if m.terms[0].Matches(other.GetPod(), nil) {
			r.addChange(matchesAntiAffinity, node, m.terms[0].TopologyKey, delta)
		}
	}
	return nil
}

// addChange changes the domain that a node is in, if it is in one.
func (r *preFilterState) addChange(role role, node *v1.Node, key string, delta int64) {
	value, ok := node.Labels[key]
	if !ok {
		return
	}
	for i := range r.changes {
		if c := &r.changes[i]; c.role == role && c.key == key && c.value == value {
			c.pods += delta
			return
		}
	}
	r.changes = append(r.changes, countChange{role: role, key: key, value: value, pods: delta})
}

// changeOf returns by how much a domain was changed.
func (r *preFilterState) changeOf(role role, key, value string) int64 {
	for i := range r.changes {
		if c := &r.changes[i]; c.role == role && c.key == key && c.value == value {
			return c.pods
		}
	}
	return 0
}

// Filter implements fwk.FilterPlugin. The status has the first reason of three.
func (pl *plugin) Filter(_ context.Context, state fwk.CycleState, _ *v1.Pod, nodeInfo fwk.NodeInfo) *fwk.Status {
	required, err := statedata.Read[*preFilterState](state, preFilterKey)
	if err != nil {
		return fwk.AsStatus(err)
	}
	labels := nodeInfo.Node().Labels
	switch {
	case !required.satisfiesAffinity(labels):
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, ReasonAffinity)
	case !required.satisfiesAntiAffinity(labels):
		return fwk.NewStatus(fwk.Unschedulable, ReasonAntiAffinity)
	case required.violatesExistingAntiAffinity(labels):
		return fwk.NewStatus(fwk.Unschedulable, ReasonExistingAntiAffinity)
	}
	return nil
}

// satisfiesAffinity reports whether each affinity term has a pod in its domain that matches all of them. If there are none
// in any domain, a pod that matches them itself may be the first, on a node that is in a domain of each term.
func (r *preFilterState) satisfiesAffinity(labels map[string]string) bool {
	if r.affinity == nil {
		return true
	}
	together := true
	for i := range r.affinity.keys {
		key := r.affinity.keys[i].domains.Key()
		value, ok := labels[key]
		if !ok {
			return false
		}
		together = together && r.affinity.count(key, value)+r.changeOf(matchesAffinity, key, value) > 0
	}
	return together || r.first && r.noPodMatches()
}

// noPodMatches reports whether no pod in any domain matches all affinity terms.
func (r *preFilterState) noPodMatches() bool {
	nonzero := r.affinity.nonzero()
	for i := range r.changes {
		if c := &r.changes[i]; c.role == matchesAffinity {
			before := r.affinity.count(c.key, c.value)
			nonzero += crossing(before, before+c.pods)
		}
	}
	return nonzero == 0
}

// satisfiesAntiAffinity reports whether no anti-affinity term has a pod in its domain.
func (r *preFilterState) satisfiesAntiAffinity(labels map[string]string) bool {
	for _, m := range r.antiAffinity {
		key := m.terms[0].TopologyKey
		value, ok := labels[key]
		if !ok {
			continue
		}
		pods := r.changeOf(matchesAntiAffinity, key, value)
		for _, same := range r.antiAffinity {
			pods += same.count(key, value)
		}
		if pods > 0 {
			return false
		}
	}
	return true
}

// violatesExistingAntiAffinity reports whether a node with these labels is in the domain of an existing pod whose
// anti-affinity matches the pod.
func (r *preFilterState) violatesExistingAntiAffinity(labels map[string]string) bool {
	if len(r.changes) == 0 {
		return slices.ContainsFunc(r.existing, func(t *existingTerm) bool { return t.weight(labels) > 0 })
	}
	keys := make([]string, 0, len(r.existing)+len(r.changes))
	for _, t := range r.existing {
		keys = append(keys, t.term.TopologyKey)
	}
	for i := range r.changes {
		if r.changes[i].role == hasAntiAffinity {
			keys = append(keys, r.changes[i].key)
		}
	}
	slices.Sort(keys)
	return slices.ContainsFunc(slices.Compact(keys), func(key string) bool {
		value, ok := labels[key]
		pods := r.changeOf(hasAntiAffinity, key, value)
		for _, t := range r.existing {
			if t.term.TopologyKey == key {
				pods += t.weight(labels)
			}
		}
		return ok && pods > 0
	})
}
