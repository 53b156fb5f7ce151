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
	for size := 1; size < 70; size++ {
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
