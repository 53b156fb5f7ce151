// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package podtopologyspread

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/rouse-scheduler/rouse/plugins/internal/topology"
)

// TestConstraintCountsKeepTheFewest moves nodes and pods at random, and compares what the counts say of domains with a look at all.
func TestConstraintCountsKeepTheFewest(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	const slots, domains = 12, 6
	for range 100 {
		c := constraintCounts{
			byDomain: true, tracked: true, fewest: math.MaxInt32,
			matching: make([]int32, slots), counted: make([]int32, slots),
			sums: make([]int64, domains), members: make([]int32, domains),
		}
		for i := range c.counted {
			c.counted[i] = topology.None
		}
		for range 100 {
			for range 1 + random.IntN(3) {
				c.set(random.IntN(slots), random.Int32N(4), random.Int32N(domains+1)-1)
			}
			if c.holders == 0 {
				c.findFewest()
			}
			checkColumn(t, &c)
		}
	}
}

func checkColumn(t *testing.T, c *constraintCounts) {
	t.Helper()
	sums := map[int32]int64{}
	for index, domain := range c.counted {
		if domain != topology.None {
			sums[domain] += int64(c.matching[index])
		}
	}
	fewest, holders := int64(math.MaxInt32), 0
	for domain, sum := range sums {
		if c.sums[domain] != sum {
			t.Fatalf("domain %d has sum %d, want %d", domain, c.sums[domain], sum)
		}
		if sum < fewest {
			fewest, holders = sum, 0
		}
		if sum == fewest {
			holders++
		}
	}
	if c.known != len(sums) || c.fewest != fewest || c.holders != holders {
		t.Fatalf("got %d domains, fewest %d in %d of them; want %d, %d in %d", c.known, c.fewest, c.holders, len(sums), fewest, holders)
	}
}

func TestRounded(t *testing.T) {
	for _, score := range []float64{0, 0.49, 0.5, 0.51, 1.5, 2.5, -0.5, -1.5, 8.996, 1<<52 + 1, 1 << 60} {
		if got, want := rounded(score), int64(math.Round(score)); got != want {
			t.Errorf("%v is rounded to %d, want %d", score, got, want)
		}
	}
}
