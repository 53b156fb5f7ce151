// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"maps"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/structured"
)

// View is what one node sees of devices: every slice of the pools that have devices for it, or may have, and what is
// allocated of these pools. It never changes; when something that it shows does, there is another one.
type View struct {
	// Slices are those of the pools of the node, by driver, pool and name.
	Slices []*resourceapi.ResourceSlice
	// State is what is allocated of these pools. It must not be changed.
	State structured.AllocatedState
	// Kind is the same for all views that are alike.
	Kind *Kind
	// Portable reports whether devices that are chosen from the view can be used from every node that has it.
	Portable bool

	members []*members
	counts  counts
	reach   *reach
	// version is the newest of the pools in the reach.
	version   uint64
	once      sync.Once
	allocator structured.Allocator
	err       error
}

// Allocator returns what make returns when it is first called for the view.
func (v *View) Allocator(make func(*View) (structured.Allocator, error)) (structured.Allocator, error) {
	v.once.Do(func() { v.allocator, v.err = make(v) })
	return v.allocator, v.err
}

// View returns what a node sees. As long as nothing changes for the node, it is the same one. Nodes without devices of their
// own that reach the same shared ones have the same view.
func (m *Manager) View(node *v1.Node) *View {
	m.mu.RLock()
	view := m.knownView(node.Name, m.reaches.known(m, node))
	m.mu.RUnlock()
	if view != nil {
		return view
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	reached := m.reaches.of(m, node)
	view = m.knownView(node.Name, reached)
	if view == nil {
		view = m.newView(node.Name, reached)
		if len(m.private[node.Name]) > 0 {
			m.views[node.Name] = view
		} else {
			reached.view = view
		}
	}
	return view
}

// knownView returns the view of a node with a reach, if it is up to date. The caller holds the lock.
func (m *Manager) knownView(nodeName string, reached *reach) *View {
	if reached == nil {
		return nil
	}
	view := reached.view
	if len(m.private[nodeName]) > 0 {
		view = m.views[nodeName]
	}
	if view == nil || view.reach != reached || view.version != reached.version() {
		return nil
	}
	return view
}

// newView makes a view. The caller holds the lock.
func (m *Manager) newView(nodeName string, reached *reach) *View {
	private := m.private[nodeName]
	seen := slices.AppendSeq(slices.Clone(reached.pools), maps.Values(private))
	slices.SortFunc(seen, func(a, b *pool) int { return a.id.compare(b.id) })
	view := &View{State: *newState(), reach: reached, version: reached.version(), Portable: len(private) == 0 && !reached.single}
	key := appendString(nil, reached.key)
	for _, p := range seen {
		view.Slices = append(view.Slices, p.sorted...)
		view.members = append(view.members, p.members)
		p.addTo(&view.State)
		key = p.appendKind(key)
	}
	view.Kind = m.kind(key)
	return view
}

// SharedVersion changes when something changes that more than one node sees.
func (m *Manager) SharedVersion() uint64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.sharedVersion
}
