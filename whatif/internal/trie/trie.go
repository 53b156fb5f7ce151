// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package trie is a map whose versions share what they have in common. Copying it costs nothing, a change costs a path of a few
// nodes, and what differs between two versions is found without looking at what does not.
package trie

import (
	"hash/maphash"
	"iter"
	"math/bits"
)

// Map is one version of a map. It never changes, so it may be read by many goroutines. The zero value is not usable; see [New].
// Values are compared with ==.
type Map[K, V comparable] struct {
	seed maphash.Seed
	root *node[K, V]
	size int
}

const (
	levelBits = 5
	levelMask = 1<<levelBits - 1
	hashBits  = 64
)

// node has a slot for each bit that is set in bitmap, in their order. A node below the last level has no bitmap: its slots are
// leaves whose hashes are equal.
type node[K, V comparable] struct {
	bitmap uint32
	slots  []slot[K, V]
}

// slot has either a node below or a leaf.
type slot[K, V comparable] struct {
	below *node[K, V]
	leaf  *leaf[K, V]
}

type leaf[K, V comparable] struct {
	hash  uint64
	key   K
	value V
}

// New returns an empty map. Only versions of the same map can be compared with [Map.Diff].
func New[K, V comparable]() Map[K, V] { return Map[K, V]{seed: maphash.MakeSeed()} }

// Len returns the number of keys.
func (m Map[K, V]) Len() int { return m.size }

// Same reports whether two maps are the same version. Maps that are equal by chance need not be.
func (m Map[K, V]) Same(other Map[K, V]) bool { return m.root == other.root }

func (m Map[K, V]) hash(key K) uint64 { return maphash.Comparable(m.seed, key) }

// Get returns the value of a key, and whether there is one.
func (m Map[K, V]) Get(key K) (value V, ok bool) {
	hash, shift := m.hash(key), 0
	for at := m.root; at != nil; shift += levelBits {
		if shift >= hashBits {
			for i := range at.slots {
				if found := at.slots[i].leaf; found.key == key {
					return found.value, true
				}
			}
			return value, false
		}
		index, set := at.find(hash, shift)
		if !set {
			return value, false
		}
		if found := at.slots[index].leaf; found != nil {
			if found.key == key {
				return found.value, true
			}
			return value, false
		}
		at = at.slots[index].below
	}
	return value, false
}

// find returns the index of the slot for a hash, or where it would be, and whether it is there.
func (n *node[K, V]) find(hash uint64, shift int) (index int, set bool) {
	bit := uint32(1) << (hash >> shift & levelMask)
	return bits.OnesCount32(n.bitmap & (bit - 1)), n.bitmap&bit != 0
}

// Set returns the map with a value for a key.
func (m Map[K, V]) Set(key K, value V) Map[K, V] {
	added := &leaf[K, V]{hash: m.hash(key), key: key, value: value}
	root, grew := set(m.root, added, 0)
	m.root = root
	if grew {
		m.size++
	}
	return m
}

func set[K, V comparable](n *node[K, V], added *leaf[K, V], shift int) (_ *node[K, V], grew bool) {
	if n == nil {
		return single(added, shift), true
	}
	if shift >= hashBits {
		for i := range n.slots {
			if n.slots[i].leaf.key == added.key {
				return n.with(i, slot[K, V]{leaf: added}), false
			}
		}
		return n.inserted(len(n.slots), 0, slot[K, V]{leaf: added}), true
	}
	index, found := n.find(added.hash, shift)
	if !found {
		return n.inserted(index, uint32(1)<<(added.hash>>shift&levelMask), slot[K, V]{leaf: added}), true
	}
	at := n.slots[index]
	if at.leaf == nil {
		below, grew := set(at.below, added, shift+levelBits)
		return n.with(index, slot[K, V]{below: below}), grew
	}
	if at.leaf.key == added.key {
		return n.with(index, slot[K, V]{leaf: added}), false
	}
	below, _ := set(single(at.leaf, shift+levelBits), added, shift+levelBits)
	return n.with(index, slot[K, V]{below: below}), true
}

// single returns a node with one leaf.
func single[K, V comparable](only *leaf[K, V], shift int) *node[K, V] {
	n := &node[K, V]{slots: []slot[K, V]{{leaf: only}}}
	if shift < hashBits {
		n.bitmap = uint32(1) << (only.hash >> shift & levelMask)
	}
	return n
}

// with returns a copy with another slot in a place.
func (n *node[K, V]) with(index int, s slot[K, V]) *node[K, V] {
	slots := make([]slot[K, V], len(n.slots))
	copy(slots, n.slots)
	slots[index] = s
	return &node[K, V]{bitmap: n.bitmap, slots: slots}
}

// inserted returns a copy with one slot more.
func (n *node[K, V]) inserted(index int, bit uint32, s slot[K, V]) *node[K, V] {
	slots := make([]slot[K, V], len(n.slots)+1)
	copy(slots, n.slots[:index])
	slots[index] = s
	copy(slots[index+1:], n.slots[index:])
	return &node[K, V]{bitmap: n.bitmap | bit, slots: slots}
}

