// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package verdicts

import (
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

// BestFirst lists every node with a total once, the highest first, and of equal ones the first from a given node on.
func TestRanking(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for size := 1; size < 300; size++ {
		totals := make([]int64, size)
		var want []int
		for i := range totals {
			if totals[i] = total(random); totals[i] != NoTotal {
				want = append(want, i)
			}
		}
		var tree WinnerTree
		tree.Build(totals)
		from := random.IntN(size)
		slices.SortFunc(want, func(a, b int) int {
			return 10*size*int(totals[b]-totals[a]) + (a-from+size)%size - (b-from+size)%size
		})
		bestFirst := tree.BestFirst(from)
		var got []int
		for nodeIndex, ok := bestFirst.Next(); ok; nodeIndex, ok = bestFirst.Next() {
			got = append(got, nodeIndex)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("listed nodes (-want +got):\n%s", diff)
		}
	}
	if _, ok := new(WinnerTree).BestFirst(0).Next(); ok {
		t.Error("an empty tree lists a node")
	}
}

// Where all nodes are equal, the list begins at the given one.
func TestRankingOfEquals(t *testing.T) {
	var tree WinnerTree
	tree.Build(make([]int64, 1000))
	for from := range 1000 {
		bestFirst := tree.BestFirst(from)
		for i := range 3 {
			if nodeIndex, _ := bestFirst.Next(); nodeIndex != (from+i)%1000 {
				t.Fatalf("the list from %d has %d as number %d", from, nodeIndex, i)
			}
		}
	}
}
