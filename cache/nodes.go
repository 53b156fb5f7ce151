// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/node/topology"
)

// AddNode takes a node. Pods on it that are already known, because they arrived first or because the node was removed
// before they were, count on it. Adding a node that is there is an update. It is an error if the node has no name.
func (c *Cache) AddNode(node *v1.Node) error {
	if node == nil || node.Name == "" {
		return errors.New("adding a node to the scheduler cache: the node has no name")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.putNode(node)
	return nil
}

// UpdateNode takes the newest version of a node, found by its name. Updating a node that is not there adds it. It is an
// error if the node has no name.
func (c *Cache) UpdateNode(node *v1.Node) error {
	if node == nil || node.Name == "" {
		return errors.New("updating a node in the scheduler cache: the node has no name")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.putNode(node)
	return nil
}

func (c *Cache) putNode(node *v1.Node) {
	entry := c.entry(node.Name)
	if entry.live() && onlyHeartbeat(entry.info.Node(), node) && c.images.upToDate(&entry.images, node) {
		entry.writable().SetNode(node)
		c.indexes.recordHeartbeat(entry)
		return
	}
	zone := topology.GetZoneKey(node)
	switch {
	case !entry.live():
		c.indexes.assign(entry)
		c.zones.add(zone, entry.index)
	case entry.zone != zone:
		c.zones.remove(entry.zone, entry.index)
		c.zones.add(zone, entry.index)
	}
	entry.zone = zone
	c.images.replace(&entry.images, node)
	entry.writable().SetNode(node)
	c.indexes.recordChange(entry)
}

// RemoveNode removes a node, of which only the name counts. Its pods stay in the cache until they are removed
// themselves. It is an error if the node is not there.
func (c *Cache) RemoveNode(node *v1.Node) error {
	if node == nil {
		return errors.New("removing a node from the scheduler cache: the node is nil")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	entry, ok := c.nodes[node.Name]
	if !ok {
		return fmt.Errorf("node %v is not found", node.Name)
	}
	if !entry.live() {
		return fmt.Errorf("node %q in group %q was not found", node.Name, topology.GetZoneKey(node))
	}
	c.images.replace(&entry.images, nil)
	c.zones.remove(entry.zone, entry.index)
	entry.writable().RemoveNode()
	c.indexes.release(entry)
	c.dropIfUnused(entry)
	return nil
}

// TouchNode has a node count as changed, because something changed that plugins look at together with the node. A node
// that is not there is left alone.
func (c *Cache) TouchNode(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if entry, ok := c.nodes[name]; ok && entry.live() {
		entry.bumpGeneration()
		c.indexes.recordChange(entry)
	}
}
