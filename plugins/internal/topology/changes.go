// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package topology

import "github.com/rouse-scheduler/rouse/framework"

// Changes remembers which slots changed last, since whatever is brought up to date in a cycle mostly wants to know the
// same. The zero value remembers nothing. It serves one snapshot, and is not safe for concurrent use.
type Changes struct {
	from, to int64
	slots    []int
}

// Since returns the slots that changed after a generation. The list must not be changed; later calls don't change it.
func (c *Changes) Since(nodes framework.IndexedSnapshot, generation int64) []int {
	now := nodes.Generation()
	if c.to == now && c.from == generation && now != 0 {
		return c.slots
	}
	c.from, c.to, c.slots = generation, now, make([]int, 0, 4)
	for slot := range nodes.ChangedSince(generation) {
		c.slots = append(c.slots, slot)
	}
	return c.slots
}
