// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
)

// Kind stands for all views that are alike: they have the same shared pools, and of their own devices that differ in the
// names of node and pool alone, with the same of them allocated. Whether the devices for a claim can be had is the same in
// all of them. It is safe for concurrent use.
type Kind struct {
	mu    sync.Mutex
	known map[string]any
}

// Known returns what was kept under a key; nil if that is nothing, or has been forgotten.
func (k *Kind) Known(key string) any {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.known[key]
}

// maxKnown is how much is kept of a kind before all of it is forgotten.
const maxKnown = 200

// Keep keeps what was found out for one view, for all that are alike.
func (k *Kind) Keep(key string, found any) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil || len(k.known) >= maxKnown {
		k.known = map[string]any{}
	}
	k.known[key] = found
}

// kind returns the kind with a key. The caller holds the lock.
func (m *Manager) kind(key []byte) *Kind {
	found := m.kinds[string(key)]
	if found == nil {
		// Most are those of what was allocated in the past.
		if len(m.kinds) > 1000+4*len(m.views) {
			clear(m.kinds)
		}
		found = &Kind{}
		m.kinds[string(key)] = found
	}
	return found
}

// appendKind appends what a pool has in common with others: nothing if it is shared, and otherwise all but the names of pool
// and node. What is allocated of devices that several claims share is not taken apart by claim.
func (p *pool) appendKind(key []byte) []byte {
	if p.shared() {
		key = appendString(append(key, 's'), p.id.driver)
		return binary.AppendUvarint(appendString(key, p.id.pool), p.version)
	}
	if p.content == nil {
		p.content = p.contents()
	}
	key = append(append(key, 'p'), p.content...)
	allocated := make([]string, 0, len(p.devices))
	for id := range p.devices {
		allocated = append(allocated, id.Device.String())
	}
	key = appendStrings(key, allocated)
	consumed := make([]string, 0, len(p.consumed))
	for id, capacity := range p.consumed {
		text := id.Device.String()
		for _, name := range slices.Sorted(maps.Keys(capacity)) {
			text += fmt.Sprintf(" %s %s", name, capacity[name].String())
		}
		consumed = append(consumed, text)
	}
	key = appendStrings(key, consumed)
	shared := sets.New[string]()
	for id := range p.shares {
		shared.Insert(id.Device.String())
	}
	return appendStrings(key, sets.List(shared))
}

// contents is a digest of the slices without the names of pool and node.
func (p *pool) contents() []byte {
	digest := sha256.New()
	for _, slice := range p.sorted {
		spec := slice.Spec
		spec.Pool.Name, spec.NodeName = "", nil
		written, err := spec.Marshal()
		if err != nil { // which does not happen; such a pool is like no other
			written = []byte(p.id.driver + "/" + p.id.pool)
		}
		digest.Write(appendString(nil, string(written)))
	}
	return digest.Sum(nil)
}

// appendStrings appends strings in any order.
func appendStrings(key []byte, texts []string) []byte {
	slices.Sort(texts)
	key = binary.AppendUvarint(key, uint64(len(texts)))
	for _, text := range texts {
		key = appendString(key, text)
	}
	return key
}

func appendString(key []byte, text string) []byte {
	return append(binary.AppendUvarint(key, uint64(len(text))), text...)
}
