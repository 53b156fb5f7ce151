// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package podtopologyspread

import (
	"math"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/topology"
)

// table has the pods that count for the constraints of pods that are alike, by node and by domain. Between cycles it is
// brought up to date with the pods that came and went and the nodes that changed; within a cycle it does not change.
type table struct {
	*rules
	nodes      framework.IndexedSnapshot
	generation int64
	counts     []constraintCounts // one for each constraint
}

// constraintCounts are the counts of one constraint.
type constraintCounts struct {
	domains   *topology.Domains
	selection *topology.Selection
	// placement says for which domains pods are added up; nil if they are not. Tracked says that the fewest of a domain are
	// known too.
	placement *placement
	tracked   bool

	position topology.Position
	// sums are the pods of each domain. A domain is known if any node of it counts.
	sums topology.Sparse[int64]
	// bySum is how many domains have each sum that is not zero, and least the smallest of these sums.
	bySum map[int64]int32
	least int64
}

// parts returns what tables are made of, which they share with others.
type parts interface {
	placementOf(*rules, *constraint) *placement
	selectionOf(*rules, *constraint) *topology.Selection
}

// newTable returns a table that is not up to date.
func newTable(rules *rules, shared *topology.Shared, hard bool, parts parts) *table {
	t := &table{rules: rules, nodes: shared.Nodes(), counts: make([]constraintCounts, len(rules.constraints))}
	for i := range t.counts {
		c, counts := &rules.constraints[i], &t.counts[i]
		counts.domains = shared.Domains(c.topologyKey)
		counts.selection = parts.selectionOf(rules, c)
		if hard || byDomain(c) {
			counts.placement = parts.placementOf(rules, c)
		}
		if hard {
			counts.tracked, counts.bySum = true, map[int64]int32{}
		}
	}
	return t
}

// query selects the pods that a constraint is about.
func (r *rules) query(c *constraint) topology.Query {
	query := topology.Query{Selector: c.selector, Matches: func(namespace string, own labels.Set, terminating bool) bool {
		return !terminating && namespace == r.namespace && c.selector.Matches(own)
	}}
	if query.Namespaces = []string{r.namespace}; c.selector.Empty() {
		query.Namespaces = []string{}
		query.Matches = func(string, labels.Set, bool) bool { return false }
	}
	return query
}

// Bytes is roughly how much memory the table takes. What it is made of is counted by itself.
func (t *table) Bytes() int {
	bytes := 512
	for i := range t.counts {
		bytes += 256 + t.counts[i].sums.Bytes() + 16*len(t.counts[i].bySum)
	}
	return bytes
}

// sync brings the table up to date with its nodes. The caller holds the lock of what is shared.
func (t *table) sync(shared *topology.Shared) {
	generation := t.nodes.Generation()
	if t.generation == generation {
		return
	}
	for i := range t.counts {
		c := &t.counts[i]
		shared.SyncDomains(c.domains)
		c.selection.Sync()
		if c.placement == nil {
			continue
		}
		c.placement.sync(shared)
		if !c.position.Follow(&c.placement.moves, c.selection, c.placement.counted, c.add) {
			c.addUp()
		}
		if c.tracked && c.bySum[c.least] == 0 {
			c.least = leastOf(c.bySum, nil)
		}
	}
	t.generation = generation
}

// addUp adds up the pods of all nodes.
func (c *constraintCounts) addUp() {
	c.sums = topology.AddUp(c.selection, c.placement.counted)
	if c.tracked {
		clear(c.bySum)
		for _, sum := range c.sums.All() {
			c.bySum[sum]++
		}
		c.least = leastOf(c.bySum, nil)
	}
}

// add adds pods to a domain.
func (c *constraintCounts) add(domain int32, pods int64) {
	before := c.sums.Add(domain, pods)
	if !c.tracked {
		return
	}
	now := before + pods
	if c.bySum[before]--; c.bySum[before] <= 0 {
		delete(c.bySum, before)
	}
	if now != 0 {
		c.bySum[now]++
		if now < c.least {
			c.least = now
		}
	}
}

// leastOf returns the smallest sum that some domain has, those left out that are counted in except; zero if there is none.
func leastOf(bySum map[int64]int32, except map[int64]int32) int64 {
	least := int64(math.MaxInt64)
	for sum, domains := range bySum {
		if sum < least && domains > except[sum] {
			least = sum
		}
	}
	if least == math.MaxInt64 {
		return 0
	}
	return least
}

// fewest is the smallest sum of a known domain, math.MaxInt32 without any.
func (c *constraintCounts) fewest() int64 {
	switch {
	case c.placement.known == 0:
		return math.MaxInt32
	case c.placement.known > c.sums.Nonzero():
		return 0
	}
	return c.least
}

// sum returns the pods of a domain, and whether the domain is known.
func (c *constraintCounts) sum(value string) (pods int64, known bool) {
	domain := c.domains.Number(value)
	if domain == topology.None || int(domain) >= len(c.placement.members) || c.placement.members[domain] == 0 {
		return 0, false
	}
	return c.sums.At(domain), true
}
