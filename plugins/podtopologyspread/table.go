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
	counts     []constraintCounts // one for each constraint
}

// constraintCounts are the counts of one constraint.
type constraintCounts struct {
	domains *topology.Domains
	// byDomain reports whether pods are added up by domain, and tracked whether the fewest of a domain are known too.
	byDomain, tracked bool
	// matching has, by node index, the pods on the node that count if the node does, and counted the domain that they
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

// newTable returns an empty table; hard says that it is for constraints that keep pods from nodes.
func newTable(rules *rules, nodes framework.IndexedSnapshot, shared *topology.SharedDomains, hard bool) *table {
	t := &table{rules: rules, nodes: nodes, counts: make([]constraintCounts, len(rules.constraints))}
	for i := range t.counts {
		c := &rules.constraints[i]
		t.counts[i] = constraintCounts{
			domains:  shared.Domains(nodes, c.topologyKey),
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
	for i := range t.counts {
		c := &t.counts[i]
		bytes += 256 + 4*(cap(c.matching)+cap(c.counted)+cap(c.members)) + 8*cap(c.sums)
	}
	return bytes
}

// sync brings the table up to date with its nodes.
func (t *table) sync(shared *topology.SharedDomains) {
	generation := t.nodes.Generation()
	if t.generation == generation {
		return
	}
	for i := range t.counts {
		shared.Sync(t.nodes, t.counts[i].domains)
		t.counts[i].grow(t.nodes.IndexCount())
	}
	for _, index := range shared.Changes.Since(t.nodes, t.generation) {
		t.recount(index)
	}
	for i := range t.counts {
		if c := &t.counts[i]; c.tracked && c.holders == 0 {
			c.findFewest()
		}
	}
	t.generation = generation
}

// recount counts the node at an index again.
func (t *table) recount(index int) {
	info := t.nodes.NodeAt(index)
	if info == nil || info.Node() == nil {
		for i := range t.counts {
			t.counts[i].set(index, 0, topology.None)
		}
		return
	}
	included := !t.allKeys || t.inAllDomains(index)
	var eligibility nodeEligibility
	if included {
		eligibility = t.eligibility(info.Node())
	}
	for i := range t.counts {
		c := &t.counts[i]
		domain := topology.None
		if included && t.constraints[i].includes(eligibility) {
			// Where a node without the key counts, it does so as one whose value is the empty text.
			domain = max(c.domains.ByNode()[index], topology.Unnamed)
		}
		c.set(index, t.matching(i, info), domain)
	}
}

// matching counts the pods on a node that a constraint is about.
func (t *table) matching(constraint int, info fwk.NodeInfo) int32 {
	return int32(t.count(&t.constraints[constraint], info))
}

// inAllDomains reports whether the node at an index has all topology keys.
func (t *table) inAllDomains(index int) bool {
	for i := range t.counts {
		if t.counts[i].domains.ByNode()[index] == topology.None {
			return false
		}
	}
	return true
}

func (c *constraintCounts) grow(indexes int) {
	for len(c.matching) < indexes {
		c.matching, c.counted = append(c.matching, 0), append(c.counted, topology.None)
	}
	if missing := c.domains.Size() - len(c.sums); missing > 0 && c.byDomain {
		c.sums = append(c.sums, make([]int64, missing)...)
		c.members = append(c.members, make([]int32, missing)...)
	}
}

// set records what the node at an index counts now, and the domain that it counts for.
func (c *constraintCounts) set(index int, matching, domain int32) {
	before, counted := c.matching[index], c.counted[index]
	if before == matching && counted == domain {
		return
	}
	c.matching[index], c.counted[index] = matching, domain
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
func (c *constraintCounts) add(domain int32, pods int64, nodes int32) {
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
func (c *constraintCounts) findFewest() {
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
func (c *constraintCounts) sum(value string) (pods int64, known bool) {
	domain := c.domains.Number(value)
	if domain == topology.None || int(domain) >= len(c.sums) || c.members[domain] == 0 {
		return 0, false
	}
	return c.sums[domain], true
}
