// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package topology_test

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rouse-scheduler/rouse/plugins/internal/topology"
)

// numbers reads a counter out by the names that it can have.
func numbers(c *topology.Counter) map[string]int64 {
	read := map[string]int64{}
	for i := range 10 {
		if domain := strconv.Itoa(i); c.Has(domain) {
			read[domain] = c.Count(domain)
		}
	}
	return read
}

func least(numbers map[string]int64) int64 {
	if len(numbers) == 0 {
		return math.MaxInt32
	}
	return slices.Min(slices.Collect(maps.Values(numbers)))
}

// TestCountersAgainstMaps changes a counter and clones of it, and clones of those, at random, and maps alongside.
func TestCountersAgainstMaps(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		original := topology.NewCounter(random.IntN(3))
		counters, models := []*topology.Counter{&original}, []map[string]int64{{}}
		add := func(i int) {
			domain, delta := strconv.Itoa(random.IntN(10)), int64(random.IntN(5)-2)
			model, isKnown := models[i][domain]
			before, known := counters[i].Add(domain, delta)
			if before != model || known != isKnown {
				t.Fatalf("Add: got %d, %v, want %d, %v", before, known, model, isKnown)
			}
			models[i][domain] += delta
		}
		for range random.IntN(6) {
			add(0)
		}
		original.Freeze()
		for range 60 {
			i := random.IntN(len(counters))
			if random.IntN(4) == 0 {
				clone := counters[i].Clone()
				counters, models = append(counters, &clone), append(models, maps.Clone(models[i]))
				continue
			}
			add(i)
		}
		for i, counter := range counters {
			if diff := cmp.Diff(models[i], numbers(counter)); diff != "" {
				t.Fatalf("counter %d differs (-want +got):\n%s", i, diff)
			}
			if counter.Len() != len(models[i]) || counter.Least() != least(models[i]) {
				t.Fatalf("counter %d: got %d domains, least %d, want %d and %d",
					i, counter.Len(), counter.Least(), len(models[i]), least(models[i]))
			}
		}
	}
}

func TestZeroCounter(t *testing.T) {
	var c topology.Counter
	if c.Count("a") != 0 || c.Has("a") || c.Len() != 0 || c.Least() != math.MaxInt32 {
		t.Error("the zero value is not empty")
	}
	c.Add("a", 0)
	if !c.Has("a") || c.Len() != 1 || c.Least() != 0 {
		t.Error("adding nothing does not make a domain known")
	}
}

func TestChangesOfKnownDomainsDoNotAllocate(t *testing.T) {
	c := topology.NewCounter(1)
	c.Add("a", 1)
	c.Freeze()
	if allocs := testing.AllocsPerRun(100, func() { c.Add("a", 1); c.Count("a") }); allocs != 0 {
		t.Errorf("got %v allocations", allocs)
	}
}
