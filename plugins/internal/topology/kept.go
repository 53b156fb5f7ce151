// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package topology

import "container/list"

// Kept are tables by key, of which those used least recently are dropped when they take too much room. The zero value
// is empty and keeps nothing but the last one put. It is not safe for concurrent use.
type Kept[T interface{ Bytes() int }] struct {
	// Budget is how many bytes all tables may have together.
	Budget int
	used   int
	byKey  map[string]*list.Element
	order  list.List // of *kept[T], the latest first
}

type kept[T any] struct {
	key   string
	bytes int
	table T
}

// Find returns the table of a key.
func (k *Kept[T]) Find(key []byte) (_ T, ok bool) {
	element := k.byKey[string(key)]
	if element == nil {
		var none T
		return none, false
	}
	entry := element.Value.(*kept[T])
	k.order.MoveToFront(element)
	k.used += entry.table.Bytes() - entry.bytes
	entry.bytes = entry.table.Bytes()
	return entry.table, true
}

// Put adds a table under a key that is not in use.
func (k *Kept[T]) Put(key []byte, table T) {
	if k.byKey == nil {
		k.byKey = map[string]*list.Element{}
	}
	entry := &kept[T]{key: string(key), bytes: table.Bytes() + len(key), table: table}
	k.byKey[entry.key] = k.order.PushFront(entry)
	for k.used += entry.bytes; k.used > k.Budget && k.order.Len() > 1; {
		last := k.order.Remove(k.order.Back()).(*kept[T])
		delete(k.byKey, last.key)
		k.used -= last.bytes
	}
}

// Clear drops all tables.
func (k *Kept[T]) Clear() {
	clear(k.byKey)
	k.order.Init()
	k.used = 0
}

// Len is the number of tables.
func (k *Kept[T]) Len() int { return len(k.byKey) }
