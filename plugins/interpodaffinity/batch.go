// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package interpodaffinity

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/statedata"
	"github.com/rouse-scheduler/rouse/plugins/internal/topology"
)

// rejections are what FilterBatch says of nodes.
type rejections struct{ affinity, antiAffinity, existing *fwk.Status }

func newRejections() rejections {
	return rejections{
		affinity:     fwk.NewStatus(fwk.UnschedulableAndUnresolvable, ReasonAffinity).WithPlugin(Name),
		antiAffinity: fwk.NewStatus(fwk.Unschedulable, ReasonAntiAffinity).WithPlugin(Name),
		existing:     fwk.NewStatus(fwk.Unschedulable, ReasonExistingAntiAffinity).WithPlugin(Name),
	}
}

// FilterBatch implements framework.BatchFilterPlugin.
func (pl *plugin) FilterBatch(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes framework.IndexedSnapshot, indexes []int, statuses []*fwk.Status) *fwk.Status {
	required, err := statedata.Read[*preFilterState](state, preFilterKey)
	if err != nil {
		return fwk.AsStatus(err)
	}
	if required.nodes != nodes || len(required.changes) > 0 {
		for i, index := range indexes {
			statuses[i] = pl.Filter(ctx, state, pod, nodes.NodeAt(index))
		}
		return nil
	}
	if required.cheaperOneByOne(len(indexes)) {
		for i, index := range indexes {
			if reason, rejected := required.rejects(index); rejected {
				statuses[i] = pl.rejections.of(reason)
			}
		}
		return nil
	}
	rejecting := required.rejecting()
	for i := range rejecting {
		r := &rejecting[i]
		domains := r.domains.ByNode()
		for j, index := range indexes {
			domain := domains[index]
			if statuses[j] == nil && (domain == topology.None && r.without || domain != topology.None && r.rejects[domain]) {
				statuses[j] = pl.rejections.of(r.reason)
			}
		}
	}
	return nil
}

// AddFilterGroups implements framework.FilterGroupsPlugin.
func (pl *plugin) AddFilterGroups(groups *framework.NodeGroups, state fwk.CycleState, _ *v1.Pod, nodes framework.IndexedSnapshot) bool {
	required, err := statedata.Read[*preFilterState](state, preFilterKey)
	if err != nil || required.nodes != nodes || len(required.changes) > 0 {
		return false
	}
	if required.affinity != nil {
		for i := range required.affinity.keys {
			k := &required.affinity.keys[i]
			k.domains.Group(groups, &k.sums)
		}
	}
	for _, m := range required.antiAffinity {
		m.keys[0].domains.Group(groups, &m.keys[0].sums)
	}
	for _, t := range required.existing {
		t.domains.Group(groups, &t.weights)
	}
	return true
}

// cheaperOneByOne reports whether to look at each of so many nodes is less work than to look at all domains.
func (r *preFilterState) cheaperOneByOne(nodes int) bool {
	terms := len(r.antiAffinity) + len(r.existing)
	if r.affinity != nil {
		terms += len(r.affinity.keys)
	}
	return 16*nodes*terms < r.nodes.IndexCount()
}

// rejects reports whether the node at an index is rejected, and why.
func (r *preFilterState) rejects(index int) (reason role, rejected bool) {
	if r.affinity != nil {
		anywhere := r.first && r.noPodMatches()
		for i := range r.affinity.keys {
			k := &r.affinity.keys[i]
			if domain := k.domains.ByNode()[index]; domain == topology.None || !anywhere && k.sums.At(domain) <= 0 {
				return matchesAffinity, true
			}
		}
	}
	for _, m := range r.antiAffinity {
		if domain := m.keys[0].domains.ByNode()[index]; domain != topology.None && m.keys[0].sums.At(domain) > 0 {
			return matchesAntiAffinity, true
		}
	}
	for _, t := range r.existing {
		if domain := t.domains.ByNode()[index]; domain != topology.None && t.weights.At(domain) > 0 {
			return hasAntiAffinity, true
		}
	}
	return 0, false
}

// domainRejections are the domains of one topology key in which nodes are rejected for one reason.
type domainRejections struct {
	domains *topology.Domains
	rejects []bool // by domain
	without bool   // whether nodes are rejected that lack the key
	reason  role
}

// findRejecting returns which domains are rejected, in the order of the reasons.
func (r *preFilterState) findRejecting() (all []domainRejections) {
	if r.affinity != nil {
		anywhere := r.first && r.noPodMatches()
		for i := range r.affinity.keys {
			k := &r.affinity.keys[i]
			found := domainRejections{domains: k.domains, rejects: make([]bool, k.domains.Size()), without: true, reason: matchesAffinity}
			for domain := range found.rejects {
				found.rejects[domain] = !anywhere
			}
			for domain := range k.sums.All() {
				found.rejects[domain] = false
			}
			all = append(all, found)
		}
	}
	of := func(domains *topology.Domains, reason role) []bool {
		at := slices.IndexFunc(all, func(d domainRejections) bool { return d.reason == reason && d.domains == domains })
		if at < 0 {
			at = len(all)
			all = append(all, domainRejections{domains: domains, rejects: make([]bool, domains.Size()), reason: reason})
		}
		return all[at].rejects
	}
	for _, m := range r.antiAffinity {
		rejects := of(m.keys[0].domains, matchesAntiAffinity)
		for domain, pods := range m.keys[0].sums.All() {
			rejects[domain] = rejects[domain] || pods > 0
		}
	}
	for _, t := range r.existing {
		rejects := of(t.domains, hasAntiAffinity)
		for domain, pods := range t.weights.All() {
			rejects[domain] = rejects[domain] || pods > 0
		}
	}
	return all
}

func (r *rejections) of(reason role) *fwk.Status {
	switch reason {
	case matchesAffinity:
		return r.affinity
	case matchesAntiAffinity:
		return r.antiAffinity
	default:
		return r.existing
	}
}
