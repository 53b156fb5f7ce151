// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/node/topology"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// model is what a cache should hold, kept in the most obvious way: plain maps and lists that are searched from end to
// end. It follows the documentation of the package, not its code.
type model struct {
	pods map[types.UID]modelPod
	// nodes are the live nodes.
	nodes map[string]*v1.Node
	// arrivals are the live nodes in the order in which they came to their zones, zones the keys of zones with nodes in
	// the order of their appearance.
	arrivals []string
	zones    []string
	// imageSizes holds the images that any live node has, with the size seen first.
	imageSizes map[string]int64
	// changes counts, per node name, what happened to the node or its pods; lives how often it was removed.
	changes map[string]int
	lives   map[string]int
}

type modelPod struct {
	pod       *v1.Pod
	assumed   bool
	assumedAt time.Time
}

func newModel() *model {
	return &model{pods: map[types.UID]modelPod{}, nodes: map[string]*v1.Node{}, imageSizes: map[string]int64{},
		changes: map[string]int{}, lives: map[string]int{}}
}

func (m *model) putPod(pod *v1.Pod, assumed bool, now time.Time) {
	m.pods[pod.UID] = modelPod{pod: pod, assumed: assumed, assumedAt: now}
	m.changes[pod.Spec.NodeName]++
}

func (m *model) takePod(uid types.UID) {
	m.changes[m.pods[uid].pod.Spec.NodeName]++
	delete(m.pods, uid)
}

func (m *model) putNode(node *v1.Node) {
	old, exists := m.nodes[node.Name]
	if !exists || topology.GetZoneKey(old) != topology.GetZoneKey(node) {
		m.leaveZone(node.Name)
		m.arrivals = append(m.arrivals, node.Name)
		if zone := topology.GetZoneKey(node); !slices.Contains(m.zones, zone) {
			m.zones = append(m.zones, zone)
		}
	}
	delete(m.nodes, node.Name)
	m.forgetUnusedImages()
	m.nodes[node.Name] = node
	for _, image := range node.Status.Images {
		for _, name := range image.Names {
			if _, known := m.imageSizes[name]; !known {
				m.imageSizes[name] = image.SizeBytes
			}
		}
	}
	m.changes[node.Name]++
}

func (m *model) takeNode(name string) {
	m.leaveZone(name)
	delete(m.nodes, name)
	m.forgetUnusedImages()
	m.lives[name]++
	m.changes[name]++
}

// leaveZone must run while m.nodes still has the node.
func (m *model) leaveZone(name string) {
	node, exists := m.nodes[name]
	if !exists {
		return
	}
	m.arrivals = slices.DeleteFunc(m.arrivals, func(other string) bool { return other == name })
	left := topology.GetZoneKey(node)
	if !slices.ContainsFunc(m.arrivals, func(other string) bool { return topology.GetZoneKey(m.nodes[other]) == left }) {
		m.zones = slices.DeleteFunc(m.zones, func(zone string) bool { return zone == left })
	}
}

func (m *model) nodesWithImage(name string) (count int) {
	for _, node := range m.nodes {
		if slices.ContainsFunc(node.Status.Images, func(i v1.ContainerImage) bool { return slices.Contains(i.Names, name) }) {
			count++
		}
	}
	return count
}

func (m *model) forgetUnusedImages() {
	maps.DeleteFunc(m.imageSizes, func(name string, _ int64) bool { return m.nodesWithImage(name) == 0 })
}

// order is the first node of every zone, then the second, and so on.
func (m *model) order() []string {
	var result []string
	for round := 0; len(result) < len(m.arrivals); round++ {
		for _, zone := range m.zones {
			at := 0
			for _, name := range m.arrivals {
				if topology.GetZoneKey(m.nodes[name]) == zone {
					if at == round {
						result = append(result, name)
					}
					at++
				}
			}
		}
	}
	return result
}

// view is what a node looks like in a snapshot taken now.
func (m *model) view(name string) nodeView {
	info := framework.NewNodeInfo()
	for _, pod := range m.pods {
		if pod.pod.Spec.NodeName == name {
			info.AddPod(pod.pod)
		}
	}
	info.SetNode(m.nodes[name])
	view := viewOf(info)
	for _, image := range m.nodes[name].Status.Images {
		for _, imageName := range image.Names {
			view.Images[imageName] = imageView{Size: m.imageSizes[imageName], NumNodes: m.nodesWithImage(imageName)}
		}
	}
	return view
}

func (m *model) counts() Counts {
	counts := Counts{Pods: len(m.pods)}
	names := map[string]bool{}
	for name := range m.nodes {
		names[name] = true
	}
	for _, pod := range m.pods {
		names[pod.pod.Spec.NodeName] = true
		if pod.assumed {
			counts.AssumedPods++
		}
	}
	counts.Nodes = len(names)
	return counts
}

// follower is a snapshot together with what it should show.
type follower struct {
	snapshot Snapshot
	order    []string
	views    map[string]nodeView
	changes  map[string]int
	lives    map[string]int
	indexOf  map[string]int
	infos    map[int]fwk.NodeInfo
}

