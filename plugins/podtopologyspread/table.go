// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package podtopologyspread

import (
	"math"

	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/topology"
)

// table has the pods that count for the constraints of pods that are alike, by node and by domain. Between cycles it is
// brought up to date with the nodes that changed; within a cycle it does not change.
type table struct {
	*rules
	nodes      framework.IndexedSnapshot
	generation int64
	columns    []column // one for each constraint
}

// column has the counts of one constraint.
type column struct {
	domains *topology.Domains
	// byDomain tells whether pods are added up by domain, and tracked whether the fewest of a domain are known too.
	byDomain, tracked bool
	// matching has the pods on the node in each slot which count if the node does, and counted the domain that they
	// were added to, topology.None if the node does not count.
	matching, counted []int32
	// sums are the pods of each domain, and members how many nodes of it count. A domain is known if it has any.
	sums    []int64
	members []int32
	known   int
	// fewest is the smallest sum of a known domain, math.MaxInt32 without any, and holders is how many have it.
	fewest  int64
	holders int
}

// newTable returns an empty table; hard tells that it is for constraints that keep pods from nodes.
func newTable(rules *rules, nodes framework.IndexedSnapshot, index *topology.Index, hard bool) *table {
	t := &table{rules: rules, nodes: nodes, columns: make([]column, len(rules.constraints))}
	for i := range t.columns {
		c := &rules.constraints[i]
		t.columns[i] = column{
			domains:  index.Domains(nodes, c.topologyKey),
			byDomain: hard || byDomain(c),
			tracked:  hard,
			fewest:   math.MaxInt32,
		}
	}
	return t
}

// Bytes is roughly how much memory the table takes.
func (t *table) Bytes() int {
	bytes := 512
	for i := range t.columns {
		c := &t.columns[i]
		bytes += 256 + 4*(cap(c.matching)+cap(c.counted)+cap(c.members)) + 8*cap(c.sums)
	}
	return bytes
}

// sync brings the table up to date with its nodes.
func (t *table) sync(index *topology.Index) {
	generation := t.nodes.Generation()
	if t.generation == generation {
		return
	}
	for i := range t.columns {
		index.Sync(t.nodes, t.columns[i].domains)
		t.columns[i].grow(t.nodes.IndexCount())
	}
	for _, slot := range index.Changes.Since(t.nodes, t.generation) {
		t.recount(slot)
	}
	for i := range t.columns {
		if c := &t.columns[i]; c.tracked && c.holders == 0 {
			c.findFewest()
		}
	}
	t.generation = generation
}

// recount counts the node in a slot anew.
func (t *table) recount(slot int) {
	info := t.nodes.NodeAt(slot)
	if info == nil || info.Node() == nil {
		for i := range t.columns {
			t.columns[i].set(slot, 0, topology.None)
		}
		return
	}
	counts := !t.allKeys || t.inAllDomains(slot)
	var verdict nodeVerdict
	if counts {
		verdict = t.judge(info.Node())
	}
	for i := range t.columns {
		c := &t.columns[i]
		domain := topology.None
		if counts && t.constraints[i].includes(verdict) {
			// Where a node without the key counts, it does so as one whose value is the empty text.
			domain = max(c.domains.BySlot()[slot], topology.Unnamed)
		}
		c.set(slot, t.matching(i, info), domain)
	}
}

// matching counts the pods on a node that a constraint is about.
func (t *table) matching(constraint int, info fwk.NodeInfo) int32 {
	return int32(t.count(&t.constraints[constraint], info))
}

// inAllDomains tells whether the node in a slot has all topology keys.
func (t *table) inAllDomains(slot int) bool {
	for i := range t.columns {
		if t.columns[i].domains.BySlot()[slot] == topology.None {
			return false
		}
	}
	return true
}

func (c *column) grow(slots int) {
	for len(c.matching) < slots {
		c.matching, c.counted = append(c.matching, 0), append(c.counted, topology.None)
	}
	if missing := c.domains.Size() - len(c.sums); missing > 0 && c.byDomain {
		c.sums = append(c.sums, make([]int64, missing)...)
		c.members = append(c.members, make([]int32, missing)...)
	}
}

// set takes over what a slot counts now, and the domain that it counts for.
func (c *column) set(slot int, matching, domain int32) {
	before, counted := c.matching[slot], c.counted[slot]
	if before == matching && counted == domain {
		return
	}
	c.matching[slot], c.counted[slot] = matching, domain
	if !c.byDomain {
		return
	}
	if domain != topology.None {
		c.add(domain, int64(matching), 1)
	}
	if counted != topology.None {
		c.add(counted, -int64(before), -1)
	}
}

// add adds pods and nodes to a domain, and keeps the fewest right as long as holders is not zero: no domain is below it.
func (c *column) add(domain int32, pods int64, nodes int32) {
	if c.members[domain] > 0 {
		c.known--
		if c.sums[domain] == c.fewest {
			c.holders--
		}
	}
	c.sums[domain] += pods
	c.members[domain] += nodes
	if c.members[domain] == 0 {
		return
	}
	c.known++
	switch sum := c.sums[domain]; {
	case sum < c.fewest:
		c.fewest, c.holders = sum, 1
	case sum == c.fewest:
		c.holders++
	}
}

// findFewest looks at all domains.
func (c *column) findFewest() {
	c.fewest, c.holders = math.MaxInt32, 0
	for domain, sum := range c.sums {
		if c.members[domain] == 0 {
			continue
		}
		switch {
		case sum < c.fewest:
			c.fewest, c.holders = sum, 1
		case sum == c.fewest:
			c.holders++
		}
	}
}

// sum returns the pods of a domain, and whether the domain is known.
func (c *column) sum(value string) (pods int64, known bool) {
	domain := c.domains.Number(value)
	if domain == topology.None || int(domain) >= len(c.sums) || c.members[domain] == 0 {
		return 0, false
	}
	return c.sums[domain], true
}
