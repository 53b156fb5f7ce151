// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package trie

import (
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Random versions of a map are compared with plain maps, and what differs between any two of them with what a comparison of all
// keys finds.
func TestAgainstPlainMaps(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		versions, models := []Map[int, int]{New[int, int]()}, []map[int]int{{}}
		for range 300 {
			from := random.IntN(len(versions))
			version, model := versions[from], maps.Clone(models[from])
			for range 1 + random.IntN(20) {
				key := random.IntN(200)
				if random.IntN(3) == 0 {
					version = version.Delete(key)
					delete(model, key)
				} else {
					value := random.IntN(3)
					version = version.Set(key, value)
					model[key] = value
				}
			}
			versions, models = append(versions, version), append(models, model)
		}
		for i, version := range versions {
			if diff := cmp.Diff(models[i], maps.Collect(version.All())); diff != "" || version.Len() != len(models[i]) {
				t.Fatalf("seed %d: version %d has %d keys, want %d (-want +got):\n%s", seed, i, version.Len(), len(models[i]), diff)
			}
			for key := range 200 {
				got, ok := version.Get(key)
				if want, wantOK := models[i][key]; got != want || ok != wantOK {
					t.Fatalf("seed %d: version %d has %d, %v for key %d, want %d, %v", seed, i, got, ok, key, want, wantOK)
				}
			}
		}
		for range 300 {
			from, to := random.IntN(len(versions)), random.IntN(len(versions))
			if diff := cmp.Diff(changesOf(models[from], models[to]), found(versions[to].AppendDiff(nil, versions[from]))); diff != "" {
				t.Fatalf("seed %d: from version %d to %d (-want +got):\n%s", seed, from, to, diff)
			}
		}
	}
}

func changesOf(before, after map[int]int) map[int]Change[int, int] {
	changes := map[int]Change[int, int]{}
	for key := range 200 {
		c := Change[int, int]{Key: key}
		c.Before, c.IsBefore = before[key]
		c.After, c.IsNow = after[key]
		if c.IsBefore != c.IsNow || c.Before != c.After {
			changes[key] = c
		}
	}
	return changes
}

func found(changes []Change[int, int]) map[int]Change[int, int] {
	byKey := map[int]Change[int, int]{}
	for _, c := range changes {
		byKey[c.Key] = c
	}
	return byKey
}

// Keys with equal hashes are told apart.
func TestEqualHashes(t *testing.T) {
	var root *node[int, int]
	for key := range 5 {
		root, _ = set(root, &leaf[int, int]{hash: 42, key: key, value: key}, 0)
	}
	root, _ = set(root, &leaf[int, int]{hash: 42, key: 3, value: 30}, 0)
	root, shrank := remove(root, 42, 1, 0)
	if _, again := remove(root, 42, 1, 0); !shrank || again {
		t.Errorf("a key was removed: %v, and again: %v", shrank, again)
	}
	got := map[int]int{}
	root.each(func(l *leaf[int, int]) bool {
		got[l.key] = l.value
		return true
	})
	if diff := cmp.Diff(map[int]int{0: 0, 2: 2, 3: 30, 4: 4}, got); diff != "" {
		t.Errorf("wrong keys (-want +got):\n%s", diff)
	}
}

// The cost of a comparison follows what differs.
func TestDiffCostFollowsChanges(t *testing.T) {
	m := New[int, int]()
	for key := range 50_000 {
		m = m.Set(key, key)
	}
	changed := m.Set(7, 8).Delete(9)
	space := make([]Change[int, int], 0, 8)
	if allocations := testing.AllocsPerRun(100, func() { space = changed.AppendDiff(space[:0], m) }); allocations != 0 {
		t.Errorf("comparing allocates %v times", allocations)
	}
	if len(space) != 2 {
		t.Errorf("got %d changes, want 2", len(space))
	}
}
