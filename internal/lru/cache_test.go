// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package lru_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/rouse-scheduler/rouse/internal/lru"
)

// table is a value that may grow.
type table struct{ bytes int }

func (t *table) Bytes() int { return t.bytes }

// alone returns a cache with a budget of its own.
func alone[V interface{ Bytes() int }](budget int) *lru.Cache[V] {
	c := &lru.Cache[V]{}
	c.Join(lru.NewBudget(budget), &sync.Mutex{})
	return c
}

// overhead is what an entry with a key of one byte takes in addition to its value.
func overhead(t *testing.T) int {
	t.Helper()
	c := alone[*table](1 << 20)
	c.Put([]byte("k"), &table{})
	c.EndCycle()
	return c.Used()
}

func put(c *lru.Cache[*table], key string, bytes int) *lru.Entry[*table] {
	entry := c.Put([]byte(key), &table{bytes: bytes})
	c.EndCycle()
	return entry
}

func check(t *testing.T, c *lru.Cache[*table], want map[string]bool) {
	t.Helper()
	for key, want := range want {
		if got := c.Get([]byte(key)) != nil; got != want {
			t.Errorf("%s is in the cache: %t, want %t", key, got, want)
		}
	}
}

func TestEvictsTheLeastRecentlyUsed(t *testing.T) {
	one := 1000 + overhead(t)
	c := alone[*table](3 * one)
	for _, key := range []string{"a", "b", "c"} {
		put(c, key, 1000)
	}
	c.Get([]byte("a"))
	put(c, "d", 1000)
	if c.Used() != 3*one || c.Len() != 3 {
		t.Errorf("%d entries with %d bytes, want 3 with %d", c.Len(), c.Used(), 3*one)
	}
	check(t, c, map[string]bool{"a": true, "b": false, "c": true, "d": true})
}

func TestEvictsOnlyAtTheEndOfACycle(t *testing.T) {
	c := &lru.Cache[*table]{}
	c.Put([]byte("a"), &table{bytes: 1})
	check(t, c, map[string]bool{"a": true})
	c.EndCycle()
	check(t, c, map[string]bool{"a": false})
	if c.Used() != 0 {
		t.Errorf("%d bytes are used by nothing", c.Used())
	}
}

func TestMeasuresWhatWasUsedAgain(t *testing.T) {
	c := alone[*table](2*overhead(t) + 350)
	grows := put(c, "a", 100)
	grows.Value.bytes = 250
	c.Get([]byte("a"))
	put(c, "b", 100)
	if c.Len() != 2 {
		t.Fatalf("%d entries, want two that fit", c.Len())
	}
	grows.Value.bytes = 300
	c.Touch(grows)
	c.Get([]byte("b"))
	c.EndCycle()
	check(t, c, map[string]bool{"a": false, "b": true})
}

func TestClear(t *testing.T) {
	c := alone[*table](2 * (overhead(t) + 100))
	put(c, "a", 100)
	c.Get([]byte("a"))
	c.Clear()
	if c.Used() != 0 || c.Len() != 0 {
		t.Errorf("%d entries with %d bytes after Clear", c.Len(), c.Used())
	}
	put(c, "b", 100)
	put(c, "c", 100)
	check(t, c, map[string]bool{"a": false, "b": true, "c": true})
}

func TestRemove(t *testing.T) {
	c := alone[*table](1 << 20)
	first := put(c, "a", 100)
	c.Remove(first)
	again := put(c, "a", 100)
	used := c.Used()
	c.Remove(first)
	if c.Get([]byte("a")) != again || c.Used() != used {
		t.Error("removing an entry that is gone removed its successor")
	}
}

// sized is how a cache has values of several types.
type sized interface{ Bytes() int }

func TestSeenIsAboutEarlierCycles(t *testing.T) {
	c := alone[sized](1 << 20)
	key := []byte("k")
	for range 2 {
		if c.Seen(key, 1000) {
			t.Error("a key counts as seen in the cycle in which it came first")
		}
	}
	c.EndCycle()
	if !c.Seen(key, 1000) {
		t.Error("a key does not count as seen in the next cycle")
	}
	c.Get(key).Value = &table{bytes: 1000}
	before := c.Used()
	c.EndCycle()
	if c.Used() != before+1000 {
		t.Errorf("%d bytes are used after a value of 1000 came to %d", c.Used(), before)
	}
}

// TestKeysThatTakeTurns has more keys come one after the other than there is room for, and then others.
func TestKeysThatTakeTurns(t *testing.T) {
	const size, rooms = 10_000, 5
	c := alone[sized](rooms*size + 30_000)
	round := func(name string, keys int) (hits int) {
		for i := range keys {
			key := fmt.Appendf(nil, "%s%d", name, i)
			if c.Seen(key, size) {
				entry := c.Get(key)
				if entry.Value != nil {
					hits++
				}
				entry.Value = &table{bytes: size}
			}
			c.EndCycle()
		}
		return hits
	}
	for range 3 {
		round("a", 20)
	}
	if hits := round("a", 20); hits < rooms-1 {
		t.Errorf("of 20 keys in turns %d are found, want the %d that there is room for", hits, rooms)
	}
	for range 20 {
		round("b", 4)
	}
	if hits := round("b", 4); hits != 4 {
		t.Errorf("of 4 other keys %d are found, long after the first ones came last", hits)
	}
}
