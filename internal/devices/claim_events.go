// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package devices

import (
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	clientcache "k8s.io/client-go/tools/cache"
)

// claimHandler is told about changes of claims.
type claimHandler struct {
	clientcache.ResourceEventHandler
	manager *Manager
}

// HasSynced implements clientcache.ResourceEventHandlerRegistration.
func (h *claimHandler) HasSynced() bool { return h.manager.listening.claims.HasSynced() }

// HasSyncedChecker implements clientcache.ResourceEventHandlerRegistration.
func (h *claimHandler) HasSyncedChecker() clientcache.DoneChecker {
	return h.manager.listening.claims.HasSyncedChecker()
}

// addClaimHandler adds a handler, which hears of the claims that there are before the call returns.
func (m *Manager) addClaimHandler(handler clientcache.ResourceEventHandler) clientcache.ResourceEventHandlerRegistration {
	added := &claimHandler{ResourceEventHandler: handler, manager: m}
	claims, _ := (*Claims)(m).List() // never fails
	m.mu.Lock()
	m.handlers = append(m.handlers, added)
	for _, claim := range claims {
		m.events = append(m.events, func() { handler.OnAdd(claim, true) })
	}
	m.mu.Unlock()
	m.deliver()
	return added
}

// note has the handlers told of a change; nil is a claim that is not there. The caller holds the lock.
func (m *Manager) note(old, current *resourceapi.ResourceClaim) {
	for _, handler := range m.handlers {
		m.events = append(m.events, func() {
			switch {
			case old == nil:
				handler.OnAdd(current, false)
			case current == nil:
				handler.OnDelete(old)
			default:
				handler.OnUpdate(old, current)
			}
		})
	}
}

// deliver calls handlers for what waits, in order. If another goroutine does so already, it is left to that. The caller
// does not hold the lock.
func (m *Manager) deliver() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.delivering {
		return
	}
	m.delivering = true
	for len(m.events) > 0 {
		event := m.events[0]
		m.events[0] = nil
		m.events = m.events[1:]
		m.mu.Unlock()
		event()
		m.mu.Lock()
	}
	m.delivering = false
}

// claimInformerHandler follows the informer of claims.
func (m *Manager) claimInformerHandler() clientcache.ResourceEventHandler {
	return clientcache.ResourceEventHandlerFuncs{
		AddFunc:    m.claimStored,
		UpdateFunc: func(_, current any) { m.claimStored(current) },
		DeleteFunc: m.claimDeleted,
	}
}

// claimStored takes notice of a version of a claim that the informer has. One that is known already, because a plugin
// wrote it, is no news, and neither is an older one. A claim with another UID is another claim.
func (m *Manager) claimStored(object any) {
	claim, ok := object.(*resourceapi.ResourceClaim)
	if !ok {
		return
	}
	affected := sets.New[string]()
	m.mu.Lock()
	latest := m.claims[claimKey(claim)]
	m.awaited.Delete(claimKey(claim))
	if latest == nil || latest.UID != claim.UID && !isOlder(claim, latest) || isOlder(latest, claim) {
		m.replace(latest, claim, affected)
	}
	m.mu.Unlock()
	m.touch(affected)
	m.deliver()
}

// claimDeleted forgets a claim. The devices that it is known to have are free again, whatever the informer saw of it last.
func (m *Manager) claimDeleted(object any) {
	key, err := clientcache.DeletionHandlingMetaNamespaceKeyFunc(object)
	if err != nil {
		return // not an object of the informer
	}
	affected := sets.New[string]()
	m.mu.Lock()
	if latest := m.claims[key]; latest != nil {
		m.forget(key, latest, affected)
	}
	m.mu.Unlock()
	m.touch(affected)
	m.deliver()
}

// forget drops a claim. The caller holds the lock.
func (m *Manager) forget(key string, latest *resourceapi.ResourceClaim, affected sets.Set[string]) {
	delete(m.claims, key)
	m.awaited.Delete(key)
	m.recount(latest, nil, affected)
	m.note(latest, nil)
}
