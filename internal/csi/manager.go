// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package csi has the CSINodes of the cluster, and a list of the objects about volumes that changed. With it, the plugins for
// volumes can tell of which nodes they have to think again.
package csi

import (
	"sync"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	clientcache "k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"
)

var _ fwk.CSIManager = &Manager{}

// maxChanges is how many changes are kept. Whoever missed more has to look at everything again.
const maxChanges = 1 << 14

// Kind is what a [Change] is a change of.
type Kind int

// The kinds of changes.
const (
	// NodeChange is one of the CSINode of a node, or of the VolumeAttachments there; the name is that of the node.
	NodeChange Kind = iota
	// ClaimChange is one of a PersistentVolumeClaim, named namespace/name.
	ClaimChange
	// VolumeChange is one of a PersistentVolume.
	VolumeChange
)

// Change says that an object is another one than before, or came, or went.
type Change struct {
	Kind Kind
	Name string
}

// Manager implements fwk.CSIManager. Make one with [New]. All methods may be called concurrently.
type Manager struct {
	factory informers.SharedInformerFactory

	classes, migrations, capacities atomic.Uint64

	mu sync.Mutex
	// followed are the kinds of objects that plugins have to hear of; sealed tells that no more can be added.
	followed map[fwk.EventResource]bool
	sealed   bool
	// changes are those from position first on.
	changes []Change
	first   uint64
}

// New returns a manager that hears of objects through the handlers of [Manager.Handler].
func New(factory informers.SharedInformerFactory) *Manager {
	return &Manager{factory: factory, followed: map[fwk.EventResource]bool{}}
}

// CSINodes implements fwk.CSIManager. Whoever calls it has the factory watch CSINodes.
func (m *Manager) CSINodes() fwk.CSINodeLister {
	return nodeLister{m.factory.Storage().V1().CSINodes().Lister()}
}

type nodeLister struct {
	lister storagelisters.CSINodeLister
}

// List implements fwk.CSINodeLister.
func (l nodeLister) List() ([]*storagev1.CSINode, error) { return l.lister.List(labels.Everything()) }

// Get implements fwk.CSINodeLister.
func (l nodeLister) Get(name string) (*storagev1.CSINode, error) { return l.lister.Get(name) }

// Follow is called by a plugin when it is built, with the kinds of objects whose changes it has to hear of. It returns false if
// it is too late for that, because the handlers are there already and follow others.
func (m *Manager) Follow(kinds ...fwk.EventResource) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, kind := range kinds {
		if m.sealed && !m.followed[kind] {
			return false
		}
		m.followed[kind] = true
	}
	return true
}

// Follows reports whether the handlers of a kind have to be those of [Manager.Handler]. It is called when all plugins are
// built.
func (m *Manager) Follows(kind fwk.EventResource) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sealed = true
	return m.followed[kind]
}

// Handler returns a handler for the informer of a kind that takes notice of a change before another handler does. So what
// wakes pods because of a change can't be ahead of the plugins.
func (m *Manager) Handler(kind fwk.EventResource, next clientcache.ResourceEventHandler) clientcache.ResourceEventHandler {
	return &handler{ResourceEventHandler: next, manager: m, kind: kind}
}

// Position is that after the latest change.
func (m *Manager) Position() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.first + uint64(len(m.changes))
}

// Since returns the changes from a position on, and the position after them. It returns false if so many were missed that they
// are not known.
func (m *Manager) Since(position uint64) (changes []Change, end uint64, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	end = m.first + uint64(len(m.changes))
	switch {
	case position < m.first:
		return nil, end, false
	case position == end:
		return nil, end, true
	}
	return append([]Change{}, m.changes[position-m.first:]...), end, true
}

// Classes grows when a StorageClass comes, goes, or gets another provisioner.
func (m *Manager) Classes() uint64 { return m.classes.Load() }

// Migrations grows when a node leaves the volumes of other in-tree plugins to CSI drivers than before.
func (m *Manager) Migrations() uint64 { return m.migrations.Load() }

// Capacities grows when any CSIStorageCapacity does, or gets another one.
func (m *Manager) Capacities() uint64 { return m.capacities.Load() }

// record enters a change.
func (m *Manager) record(kind Kind, name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.changes) >= maxChanges {
		dropped := maxChanges / 2
		m.first += uint64(dropped)
		m.changes = append(m.changes[:0], m.changes[dropped:]...)
	}
	m.changes = append(m.changes, Change{kind, name})
}

// changed takes notice of what an object was, and of what it is; either may be nil.
func (m *Manager) changed(kind fwk.EventResource, before, after any) {
	switch kind {
	case fwk.CSINode:
		m.csiNodeChanged(typed[storagev1.CSINode](before), typed[storagev1.CSINode](after))
	case fwk.VolumeAttachment:
		for _, attachment := range []*storagev1.VolumeAttachment{typed[storagev1.VolumeAttachment](before), typed[storagev1.VolumeAttachment](after)} {
			if attachment != nil && attachment.Spec.NodeName != "" {
				m.record(NodeChange, attachment.Spec.NodeName)
			}
		}
	case fwk.StorageClass:
		before, after := typed[storagev1.StorageClass](before), typed[storagev1.StorageClass](after)
		if before == nil || after == nil || before.Provisioner != after.Provisioner {
			m.classes.Add(1)
		}
	case fwk.CSIStorageCapacity:
		m.capacities.Add(1)
	case fwk.PersistentVolumeClaim:
		if claim := either(typed[v1.PersistentVolumeClaim](before), typed[v1.PersistentVolumeClaim](after)); claim != nil {
			m.record(ClaimChange, claim.Namespace+"/"+claim.Name)
		}
	case fwk.PersistentVolume:
		if volume := either(typed[v1.PersistentVolume](before), typed[v1.PersistentVolume](after)); volume != nil {
			m.record(VolumeChange, volume.Name)
		}
	}
}

func (m *Manager) csiNodeChanged(before, after *storagev1.CSINode) {
	if node := either(before, after); node != nil {
		m.record(NodeChange, node.Name)
	}
	if before == nil || after == nil ||
		before.Annotations[v1.MigratedPluginsAnnotationKey] != after.Annotations[v1.MigratedPluginsAnnotationKey] {
		m.migrations.Add(1)
	}
}

func either[T any](before, after *T) *T {
	if after != nil {
		return after
	}
	return before
}

// typed returns an object of a type, nil if it is none; the last known state if it was deleted unnoticed.
func typed[T any](object any) *T {
	if tombstone, ok := object.(clientcache.DeletedFinalStateUnknown); ok {
		object = tombstone.Obj
	}
	of, _ := object.(*T)
	return of
}

// handler tells the manager first.
type handler struct {
	clientcache.ResourceEventHandler
	manager *Manager
	kind    fwk.EventResource
}

// OnAdd implements clientcache.ResourceEventHandler.
func (h *handler) OnAdd(object any, isInInitialList bool) {
	h.manager.changed(h.kind, nil, object)
	h.ResourceEventHandler.OnAdd(object, isInInitialList)
}

// OnUpdate implements clientcache.ResourceEventHandler.
func (h *handler) OnUpdate(before, after any) {
	h.manager.changed(h.kind, before, after)
	h.ResourceEventHandler.OnUpdate(before, after)
}

// OnDelete implements clientcache.ResourceEventHandler.
func (h *handler) OnDelete(object any) {
	h.manager.changed(h.kind, object, nil)
	h.ResourceEventHandler.OnDelete(object)
}
