// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package topology_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugins/internal/topology"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// TestDomainsFollowNodes lets nodes come, move and go, and compares with a look at all of them.
func TestDomainsFollowNodes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var nodes fixture.IndexedNodes
		shared := topology.SharedOf(&nodes, nil)
		for step := range 200 {
			index := random.IntN(20)
			name := fmt.Sprintf("n%d", index)
			switch labels := map[string]string{"zone": fmt.Sprintf("z%d", random.IntN(20))}; random.IntN(5) {
			case 0:
				nodes.Set(index, nil)
			case 1:
				nodes.Set(index, fixture.NodeInfo(objects.Node(name).Build()))
			case 2:
				labels["zone"] = ""
				fallthrough
			default:
				nodes.Set(index, fixture.NodeInfo(objects.Node(name).With(func(node *v1.Node) { node.Labels = labels }).Build()))
			}
			if random.IntN(3) > 0 {
				check(t, shared.Domains("zone"), &nodes)
			}
			if t.Failed() {
				t.Fatalf("after %d steps", step)
			}
		}
	}
}

func check(t *testing.T, d *topology.Domains, nodes *fixture.IndexedNodes) {
	t.Helper()
	values, lacking := map[string]int32{}, 0
	for index, domain := range d.ByNode() {
		info := nodes.NodeAt(index)
		if info == nil {
			if domain != topology.None {
				t.Errorf("node index %d without a node is in domain %d", index, domain)
			}
			continue
		}
		value, ok := info.Node().Labels["zone"]
		if !ok {
			lacking++
		}
		if ok != (domain != topology.None) || ok && d.Number(value) != domain {
			t.Errorf("node index %d with zone %q is in domain %d, want %d", index, value, domain, d.Number(value))
		}
		if ok {
			values[value] = domain
		}
	}
	if d.Known() != len(values) || d.Lacking() != lacking || d.Size() > 30 {
		t.Errorf("got %d domains, %d nodes in none, numbers below %d; want %d and %d", d.Known(), d.Lacking(), d.Size(), len(values), lacking)
	}
	checkGroups(t, d, nodes)
	for value, domain := range values {
		if !d.HasNodes(domain) || domain == topology.Unnamed != (value == "") {
			t.Errorf("zone %q has number %d", value, domain)
		}
	}
}

// checkGroups checks that nodes in domains without a sum are alike, and those of a domain with one.
func checkGroups(t *testing.T, d *topology.Domains, nodes *fixture.IndexedNodes) {
	t.Helper()
	var sums topology.Sparse[int64]
	for domain := range int32(d.Size()) {
		if domain%2 == 0 && d.HasNodes(domain) {
			sums.Add(domain, 1)
		}
	}
	var groups framework.NodeGroups
	d.Group(&groups, &sums)
	if want := []string{d.Key()}; d.Few() {
		if !slices.Equal(groups.Labels, want) || groups.Exceptions != nil {
			t.Errorf("%d domains: the groups are %v, want those of label %v", d.Known(), groups, want)
		}
		return
	}
	var want []int
	for index, domain := range d.ByNode() {
		if nodes.NodeAt(index) != nil && (domain == topology.None || sums.At(domain) != 0) {
			want = append(want, index)
		}
	}
	slices.Sort(groups.Exceptions)
	if !slices.Equal(groups.Exceptions, want) || groups.Labels != nil {
		t.Errorf("%d domains: the groups are %v, want exceptions %v", d.Known(), groups, want)
	}
}

func TestSparse(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var s topology.Sparse[int64]
	const places = 3000
	want := make([]int64, places)
	for step := range 3 * places { // at first few are not zero
		place, delta := random.Int32N(min(places, int32(step/3+1))), random.Int64N(9)-4
		if before := s.Add(place, delta); before != want[place] {
			t.Fatalf("place %d had %d, want %d", place, before, want[place])
		}
		want[place] += delta
	}
	list := make([]int64, places)
	s.AddTo(list, -2)
	for place := range want {
		if s.At(int32(place)) != want[place] || list[place] != -2*want[place] {
			t.Fatalf("place %d has %d, and added %d; want %d", place, s.At(int32(place)), list[place], want[place])
		}
	}
	nonzero := 0
	for place, number := range s.All() {
		if number == 0 || number != want[place] {
			t.Errorf("place %d is said to have %d, want %d", place, number, want[place])
		}
		nonzero++
	}
	if nonzero != s.Nonzero() || nonzero < 2000 {
		t.Errorf("%d numbers are not zero, want %d", nonzero, s.Nonzero())
	}
	if s.At(5000) != 0 {
		t.Error("a place never touched is not zero")
	}
}
