// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import "testing"

// What was not used for longest goes first, and what was used in a cycle stays only if there is room.
func TestColumnStoreKeepsItsBudget(t *testing.T) {
	column := func() *filterColumn { return &filterColumn{verdicts: make([]verdict, 1000)} }
	one := 4000 + entryBytes + 1
	s := columnStore{budget: 3 * one}
	for _, key := range []string{"a", "b", "c"} {
		s.put([]byte(key), column())
		s.trim()
	}
	if s.find([]byte("a")) == nil {
		t.Fatal("a is gone though there is room for three")
	}
	s.put([]byte("d"), column())
	s.trim()
	for key, want := range map[string]bool{"a": true, "b": false, "c": true, "d": true} {
		if got := s.byKey[key] != nil; got != want {
			t.Errorf("%s is kept: %t, want %t", key, got, want)
		}
	}
	if s.used != 3*one {
		t.Errorf("%d bytes are used, want %d", s.used, 3*one)
	}
}

// An entry counts as large as it has become.
func TestColumnStoreWeighsWhatGrew(t *testing.T) {
	s := columnStore{budget: 100_000}
	grows := &filterColumn{}
	s.put([]byte("k"), grows)
	s.trim()
	before := s.used
	grows.verdicts = make([]verdict, 100)
	s.find([]byte("k"))
	s.trim()
	if s.used != before+400 {
		t.Errorf("%d bytes are used, want %d", s.used, before+400)
	}
	s.clear()
	if s.used != 0 || s.find([]byte("k")) != nil {
		t.Errorf("%d bytes are used after everything was dropped", s.used)
	}
}

func TestColumnStoreMeetsKeysOnceACycle(t *testing.T) {
	s := columnStore{budget: 100_000}
	key := []byte("k")
	for range 2 {
		if s.meet(key) {
			t.Error("a key was met in the cycle in which it came first")
		}
	}
	s.trim()
	if !s.meet(key) {
		t.Error("a key was not met in the next cycle")
	}
}
