// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import "github.com/rouse-scheduler/rouse/framework"

// noSlot is the slot of an entry without a node object.
const noSlot = -1

// nodeEntry is what the cache knows under the name of a node. While there is a node object the entry is live: it has a
// slot and a place in the zone order. Otherwise it exists for the sake of its pods alone.
type nodeEntry struct {
	name string
	info *framework.NodeInfo
	slot int
	// zone is the key that the entry has in the zone order; it means nothing unless the entry is live.
	zone   string
	images imagesOfNode
}

func (e *nodeEntry) live() bool { return e.slot != noSlot }

// entry returns the entry of a node, making one if there is none.
func (c *Cache) entry(name string) *nodeEntry {
	e, ok := c.nodes[name]
	if !ok {
		e = &nodeEntry{name: name, info: c.generations.NewNodeInfo(), slot: noSlot}
		c.nodes[name] = e
	}
	return e
}

// dropIfUnused removes an entry that has neither a node object nor pods.
func (c *Cache) dropIfUnused(e *nodeEntry) {
	if !e.live() && len(e.info.GetPods()) == 0 {
		delete(c.nodes, e.name)
	}
}
