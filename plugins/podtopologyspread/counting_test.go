// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package podtopologyspread

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
)

// TestDomainsKeepTheFewest changes counts by one, up and down, some of domains that are not known yet.
func TestDomainsKeepTheFewest(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	for range 100 {
		var d domains
		for range random.IntN(5) {
			d.Add(strconv.Itoa(random.IntN(8)), int64(random.IntN(4)))
		}
		d.Freeze()
		d.fewest = d.Least()
		for range 50 {
			if random.IntN(10) == 0 {
				d = d.clone()
			}
			d.change(strconv.Itoa(random.IntN(8)), int64(2*random.IntN(2)-1))
			var counts []int64
			for i := range 8 {
				if domain := strconv.Itoa(i); d.Has(domain) {
					counts = append(counts, d.Count(domain))
				}
			}
			if want := slices.Min(counts); d.fewest != want {
				t.Fatalf("got fewest %d of %v, want %d", d.fewest, counts, want)
			}
		}
	}
}
