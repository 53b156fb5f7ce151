// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package lru

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
)

// Budget is how many bytes several caches may have together. Whichever of their entries has not been used for longest is
// evicted first, so a cache that is not used leaves its room to the others. It is safe for concurrent use.
type Budget struct {
	limit int
	used  atomic.Int64
	// cycles is how many cycles of all caches have ended.
	cycles atomic.Int64

	mu      sync.Mutex
	members []member
}

// member is a cache with the lock that guards it.
type member struct {
	cache interface {
		// oldest is safe for concurrent use: in which cycle the entry was last used that has not been used for longest.
		oldest() int64
		// bytesBefore and evictOldest need the lock.
		bytesBefore(cycle, most int) int
		evictOldest()
	}
	lock *sync.Mutex
}

// NewBudget returns a budget of so many bytes.
func NewBudget(bytes int) *Budget { return &Budget{limit: bytes} }

// BudgetOf returns the budget that all caches about a snapshot share, of so many bytes if this is the first call. A snapshot
// that keeps nothing for its users, see framework.SnapshotData, gets a new budget with each call.
func BudgetOf(snapshot any, bytes int) *Budget {
	keeper, ok := snapshot.(interface {
		Data(key any, create func() any) any
	})
	if !ok {
		return NewBudget(bytes)
	}
	return keeper.Data(budgetKey{}, func() any { return NewBudget(bytes) }).(*Budget)
}

// budgetKey is where a snapshot keeps the budget.
type budgetKey struct{}

// Used is how many bytes the entries of all caches had at the end of their last cycles.
func (b *Budget) Used() int { return int(b.used.Load()) }

// Join has a cache share a budget; it leaves that which it shared before. Lock guards the cache, and is tried, while those of
// other caches are held, for the others to evict entries; the caller holds it, unless no other goroutine has the cache.
func (c *Cache[V]) Join(b *Budget, lock *sync.Mutex) {
	if c.budget == b {
		return
	}
	c.Leave()
	c.budget = b
	b.mu.Lock()
	defer b.mu.Unlock()
	b.members = append(b.members, member{c, lock})
}

// Leave removes all entries, and the cache from its budget.
func (c *Cache[V]) Leave() {
	c.Clear()
	b := c.budget
	if b == nil {
		return
	}
	c.budget = nil
	b.mu.Lock()
	defer b.mu.Unlock()
	b.members = slices.DeleteFunc(b.members, func(m member) bool { return m.cache == any(c) })
}

// shrink evicts until the budget is kept. Self is the cache whose lock is held. It stops at an entry of a cache that is being
// used: at the end of its cycle, that cache evicts for both.
func (b *Budget) shrink(self any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.Used() > b.limit {
		first := b.leastRecent()
		switch {
		case first == nil:
			return
		case first.cache == self:
			first.cache.evictOldest()
		case first.lock.TryLock():
			first.cache.evictOldest()
			first.lock.Unlock()
		default:
			return
		}
	}
}

// leastRecent returns the cache with the entry that has not been used for longest; nil if all are empty.
func (b *Budget) leastRecent() *member {
	var first *member
	least := int64(math.MaxInt64)
	for i := range b.members {
		if oldest := b.members[i].cache.oldest(); oldest < least {
			first, least = &b.members[i], oldest
		}
	}
	return first
}

// admits reports whether there is room for so many bytes if what was last used before a cycle were evicted.
func (b *Budget) admits(self any, bytes, before int) bool {
	missing := b.Used() + bytes - b.limit
	if missing <= 0 {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.members {
		m := &b.members[i]
		if m.cache.oldest() >= int64(before) {
			continue
		}
		if m.cache == self {
			missing -= m.cache.bytesBefore(before, missing)
		} else if m.lock.TryLock() {
			missing -= m.cache.bytesBefore(before, missing)
			m.lock.Unlock()
		}
		if missing <= 0 {
			return true
		}
	}
	return false
}
