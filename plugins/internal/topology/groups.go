// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"slices"

	"github.com/rouse-scheduler/rouse/framework"
)

// A topology key with few domains groups nodes by its label. One with about as many domains as nodes, as the host name, does not:
// there, the nodes in domains with pods that count are exceptions, and all others are alike.
const (
	alwaysFew     = 8
	nodesToDomain = 16 // on average
)

// Few reports whether there are few domains, so that nodes can be grouped by them.
func (d *Domains) Few() bool { return d.known <= max(alwaysFew, len(d.byNode)/nodesToDomain) }

// Group adds to groups what an answer about a node reads that depends on nothing but the sum of its domain, and on whether it is
// in one.
func (d *Domains) Group(groups *framework.NodeGroups, sums *Sparse[int64]) {
	if d.Few() {
		if !slices.Contains(groups.Labels, d.key) {
			groups.Labels = append(groups.Labels, d.key)
		}
		return
	}
	for domain := range sums.All() {
		groups.Exceptions = d.members.appendTo(groups.Exceptions, domain)
	}
	d.ExceptLacking(groups)
}

// ExceptLacking makes exceptions of the nodes that lack the topology key.
func (d *Domains) ExceptLacking(groups *framework.NodeGroups) {
	groups.Exceptions = d.members.appendTo(groups.Exceptions, None)
}
