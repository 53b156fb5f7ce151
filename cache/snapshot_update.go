// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"errors"
	"fmt"
	"slices"

	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// UpdateSnapshot brings a snapshot up to date. The cost follows the number of nodes that changed since the last update
// of this snapshot; only when nodes came or went are the lists rebuilt. It is an error if the snapshot belongs to
// another cache. It is also an error if the snapshot was found damaged, which happens only if it was updated by two
// goroutines at once; it is then rebuilt and right.
//
// No other goroutine may use the snapshot meanwhile; the cache may be used.
func (c *Cache) UpdateSnapshot(s *Snapshot) error {
	if s == nil {
		return errors.New("updating a snapshot: the snapshot is nil")
	}
	if s.source != nil && s.source != c {
		return errors.New("updating a snapshot: it belongs to another cache; use a snapshot of its own for each cache")
	}
	c.mu.Lock() // it remembers what plugins see of images
	defer c.mu.Unlock()
	s.source = c
	s.session.Store(nil)
	s.update()
	if len(s.list.nodes) == c.zones.size && len(s.byName) == c.zones.size {
		return nil
	}
	err := fmt.Errorf("snapshot state is not consistent, %d nodes listed and %d known of %d in the cache, trying to recover",
		len(s.list.nodes), len(s.byName), c.zones.size)
	*s = Snapshot{source: c}
	s.update()
	return err
}

// update copies what changed in the cache, which is locked.
func (s *Snapshot) update() {
	defer s.restoreLists()
	c := s.source
	s.changed = slices.AppendSeq(s.changed[:0], c.indexes.changes.since(s.generation))
	if len(s.changed) == 0 {
		return
	}
	s.prepare(len(c.indexes.entries))
	if s.copyChanged() {
		s.rebuildLists()
	} else {
		for _, index := range s.changed {
			if node := s.byIndex[index]; node != nil {
				s.list.replace(node.position, node.info)
				s.order[node.position] = index
				s.updateSublists(node)
			}
		}
	}
	s.generation = c.indexes.changes.latest()
}

func (s *Snapshot) prepare(indexCount int) {
	if s.byName == nil {
		s.byName = map[string]*snapshotNode{}
		s.claims = claimCounts{}
	}
	if missing := indexCount - len(s.byIndex); missing > 0 {
		s.byIndex = append(s.byIndex, make([]*snapshotNode, missing)...)
	}
}

// copyChanged copies the nodes with changed indexes, the oldest change first, and reports whether the set of node names is another
// one now. A node that left one node index and came back in another is still the same name.
func (s *Snapshot) copyChanged() (namesChanged bool) {
	c := s.source
	var displaced []*snapshotNode
	for _, index := range slices.Backward(s.changed) {
		entry := c.indexes.entries[index]
		if entry == nil || entry.changedAt > s.generation {
			s.changes.record(index, c.indexes.changes.changedAt(index))
		}
		if old := s.byIndex[index]; old != nil && old.index == index && (entry == nil || old.name != entry.name) {
			old.index = noIndex
			displaced = append(displaced, old)
		}
		if entry == nil {
			s.byIndex[index] = nil
			continue
		}
		node, ok := s.byName[entry.name]
		if !ok {
			node = &snapshotNode{name: entry.name}
			s.byName[entry.name] = node
			namesChanged = true
		}
		node.index = index
		s.byIndex[index] = node
		s.copyEntry(node, entry)
	}
	for _, node := range displaced {
		if node.index == noIndex {
			s.claims.replace(framework.View(node.info).ClaimCounts(), nil)
			delete(s.byName, node.name)
			namesChanged = true
		}
	}
	return namesChanged
}

func (s *Snapshot) copyEntry(node *snapshotNode, entry *nodeEntry) {
	var before map[string]int
	if node.info != nil {
		before = framework.View(node.info).ClaimCounts()
	}
	if entry.touched {
		node.info = entry.share(entry.images.summaries, false)
	} else {
		node.info = entry.share(s.source.images.summaries(&entry.images))
	}
	node.affinity = len(framework.View(node.info).PodsWithAffinity()) > 0
	node.antiAffinity = len(framework.View(node.info).PodsWithRequiredAntiAffinity()) > 0
	s.claims.replace(before, framework.View(node.info).ClaimCounts())
}

// rebuildLists makes all lists, in the cache's present order.
func (s *Snapshot) rebuildLists() {
	s.order = s.source.zones.list()
	s.affinity, s.antiAffinity = sublist{}, sublist{}
	nodes := make([]fwk.NodeInfo, 0, len(s.order))
	for _, index := range s.order {
		if node := s.byIndex[index]; node != nil {
			node.position = len(nodes)
			nodes = append(nodes, node.info)
			s.updateSublists(node)
		}
	}
	s.list = newNodeList(nodes)
}

// restoreLists undoes what callers have done to the lists.
func (s *Snapshot) restoreLists() {
	s.list.restore()
	s.affinity.nodes.restore()
	s.antiAffinity.nodes.restore()
}

// updateSublists enters a node that has its place in the node list into the shorter lists, or takes it out of them.
func (s *Snapshot) updateSublists(node *snapshotNode) {
	s.affinity.set(node.position, node.info, node.affinity)
	s.antiAffinity.set(node.position, node.info, node.antiAffinity)
}
