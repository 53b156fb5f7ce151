// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"maps"
	"math"
	"slices"
)

// Counter is a number for each domain of one topology key. The zero value has no domains.
//
// It is built once a scheduling cycle and cloned for every node that is looked at under other circumstances than they
// are. So clones share the names of the domains, of which there may be as many as nodes, and own only the numbers.
type Counter struct {
	// positions finds the numbers. Once the counter is frozen, it is replaced instead of changed.
	positions map[string]int
	frozen    bool
	counts    []int64
}

// NewCounter returns a counter without domains, with room for some.
func NewCounter(domains int) Counter {
	return Counter{positions: make(map[string]int, domains), counts: make([]int64, 0, domains)}
}

// Add adds to the number of a domain, which may be negative or nothing, and returns what the number was before; known
// is false if the domain is new.
func (c *Counter) Add(domain string, delta int64) (before int64, known bool) {
	position, known := c.positions[domain]
	if known {
		before = c.counts[position]
		c.counts[position] += delta
		return before, true
	}
	switch {
	case c.positions == nil:
		c.positions = map[string]int{}
	case c.frozen:
		c.positions = maps.Clone(c.positions)
	}
	c.positions[domain] = len(c.counts)
	c.counts = append(c.counts, delta)
	return 0, false
}

// Count returns the number of a domain, zero if there is no such domain.
func (c *Counter) Count(domain string) int64 {
	if position, known := c.positions[domain]; known {
		return c.counts[position]
	}
	return 0
}

// Has tells whether there is such a domain.
func (c *Counter) Has(domain string) bool {
	_, known := c.positions[domain]
	return known
}

// Len returns the number of domains.
func (c *Counter) Len() int { return len(c.counts) }

// Least returns the smallest number of any domain, math.MaxInt32 without domains. It looks at all of them.
func (c *Counter) Least() int64 {
	if len(c.counts) == 0 {
		return math.MaxInt32
	}
	return slices.Min(c.counts)
}

// Freeze has to be called before the first Clone. It makes clones cheap and new domains expensive.
func (c *Counter) Freeze() { c.frozen = true }

// Clone returns an independent copy, which is frozen like the original has to be. It may be called concurrently.
func (c *Counter) Clone() Counter {
	return Counter{positions: c.positions, frozen: true, counts: slices.Clone(c.counts)}
}