// Delete returns the map without a key.
func (m Map[K, V]) Delete(key K) Map[K, V] {
	root, shrank := remove(m.root, m.hash(key), key, 0)
	if shrank {
		m.root = root
		m.size--
	}
	return m
}

// remove returns nil for a node that is then empty.
func remove[K, V comparable](n *node[K, V], hash uint64, key K, shift int) (_ *node[K, V], shrank bool) {
	if n == nil {
		return nil, false
	}
	if shift >= hashBits {
		for i := range n.slots {
			if n.slots[i].leaf.key == key {
				return n.without(i, 0), true
			}
		}
		return n, false
	}
	index, found := n.find(hash, shift)
	if !found {
		return n, false
	}
	bit := uint32(1) << (hash >> shift & levelMask)
	at := n.slots[index]
	if at.leaf != nil {
		if at.leaf.key != key {
			return n, false
		}
		return n.without(index, bit), true
	}
	below, shrank := remove(at.below, hash, key, shift+levelBits)
	switch {
	case !shrank:
		return n, false
	case below == nil:
		return n.without(index, bit), true
	case len(below.slots) == 1 && below.slots[0].leaf != nil:
		return n.with(index, below.slots[0]), true
	}
	return n.with(index, slot[K, V]{below: below}), true
}

// without returns a copy with one slot less, nil if that was the last.
func (n *node[K, V]) without(index int, bit uint32) *node[K, V] {
	if len(n.slots) == 1 {
		return nil
	}
	slots := make([]slot[K, V], len(n.slots)-1)
	copy(slots, n.slots[:index])
	copy(slots[index:], n.slots[index+1:])
	return &node[K, V]{bitmap: n.bitmap &^ bit, slots: slots}
}

// All yields all keys and values, in no particular order.
func (m Map[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		m.root.each(func(l *leaf[K, V]) bool { return yield(l.key, l.value) })
	}
}

func (n *node[K, V]) each(yield func(*leaf[K, V]) bool) bool {
	if n == nil {
		return true
	}
	for i := range n.slots {
		if l := n.slots[i].leaf; l != nil {
			if !yield(l) {
				return false
			}
		} else if !n.slots[i].below.each(yield) {
			return false
		}
	}
	return true
}

// Change is what a key has in one version and in another.
type Change[K, V comparable] struct {
	Key             K
	Before, After   V
	IsBefore, IsNow bool
}

// AppendDiff appends what changed from an earlier version of the same map to this one, in no particular order. The cost follows the
// number of changes.
func (m Map[K, V]) AppendDiff(changes []Change[K, V], before Map[K, V]) []Change[K, V] {
	return diff(changes, slot[K, V]{below: before.root}, slot[K, V]{below: m.root}, 0)
}

// diff compares what two slots have, each of which may be empty. Shift is that of the nodes in them.
func diff[K, V comparable](changes []Change[K, V], before, after slot[K, V], shift int) []Change[K, V] {
	if before == after {
		return changes
	}
	if before.below == nil || after.below == nil || shift >= hashBits {
		return diffLeaves(changes, before, after)
	}
	a, b := before.below, after.below
	for rest := a.bitmap | b.bitmap; rest != 0; rest &= rest - 1 {
		bit := rest & -rest
		changes = diff(changes, a.slotOf(bit), b.slotOf(bit), shift+levelBits)
	}
	return changes
}

// slotOf returns the slot of a bit, which may be empty.
func (n *node[K, V]) slotOf(bit uint32) slot[K, V] {
	if n.bitmap&bit == 0 {
		return slot[K, V]{}
	}
	return n.slots[bits.OnesCount32(n.bitmap&(bit-1))]
}

// diffLeaves compares slots of which one has few leaves, or none.
func diffLeaves[K, V comparable](changes []Change[K, V], before, after slot[K, V]) []Change[K, V] {
	start := len(changes)
	before.each(func(l *leaf[K, V]) bool {
		changes = append(changes, Change[K, V]{Key: l.key, Before: l.value, IsBefore: true})
		return true
	})
	known := len(changes)
	after.each(func(l *leaf[K, V]) bool {
		for i := start; i < known; i++ {
			if changes[i].Key == l.key {
				changes[i].After, changes[i].IsNow = l.value, true
				return true
			}
		}
		changes = append(changes, Change[K, V]{Key: l.key, After: l.value, IsNow: true})
		return true
	})
	kept := changes[:start]
	for _, c := range changes[start:] {
		if !c.IsBefore || !c.IsNow || c.Before != c.After {
			kept = append(kept, c)
		}
	}
	return kept
}

func (s slot[K, V]) each(yield func(*leaf[K, V]) bool) {
	if s.leaf != nil {
		yield(s.leaf)
	} else {
		s.below.each(yield)
	}
}
