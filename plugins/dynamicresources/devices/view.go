// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"maps"
	"slices"
	"sync"

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

	// Uniform tells that every device can be reached from all nodes, so that nodes with the view get the same devices.
	Uniform bool

	sharedVersion uint64
	once          sync.Once
	allocator     structured.Allocator
	err           error
}

// Allocator returns what make returns when it is first called for the view.
func (v *View) Allocator(make func(*View) (structured.Allocator, error)) (structured.Allocator, error) {
	v.once.Do(func() { v.allocator, v.err = make(v) })
	return v.allocator, v.err
}

// View returns what a node sees. As long as nothing changes for the node, it is the same one.
func (m *Manager) View(nodeName string) *View {
	m.mu.RLock()
	view := m.views[nodeName]
	current := view != nil && view.sharedVersion == m.sharedVersion
	if !current && len(m.private[nodeName]) == 0 {
		// All nodes without devices of their own see the same.
		nodeName = ""
		view = m.views[nodeName]
		current = view != nil && view.sharedVersion == m.sharedVersion
	}
	m.mu.RUnlock()
	if current {
		return view
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if view := m.views[nodeName]; view != nil && view.sharedVersion == m.sharedVersion {
		return view
	}
	seen := make([]*pool, 0, len(m.shared)+1)
	seen = slices.AppendSeq(seen, maps.Values(m.shared))
	seen = slices.AppendSeq(seen, maps.Values(m.private[nodeName]))
	slices.SortFunc(seen, func(a, b *pool) int { return a.id.compare(b.id) })
	view = &View{State: *newState(), Uniform: true, sharedVersion: m.sharedVersion}
	for _, p := range seen {
		view.Slices = append(view.Slices, p.sorted...)
		view.Uniform = view.Uniform && p.uniform
		p.addTo(&view.State)
	}
	m.views[nodeName] = view
	return view
}

// SharedVersion changes when something changes that more than one node sees.
func (m *Manager) SharedVersion() uint64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.sharedVersion
}