// check updates the snapshot and compares everything about it to the model.
func (f *follower) check(t *testing.T, c *Cache, m *model) {
	t.Helper()
	before := f.snapshot.Generation()
	if err := c.UpdateSnapshot(&f.snapshot); err != nil {
		t.Fatalf("UpdateSnapshot: %v", err)
	}
	f.advance(m)
	want := snapshotView{Order: f.order, Nodes: f.views}
	for _, name := range f.order {
		if len(f.views[name].Affinity) > 0 {
			want.Affinity = append(want.Affinity, name)
		}
		if len(f.views[name].AntiAffinity) > 0 {
			want.AntiAffinity = append(want.AntiAffinity, name)
		}
	}
	for _, key := range modelClaims {
		if slices.ContainsFunc(f.order, func(name string) bool { return f.views[name].Claims[key] > 0 }) {
			want.UsedClaims = append(want.UsedClaims, key)
		}
	}
	// DeepEqual is fast where both sides have the same objects, and they nearly always do.
	if got := snapshotViewOf(t, &f.snapshot, modelClaims); !reflect.DeepEqual(want, got) {
		t.Errorf("snapshot (-model +snapshot):\n%s", cmp.Diff(want, got))
	}
	f.checkSlots(t, m, before)
}

// advance brings what the snapshot should show up to date. Nodes that did not change keep what they showed: that
// matters for the number of nodes with an image. Order is kept while the names are the same.
func (f *follower) advance(m *model) {
	views := map[string]nodeView{}
	for name := range m.nodes {
		if old, known := f.views[name]; known && f.changes[name] == m.changes[name] {
			views[name] = old
		} else {
			views[name] = m.view(name)
		}
	}
	sameNames := len(views) == len(f.views)
	for name := range views {
		if _, known := f.views[name]; !known {
			sameNames = false
		}
	}
	if !sameNames {
		f.order = m.order()
	}
	f.views = views
	f.changes = maps.Clone(m.changes)
}

func (f *follower) checkSlots(t *testing.T, m *model, before int64) {
	t.Helper()
	s := &f.snapshot
	indexes, infos := map[string]int{}, map[int]fwk.NodeInfo{}
	listed, _ := s.List()
	for i, info := range listed {
		name := info.Node().Name
		index, ok := s.NodeIndex(name)
		if !ok || s.NodeAt(index) != info || s.ListOrder()[i] != index || index < 0 || index >= s.IndexCount() {
			t.Errorf("node %s has node index %d, %v; ListOrder says %d of %d, which has %v", name, index, ok, s.ListOrder()[i], s.IndexCount(), s.NodeAt(index))
		}
		if _, taken := infos[index]; taken {
			t.Errorf("node index %d has two nodes", index)
		}
		if old, known := f.indexOf[name]; known && old != index && f.lives[name] == m.lives[name] {
			t.Errorf("node %s moved from node index %d to %d", name, old, index)
		}
		indexes[name], infos[index] = index, info
	}
	changed := map[int]bool{}
	last := s.Generation() + 1
	for index := range s.ChangedSince(before) {
		if changed[index] {
			t.Errorf("node index %d is yielded twice", index)
		}
		changed[index] = true
		info := s.NodeAt(index)
		if info == nil {
			if infos[index] != nil {
				t.Errorf("node index %d of a listed node is empty", index)
			}
			continue
		}
		if generation := info.GetGeneration(); generation >= last || generation <= before {
			t.Errorf("node index %d changed at %d, yielded after %d, asked since %d", index, generation, last, before)
		} else {
			last = generation
		}
		if f.infos[index] == info {
			t.Errorf("node index %d did not change", index)
		}
	}
	for index := range s.IndexCount() {
		if f.infos[index] != infos[index] && !changed[index] && !sameButForHeartbeat(f.infos[index], infos[index]) {
			t.Errorf("the change of node index %d is not yielded", index)
		}
	}
	f.indexOf, f.infos, f.lives = indexes, infos, maps.Clone(m.lives)
}

const modelTTL = 40 * time.Second

var modelClaims = []string{"default/claim-0", "default/claim-1", "default/claim-2"}

// TestModel runs random operations on a cache and the model, and compares snapshots at random moments.
func TestModel(t *testing.T) {
	const operations = 10_000
	for seed := range uint64(6) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			run := newModelRun(t, rand.New(rand.NewPCG(seed, 0)))
			for i := range operations {
				run.step()
				if t.Failed() {
					t.Fatalf("after operation %d, %s", i, run.last)
				}
			}
			run.wantCoverage()
		})
	}
}

// sameButForHeartbeat reports whether two node infos are alike, as those before and after a heartbeat are.
func sameButForHeartbeat(a, b fwk.NodeInfo) bool {
	return a != nil && b != nil && cmp.Equal(viewOf(a), viewOf(b)) && cmp.Equal(a.Node(), b.Node())
}
