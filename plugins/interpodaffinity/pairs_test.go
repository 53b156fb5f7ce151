// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package interpodaffinity

import (
	"maps"
	"math/rand/v2"
	"testing"
)

// TestPairsAgainstMaps changes pairs and clones of them, and clones of those, at random, and maps alongside.
func TestPairsAgainstMaps(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	keys, values := []string{"zone", "host", "rack"}, []string{"a", "b", "c", "d"}
	for range 100 {
		all, models := []*pairs{{}}, []map[[2]string]int64{{}}
		add := func(i int) {
			pair := [2]string{keys[random.IntN(3)], values[random.IntN(4)]}
			delta := int64(random.IntN(5) - 2)
			all[i].add(pair[0], pair[1], delta)
			if models[i][pair] += delta; models[i][pair] == 0 {
				delete(models[i], pair)
			}
		}
		for range random.IntN(6) {
			add(0)
		}
		all[0].freeze()
		for range 60 {
			i := random.IntN(len(all))
			if random.IntN(4) == 0 {
				clone := all[i].clone()
				all, models = append(all, &clone), append(models, maps.Clone(models[i]))
				continue
			}
			add(i)
		}
		for i, model := range models {
			if got := all[i].empty(); got != (len(model) == 0) {
				t.Fatalf("pairs %d: got empty %v, want those of %v", i, got, model)
			}
			for _, key := range keys {
				for _, value := range values {
					want, labels := model[[2]string{key, value}], map[string]string{key: value}
					if got := all[i].count(key, value); got != want || all[i].sumOn(labels) != want || all[i].anyOn(labels) != (want > 0) {
						t.Fatalf("pairs %d: %s=%s is %d (sum %d, any %v), want %d",
							i, key, value, got, all[i].sumOn(labels), all[i].anyOn(labels), want)
					}
				}
			}
		}
	}
}
