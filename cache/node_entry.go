// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// noIndex is the node index of an entry without a node object.
const noIndex = -1

// nodeEntry is what the cache knows under the name of a node. While there is a node object the entry is live: it has a
// node index and a place in the zone order. Otherwise it exists for the sake of its pods alone.
type nodeEntry struct {
	name string
	// info is for reading; writable returns it for changing.
	info *framework.NodeInfo
	// shared reports whether snapshots have the node info too, and are not to see it change.
	shared bool
	index  int
	// zone is the key that the entry has in the zone order; it means nothing unless the entry is live.
	zone   string
	images imagesOfNode
	// changedAt is the generation of the last change that was more than a heartbeat.
	changedAt int64
	// touched reports that the node counts as changed since it was shared, and is not: its images stay as they were known.
	touched bool
}

func (e *nodeEntry) live() bool { return e.index != noIndex }

// writable returns the node info for the cache to change it.
func (e *nodeEntry) writable() *framework.NodeInfo {
	e.touched = false
	if e.shared {
		e.info, e.shared = e.info.Successor(), false
	}
	return e.info
}

// bumpGeneration has the node count as changed.
func (e *nodeEntry) bumpGeneration() {
	unchanged := e.shared || e.touched
	e.writable().SetNode(e.info.Node())
	e.touched = unchanged
}

// share returns the node info for a snapshot. Snapshots that have it already keep the images as they were at the time.
func (e *nodeEntry) share(images map[string]*fwk.ImageStateSummary, imagesChanged bool) *framework.NodeInfo {
	if !e.shared || imagesChanged {
		touched := e.touched
		e.writable().Freeze(images)
		e.shared, e.touched = true, touched
	}
	return e.info
}

// entry returns the entry of a node, making one if there is none.
func (c *Cache) entry(name string) *nodeEntry {
	e, ok := c.nodes[name]
	if !ok {
		e = &nodeEntry{name: name, info: c.generations.NewNodeInfo(), index: noIndex}
		c.nodes[name] = e
	}
	return e
}

// dropIfUnused removes an entry that has neither a node object nor pods.
func (c *Cache) dropIfUnused(e *nodeEntry) {
	if !e.live() && len(framework.View(e.info).Pods()) == 0 {
		delete(c.nodes, e.name)
	}
}
