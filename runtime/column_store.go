// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import "container/list"

// kept is something that a [columnStore] keeps: a column, a board or a ranking.
type kept interface {
	bytes() int
}

// columnStore keeps columns, boards and rankings by key within a budget, those that were used last. The zero value
// keeps nothing, because its budget is zero.
type columnStore struct {
	budget int // bytes
	used   int
	byKey  map[string]*keptEntry
	recent list.List // of *keptEntry, the one used last in front
	// touched is how many times an entry was used in this cycle, the number of which is cycle.
	touched int
	cycle   int
}

// entryBytes is about what an entry takes beside its key and value.
const entryBytes = 256

type keptEntry struct {
	key     string
	value   kept // nil for a key that was met once
	born    int  // the cycle in which the entry was made
	bytes   int  // as counted in columnStore.used
	element *list.Element
}

// find returns what is kept under a key, and marks it as used; nil if there is nothing.
func (s *columnStore) find(key []byte) *keptEntry {
	entry := s.byKey[string(key)]
	if entry != nil {
		s.touch(entry)
	}
	return entry
}

// touch marks an entry as used. What a board or a ranking is made of is touched after it, and so stays at least as long.
func (s *columnStore) touch(entry *keptEntry) {
	s.recent.MoveToFront(entry.element)
	s.touched++
}

// meet tells whether a key was met in an earlier cycle, and makes sure that it will have been the next time. Of a key that
// never comes again, nothing is kept but that.
func (s *columnStore) meet(key []byte) bool {
	if entry := s.find(key); entry != nil {
		return entry.born < s.cycle
	}
	s.put(key, nil)
	return false
}

// put keeps a value under a key that is not there.
func (s *columnStore) put(key []byte, value kept) *keptEntry {
	if s.byKey == nil {
		s.byKey = map[string]*keptEntry{}
	}
	entry := &keptEntry{key: string(key), value: value, born: s.cycle}
	entry.element = s.recent.PushFront(entry)
	s.byKey[entry.key] = entry
	s.touched++
	return entry
}

// trim ends a cycle: it weighs what was used in it, and drops what was not used for longest until the budget is kept.
func (s *columnStore) trim() {
	element := s.recent.Front()
	for ; s.touched > 0 && element != nil; s.touched-- {
		entry := element.Value.(*keptEntry)
		now := len(entry.key) + entryBytes
		if entry.value != nil {
			now += entry.value.bytes()
		}
		s.used += now - entry.bytes
		entry.bytes = now
		element = element.Next()
	}
	s.touched = 0
	s.cycle++
	for last := s.recent.Back(); s.used > s.budget && last != nil; last = s.recent.Back() {
		s.drop(last.Value.(*keptEntry))
	}
}

// drop removes an entry.
func (s *columnStore) drop(entry *keptEntry) {
	if s.byKey[entry.key] != entry {
		return
	}
	s.recent.Remove(entry.element)
	s.used -= entry.bytes
	delete(s.byKey, entry.key)
}

// clear drops everything.
func (s *columnStore) clear() {
	clear(s.byKey)
	s.recent.Init()
	s.used, s.touched = 0, 0
}
