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

// rejections are what FilterBatch says of nodes, by why.
type rejections [matchesAffinity + 1]*fwk.Status

func newRejections() rejections {
	return rejections{
		hasAntiAffinity:     fwk.NewStatus(fwk.Unschedulable, ReasonExistingAntiAffinity).WithPlugin(Name),
		matchesAntiAffinity: fwk.NewStatus(fwk.Unschedulable, ReasonAntiAffinity).WithPlugin(Name),
		matchesAffinity:     fwk.NewStatus(fwk.UnschedulableAndUnresolvable, ReasonAffinity).WithPlugin(Name),
	}
}

// reason returns why a node has a status.
func (r *rejections) reason(status *fwk.Status) role { return role(slices.Index(r[:], status)) }

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
			statuses[i] = pl.rejections[required.reasonOf(index)]
		}
		return nil
	}
	for _, rejected := range required.rejecting() {
		domains := rejected.domains.ByNode()
		for i, index := range indexes {
			reason := rejected.without
			if domain := domains[index]; domain != topology.None {
				reason = rejected.reasons[domain]
			}
			if reason != noRole && reason > pl.rejections.reason(statuses[i]) {
				statuses[i] = pl.rejections[reason]
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

// reasonOf returns why the node at an index is rejected, noRole if it is not.
func (r *preFilterState) reasonOf(index int) role {
	if r.affinity != nil {
		anywhere := r.first && r.noPodMatches()
		for i := range r.affinity.keys {
			k := &r.affinity.keys[i]
			if domain := k.domains.ByNode()[index]; domain == topology.None || !anywhere && k.sums.At(domain) <= 0 {
				return matchesAffinity
			}
		}
	}
	for _, m := range r.antiAffinity {
		if domain := m.keys[0].domains.ByNode()[index]; domain != topology.None && m.keys[0].sums.At(domain) > 0 {
			return matchesAntiAffinity
		}
	}
	for _, t := range r.existing {
		if domain := t.domains.ByNode()[index]; domain != topology.None && t.weights.At(domain) > 0 {
			return hasAntiAffinity
		}
	}
	return noRole
}

// rejectedDomains are the domains of one topology key in which nodes are rejected.
type rejectedDomains struct {
	domains *topology.Domains
	reasons []role // by domain
	without role   // why nodes are rejected that lack the key
}

// findRejecting returns which domains are rejected, in working space.
func (r *preFilterState) findRejecting(space *[][]role) (all []rejectedDomains) {
	of := func(domains *topology.Domains) *rejectedDomains {
		at := slices.IndexFunc(all, func(d rejectedDomains) bool { return d.domains == domains })
		if at < 0 {
			at = len(all)
			if len(*space) == at {
				*space = append(*space, nil)
			}
			(*space)[at] = slices.Grow((*space)[at][:0], domains.Size())[:domains.Size()]
			clear((*space)[at])
			all = append(all, rejectedDomains{domains: domains, reasons: (*space)[at]})
		}
		return &all[at]
	}
	if r.affinity != nil {
		anywhere := r.first && r.noPodMatches()
		for i := range r.affinity.keys {
			k := &r.affinity.keys[i]
			found := of(k.domains)
			found.without = matchesAffinity
			if anywhere {
				continue
			}
			for domain := range found.reasons {
				found.reasons[domain] = matchesAffinity
			}
			for domain := range k.sums.All() {
				found.reasons[domain] = noRole
			}
		}
	}
	for _, m := range r.antiAffinity {
		reject(of(m.keys[0].domains), &m.keys[0].sums, matchesAntiAffinity)
	}
	for _, t := range r.existing {
		reject(of(t.domains), &t.weights, hasAntiAffinity)
	}
	return all
}

// reject rejects the domains that have pods of a role.
func reject(rejected *rejectedDomains, pods *topology.Sparse[int64], reason role) {
	for domain, count := range pods.All() {
		if count > 0 {
			rejected.reasons[domain] = max(rejected.reasons[domain], reason)
		}
	}
}
