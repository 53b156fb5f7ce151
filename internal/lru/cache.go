// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lru is a cache whose size is a number of bytes: of the values in it, those used least recently are evicted. Several
// caches can share the number of bytes.
package lru

import (
	"container/list"
	"math"
	"sync/atomic"
)

// Cache holds values by key. It measures values in cycles: those used in a cycle are measured again at its end, since they
// may have grown, and only then values are evicted. So a value that was found is good for the rest of the cycle.
//
// The zero value is empty, and evicts everything at the end of a cycle, until it joins a [Budget]. A cache is not safe for
// concurrent use.
type Cache[V interface{ Bytes() int }] struct {
	budget *Budget // nil: no bytes
	used   int
	byKey  map[string]*Entry[V]
	recent list.List // of *Entry[V], the most recently used first
	// touched is how many times an entry was used in this cycle, the number of which is cycle. Cycles are counted for all caches of
	// the budget.
	touched int
	cycle   int
	// last is in which cycle the entry was used that is last in the list, as of the end of the last cycle; zero if there is none.
	last atomic.Int64
}

// entryBytes is about what an entry takes in addition to its key and value.
const entryBytes = 256

// Entry is a key and its value.
type Entry[V interface{ Bytes() int }] struct {
	// Value may be replaced while the entry is in the cache. A nil interface takes no room.
	Value V

	key     string
	created int // the cycle in which the entry was made
	usedAt  int // the last cycle in which it was used
	bytes   int // as counted in Cache.used
	element *list.Element
}

// beginCycle begins a cycle unless one has begun.
func (c *Cache[V]) beginCycle() {
	if c.touched == 0 && c.budget != nil {
		c.cycle = int(c.budget.cycles.Load())
	}
}

// Get returns the entry of a key and marks it as used; nil if there is none.
func (c *Cache[V]) Get(key []byte) *Entry[V] {
	entry := c.byKey[string(key)]
	if entry != nil {
		c.Touch(entry)
	}
	return entry
}

// Touch marks an entry as used. An entry that another one is made of should be touched after it, so that it is evicted no
// earlier.
func (c *Cache[V]) Touch(entry *Entry[V]) {
	c.beginCycle()
	c.recent.MoveToFront(entry.element)
	entry.usedAt = c.cycle
	c.touched++
}

// Put adds an entry under a key that has none.
func (c *Cache[V]) Put(key []byte, value V) *Entry[V] {
	if c.byKey == nil {
		c.byKey = map[string]*Entry[V]{}
	}
	c.beginCycle()
	entry := &Entry[V]{Value: value, key: string(key), created: c.cycle, usedAt: c.cycle}
	entry.element = c.recent.PushFront(entry)
	c.byKey[entry.key] = entry
	c.touched++
	return entry
}

// Seen reports whether it pays to keep a value for a key: the key was seen in an earlier cycle, and there is a value already, or
// room for one of so many bytes. Values in the way must not have been used for twice as long as the key was not seen: if
// more keys take turns than there is room for, some are kept, instead of each being evicted just before it comes again.
//
// It records that the key was seen in this cycle, with the zero value as its value, so that nothing but that is kept for
// a key that never comes again.
func (c *Cache[V]) Seen(key []byte, bytes int) bool {
	entry := c.byKey[string(key)]
	if entry == nil {
		var none V
		c.Put(key, none)
		return false
	}
	c.beginCycle()
	unseenFor := c.cycle - entry.usedAt
	c.Touch(entry)
	return entry.created < c.cycle && (any(entry.Value) != nil || c.budget != nil && c.budget.admits(c, bytes, c.cycle-2*unseenFor))
}

// maxVictims is how many entries may have to be evicted for a value.
const maxVictims = 1024

// bytesBefore returns how many bytes the entries have that were last used before a cycle, up to the most that are of interest.
func (c *Cache[V]) bytesBefore(cycle, most int) int {
	bytes := 0
	last := c.recent.Back()
	for range maxVictims {
		if bytes >= most || last == nil || last.Value.(*Entry[V]).usedAt >= cycle {
			break
		}
		bytes += last.Value.(*Entry[V]).bytes
		last = last.Prev()
	}
	return bytes
}

// oldest is in which cycle the entry was last used that has not been used for longest.
func (c *Cache[V]) oldest() int64 {
	if last := c.last.Load(); last != 0 {
		return last - 1
	}
	return math.MaxInt64
}

// evictOldest removes the entry that has not been used for longest.
func (c *Cache[V]) evictOldest() {
	if last := c.recent.Back(); last != nil {
		c.Remove(last.Value.(*Entry[V]))
	}
	c.noteOldest()
}

func (c *Cache[V]) noteOldest() {
	last := c.recent.Back()
	if last == nil {
		c.last.Store(0)
		return
	}
	c.last.Store(int64(last.Value.(*Entry[V]).usedAt) + 1)
}

// count adds to what the entries have.
func (c *Cache[V]) count(bytes int) {
	c.used += bytes
	if c.budget != nil && bytes != 0 {
		c.budget.used.Add(int64(bytes))
	}
}

// EndCycle measures the entries used since it was last called, and evicts until the budget is kept.
func (c *Cache[V]) EndCycle() {
	element := c.recent.Front()
	for ; c.touched > 0 && element != nil; c.touched-- {
		entry := element.Value.(*Entry[V])
		now := len(entry.key) + entryBytes
		if any(entry.Value) != nil {
			now += entry.Value.Bytes()
		}
		c.count(now - entry.bytes)
		entry.bytes = now
		element = element.Next()
	}
	c.touched = 0
	if c.budget == nil {
		c.Clear()
		return
	}
	c.budget.cycles.Add(1)
	c.noteOldest()
	if c.budget.Used() > c.budget.limit {
		c.budget.shrink(c)
	}
}

// Remove removes an entry; one that is no longer in the cache is left alone.
func (c *Cache[V]) Remove(entry *Entry[V]) {
	if c.byKey[entry.key] != entry {
		return
	}
	c.recent.Remove(entry.element)
	c.count(-entry.bytes)
	delete(c.byKey, entry.key)
}

// Clear removes all entries.
func (c *Cache[V]) Clear() {
	clear(c.byKey)
	c.recent.Init()
	c.count(-c.used)
	c.touched = 0
	c.noteOldest()
}

// Used is how many bytes the entries had at the end of the last cycle.
func (c *Cache[V]) Used() int { return c.used }

// Len is the number of entries.
func (c *Cache[V]) Len() int { return len(c.byKey) }
