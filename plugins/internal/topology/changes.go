// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package topology

import "github.com/rouse-scheduler/rouse/framework"

// Changes keeps the last answer of framework.IndexedSnapshot.ChangedSince, since most of what is brought up to date in a
// cycle asks the same question, and an answer costs allocations. It is no log of changes: the snapshot has that, and lists
// each node once, however often it changed. The log that package runtime reads from lists a node as often as it changed,
// which would not do here, where to count a node again means to look at all its pods.
//
// The zero value is ready. It serves one snapshot, and is not safe for concurrent use.
type Changes struct {
	from, to int64
	indexes  []int
}

// Since returns the indexes of the nodes that changed after a generation. The list must not be changed; later calls don't
// change it.
func (c *Changes) Since(nodes framework.IndexedSnapshot, generation int64) []int {
	now := nodes.Generation()
	if c.to == now && c.from == generation && now != 0 {
		return c.indexes
	}
	c.from, c.to, c.indexes = generation, now, make([]int, 0, 4)
	for index := range nodes.ChangedSince(generation) {
		c.indexes = append(c.indexes, index)
	}
	return c.indexes
}
