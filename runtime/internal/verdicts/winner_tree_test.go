// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package verdicts

import (
	stdcmp "cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A tree that is kept up to date knows the same winners as a look at all totals.
func TestWinnerTree(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for size := 1; size < 150; size++ {
		totals := make([]int64, size)
		for i := range totals {
			totals[i] = total(random)
		}
		var tree WinnerTree
		tree.Build(totals)
		for range 50 {
			nodeIndex := random.IntN(size)
			totals[nodeIndex] = total(random)
			tree.Set(nodeIndex, totals[nodeIndex])
			best, count := Highest(totals)
			if best == NoTotal {
				continue
			}
			var want, got, scanned []int
			for i, total := range totals {
				if total == slices.Max(totals) {
					want = append(want, i)
				}
			}
			for i := range tree.Winners() {
				got = append(got, tree.Winner(i))
			}
			if diff := cmp.Diff(want, slices.Collect(tree.AllWinners())); diff != "" {
				t.Fatalf("all winners of %v (-want +tree):\n%s", totals, diff)
			}
			for i := range count {
				scanned = append(scanned, Nth(totals, best, i))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("winners of %v (-want +tree):\n%s", totals, diff)
			}
			if diff := cmp.Diff(want, scanned); diff != "" {
				t.Fatalf("winners of %v (-want +scan):\n%s", totals, diff)
			}
		}
	}
}

func total(random *rand.Rand) int64 {
	if random.IntN(4) == 0 {
		return NoTotal
	}
	return int64(random.IntN(4))
}

// BestFirst lists every node with a total once, the highest first, and of equal ones the first from a given node on, whether totals are
// close together or far apart.
func TestRanking(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	spread := []int64{1, 1, 1000, 1_000_000_000_000}
	for size := 1; size < 300; size++ {
		totals := make([]int64, size)
		var want []int
		for i := range totals {
			if totals[i] = total(random); totals[i] != NoTotal {
				totals[i] *= spread[size%len(spread)]
				want = append(want, i)
			}
		}
		var tree WinnerTree
		tree.Build(totals)
		from := random.IntN(size)
		slices.SortFunc(want, func(a, b int) int {
			return stdcmp.Or(stdcmp.Compare(totals[b], totals[a]), (a-from+size)%size-(b-from+size)%size)
		})
		var bestFirst BestFirst
		bestFirst.Begin(&tree, from)
		var got []int
		for {
			before := len(got)
			if got = bestFirst.Append(got, 1+random.IntN(size)); len(got) == before {
				break
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("listed nodes (-want +got):\n%s", diff)
		}
	}
	if got := new(BestFirst).Append(nil, 1); len(got) > 0 {
		t.Error("an empty tree lists a node")
	}
}

// Where all nodes are equal, the list begins at the given one.
func TestRankingOfEquals(t *testing.T) {
	var tree WinnerTree
	tree.Build(make([]int64, 1000))
	for from := range 1000 {
		var bestFirst BestFirst
		bestFirst.Begin(&tree, from)
		for i := range 3 {
			if got := bestFirst.Append(nil, 1); !slices.Equal(got, []int{(from + i) % 1000}) {
				t.Fatalf("the list from %d has %v as number %d", from, got, i)
			}
		}
	}
}
