// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package topology_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugins/internal/topology"
)

// TestDomainsFollowNodes lets nodes come, move and go, and compares with a look at all of them.
func TestDomainsFollowNodes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var slots fixture.IndexedNodes
		var index topology.Index
		for step := range 200 {
			slot := random.IntN(8)
			name := fmt.Sprintf("n%d", slot)
			switch labels := map[string]string{"zone": fmt.Sprintf("z%d", random.IntN(20))}; random.IntN(5) {
			case 0:
				slots.Set(slot, nil)
			case 1:
				slots.Set(slot, fixture.NodeInfo(fixture.Node(name)))
			case 2:
				labels["zone"] = ""
				fallthrough
			default:
				slots.Set(slot, fixture.NodeInfo(fixture.Node(name, fixture.NodeLabels(labels))))
			}
			if random.IntN(3) > 0 {
				check(t, index.Domains(&slots, "zone"), &slots)
			}
			if t.Failed() {
				t.Fatalf("after %d steps", step)
			}
		}
	}
}

func check(t *testing.T, d *topology.Domains, slots *fixture.IndexedNodes) {
	t.Helper()
	values, lacking := map[string]int32{}, 0
	for slot, domain := range d.BySlot() {
		info := slots.NodeAt(slot)
		if info == nil {
			if domain != topology.None {
				t.Errorf("slot %d without a node is in domain %d", slot, domain)
			}
			continue
		}
		value, ok := info.Node().Labels["zone"]
		if !ok {
			lacking++
		}
		if ok != (domain != topology.None) || ok && d.Number(value) != domain {
			t.Errorf("slot %d with zone %q is in domain %d, want %d", slot, value, domain, d.Number(value))
		}
		if ok {
			values[value] = domain
		}
	}
	if d.Known() != len(values) || d.Lacking() != lacking || d.Size() > 30 {
		t.Errorf("got %d domains, %d nodes in none, numbers below %d; want %d and %d", d.Known(), d.Lacking(), d.Size(), len(values), lacking)
	}
	for value, domain := range values {
		if !d.HasNodes(domain) || domain == topology.Unnamed != (value == "") {
			t.Errorf("zone %q has number %d", value, domain)
		}
	}
}

type sized int

func (s sized) Bytes() int { return int(s) }

func TestKeptDropsWhatWasUsedLeastRecently(t *testing.T) {
	kept := topology.Kept[sized]{Budget: 310}
	for _, key := range []string{"a", "b", "c"} {
		kept.Put([]byte(key), 100)
	}
	kept.Find([]byte("a"))
	kept.Put([]byte("d"), 100)
	for key, want := range map[string]bool{"a": true, "b": false, "c": true, "d": true} {
		if _, ok := kept.Find([]byte(key)); ok != want {
			t.Errorf("%s is kept: %v, want %v", key, ok, want)
		}
	}
	kept.Put([]byte("large"), 1000)
	if _, ok := kept.Find([]byte("large")); !ok || kept.Len() != 1 {
		t.Errorf("%d tables are kept, want the large one alone", kept.Len())
	}
}

// growing is a table that takes more memory later.
type growing struct{ bytes int }

func (g *growing) Bytes() int { return g.bytes }

func TestKeptNoticesGrowth(t *testing.T) {
	kept, grown := topology.Kept[*growing]{Budget: 310}, &growing{bytes: 100}
	kept.Put([]byte("a"), grown)
	grown.bytes = 250
	kept.Find([]byte("a"))
	kept.Put([]byte("b"), &growing{bytes: 100})
	if _, ok := kept.Find([]byte("a")); ok {
		t.Error("a table that has grown does not count as it is now")
	}
	kept.Clear()
	kept.Put([]byte("c"), &growing{bytes: 150})
	kept.Put([]byte("d"), &growing{bytes: 150})
	if kept.Len() != 2 {
		t.Errorf("%d tables are kept, want both that came since nothing was left", kept.Len())
	}
	kept.Put([]byte("e"), &growing{bytes: 150})
	if _, ok := kept.Find([]byte("c")); ok || kept.Len() != 2 {
		t.Errorf("%d tables are kept, the first among them: %v; want the other two", kept.Len(), ok)
	}
	kept.Put([]byte("f"), &growing{bytes: 50})
	if kept.Len() != 2 {
		t.Errorf("%d tables are kept, want two: what was cleared counts no more", kept.Len())
	}
}

func TestSparse(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var s topology.Sparse[int64]
	want := make([]int64, 1000)
	for range 500 {
		place, delta := random.Int32N(1000), random.Int64N(9)-4
		if before := s.Add(place, delta); before != want[place] {
			t.Fatalf("place %d had %d, want %d", place, before, want[place])
		}
		want[place] += delta
	}
	list := make([]int64, 1000)
	s.AddTo(list, -2)
	for place := range want {
		if s.At(int32(place)) != want[place] || list[place] != -2*want[place] {
			t.Fatalf("place %d has %d, and added %d; want %d", place, s.At(int32(place)), list[place], want[place])
		}
	}
	if s.At(5000) != 0 {
		t.Error("a place never touched is not zero")
	}
}
