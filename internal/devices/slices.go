// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"cmp"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	clientcache "k8s.io/client-go/tools/cache"
)

// sliceHandler follows the slices.
func (m *Manager) sliceHandler() clientcache.ResourceEventHandler {
	return clientcache.ResourceEventHandlerFuncs{
		AddFunc:    func(added any) { m.sliceChanged(nil, sliceOf(added)) },
		UpdateFunc: func(old, current any) { m.sliceChanged(sliceOf(old), sliceOf(current)) },
		DeleteFunc: func(deleted any) { m.sliceChanged(sliceOf(deleted), nil) },
	}
}

// sliceOf returns a slice that an informer hands out; nil if it is none.
func sliceOf(object any) *resourceapi.ResourceSlice {
	if tombstone, ok := object.(clientcache.DeletedFinalStateUnknown); ok {
		object = tombstone.Obj
	}
	slice, _ := object.(*resourceapi.ResourceSlice)
	return slice
}

func poolOf(slice *resourceapi.ResourceSlice) poolID {
	return poolID{slice.Spec.Driver, slice.Spec.Pool.Name}
}

// sliceChanged follows one event. The tracker delivers the events of slices and of taint rules in two goroutines, which may
// overtake each other: an event that does not begin where the one before it ended says only that something changed.
func (m *Manager) sliceChanged(old, current *resourceapi.ResourceSlice) {
	first := cmp.Or(old, current)
	if first == nil {
		return // not an object of the tracker
	}
	m.mu.Lock()
	affected, name := sets.New[string](), first.Name
	if known := m.knownSlices[name]; known != old {
		old, current = known, m.latestSlice(name)
	}
	delete(m.knownSlices, name)
	if current != nil {
		m.knownSlices[name] = current
	}
	if old != nil && (current == nil || poolOf(old) != poolOf(current)) {
		m.withSlices(poolOf(old), affected, func(p *pool) { delete(p.slices, old.Name) })
	}
	if current != nil {
		m.withSlices(poolOf(current), affected, func(p *pool) { p.slices[current.Name] = current })
	}
	m.mu.Unlock()
	m.touch(affected)
}

// latestSlice returns what the tracker has; nil if there is no slice of the name.
func (m *Manager) latestSlice(name string) *resourceapi.ResourceSlice {
	slices, err := m.slices.ListPatchedResourceSlices() // it does not fail
	if err != nil {
		return nil
	}
	for _, slice := range slices {
		if slice.Name == name {
			return slice
		}
	}
	return nil
}

// withSlices changes the slices of a pool. The caller holds the lock.
func (m *Manager) withSlices(id poolID, affected sets.Set[string], change func(*pool)) {
	m.withPool(id, affected, func(p *pool) {
		wasShared := p.shared()
		change(p)
		p.arrange()
		if wasShared || p.shared() {
			m.reaches.forget()
		}
	})
}

// withPool changes a pool and everything that depends on it. The nodes that saw it, or see it now, and no other node does,
// are added to those that are affected. The caller holds the lock.
func (m *Manager) withPool(id poolID, affected sets.Set[string], change func(*pool)) {
	p := m.pools[id]
	if p == nil {
		p = newPool(id)
		m.pools[id] = p
	}
	before, wasShared := p.node, p.shared()
	change(p)
	m.version++
	p.version = m.version
	if wasShared || p.shared() {
		m.sharedVersion = m.version
	}
	if p.shared() {
		m.shared[id] = p
	} else {
		delete(m.shared, id)
	}
	if before != "" {
		affected.Insert(before)
		delete(m.private[before], id)
		if len(m.private[before]) == 0 {
			delete(m.private, before)
		}
		delete(m.views, before)
	}
	if p.node != "" {
		affected.Insert(p.node)
		if m.private[p.node] == nil {
			m.private[p.node] = map[poolID]*pool{}
		}
		m.private[p.node][id] = p
		delete(m.views, p.node)
	}
	if p.empty() {
		delete(m.pools, id)
	}
}

// touch tells of nodes that are affected by a change. The caller does not hold the lock.
func (m *Manager) touch(affected sets.Set[string]) {
	for node := range affected {
		m.touched(node)
	}
}
