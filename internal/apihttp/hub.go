// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package apihttp

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// keptChanges is how many changes a hub remembers, for watches that begin in the past.
const keptChanges = 1024

// Change is one object that was created, changed or deleted.
type Change struct {
	Resource schema.GroupVersionResource
	// Old is nil for a new object, New for a deleted one.
	Old, New Object
	// Version is that of the new state, which the watches show whatever the object says, or that at which the object was
	// deleted. Versions only grow.
	Version int64
}

// Hub tells watches about changes. It is safe for concurrent use.
type Hub struct {
	mu      sync.Mutex
	streams map[*stream]struct{}
	// recent has the latest changes, the oldest first; before is the version up to which changes are forgotten.
	recent []Change
	before int64
}

// NewHub returns a hub without watches.
func NewHub() *Hub { return &Hub{streams: make(map[*stream]struct{})} }

// Publish lets the watches that a change concerns know of it, and reports whether there are any.
func (h *Hub) Publish(change Change) (told bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.recent) >= 2*keptChanges {
		h.before = h.recent[keptChanges-1].Version
		h.recent = append(h.recent[:0:0], h.recent[keptChanges:]...)
	}
	h.recent = append(h.recent, change)
	for s := range h.streams {
		told = s.send(change) || told
	}
	return told
}

// Watched reports whether anybody watches anything.
func (h *Hub) Watched() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.streams) > 0
}

// add begins a watch after a version, and reports whether all changes since then are known.
func (h *Hub) add(s *stream, after int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if after < h.before {
		return false
	}
	for _, change := range h.recent {
		if change.Version > after {
			s.send(change)
		}
	}
	s.after = after
	h.streams[s] = struct{}{}
	return true
}

func (h *Hub) remove(s *stream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.streams, s)
}

// all returns the streams of all watches.
func (h *Hub) all() []*stream {
	h.mu.Lock()
	defer h.mu.Unlock()
	streams := make([]*stream, 0, len(h.streams))
	for s := range h.streams {
		streams = append(streams, s)
	}
	return streams
}

// Close ends all watches.
func (h *Hub) Close() {
	for _, s := range h.all() {
		_ = s.Close() // it does not fail
	}
}
