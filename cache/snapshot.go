// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"
	"iter"
	"sync"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

var (
	_ fwk.SharedLister          = &Snapshot{}
	_ fwk.NodeInfoLister        = &Snapshot{}
	_ fwk.StorageInfoLister     = &Snapshot{}
	_ framework.IndexedSnapshot = &Snapshot{}
	_ framework.SnapshotData    = &Snapshot{}
	_ framework.CurrentImages   = &Snapshot{}
)

// Snapshot is the live nodes of a [Cache] at one moment, with their pods. The zero value is an empty snapshot, ready
// for [Cache.UpdateSnapshot]; it then belongs to that cache.
//
// A snapshot may be read by many goroutines, but not while it is being updated. Slices that its methods return are
// good until the next update. The lists of nodes that the official interfaces return may be sorted and changed in place, as
// with kube-scheduler; later callers see that until an update, and nothing else depends on these slices.
type Snapshot struct {
	source     *Cache
	generation int64

	// byIndex has the node with each index, nil where there is none; byName has the same nodes. Nodes outside of an update
	// are in both.
	byIndex []*snapshotNode
	byName  map[string]*snapshotNode
	changes changeLog

	// list has the node infos in node order, order their node indexes; affinity and antiAffinity are parts of list.
	list         nodeList
	order        []int
	affinity     sublist
	antiAffinity sublist
	// claims is the sum over the node infos.
	claims claimCounts

	// changed is working space of updates.
	changed []int

	// session is that of [Snapshot.Mutable]; nil if none is open.
	session atomic.Pointer[mutations]
	// data is what plugins keep with the snapshot, each value as a function that makes it once.
	data sync.Map
}

// snapshotNode is a node in a snapshot.
type snapshotNode struct {
	name  string
	info  *framework.NodeInfo
	index int
	// position is the index in Snapshot.list.
	position int
	// affinity and antiAffinity tell which lists the node belongs to. They are kept here so that making lists again
	// need not reach into every node info.
	affinity, antiAffinity bool
}

// NewSnapshot returns a snapshot of the given nodes with those of the pods that are on them, without a cache to
// maintain. Nodes are listed in the order that a cache would give them, had they been added one by one. Pods that name
// no node, or none of these, are left out; pods need no UID. Of nodes with the same name the last counts.
func NewSnapshot(pods []*v1.Pod, nodes []*v1.Node) *Snapshot {
	c := New(Options{})
	for _, node := range nodes {
		if node != nil {
			c.putNode(node)
		}
	}
	for _, pod := range pods {
		if pod == nil {
			continue
		}
		if entry, ok := c.nodes[pod.Spec.NodeName]; ok {
			entry.writable().AddPod(pod)
			c.indexes.recordChange(entry)
		}
	}
	s := &Snapshot{source: c}
	s.update()
	return s
}

// NodeInfos implements fwk.SharedLister.
func (s *Snapshot) NodeInfos() fwk.NodeInfoLister { return s }

// StorageInfos implements fwk.SharedLister.
func (s *Snapshot) StorageInfos() fwk.StorageInfoLister { return s }

// List implements fwk.NodeInfoLister: all nodes, alternating between zones. Every node info has a node object. It
// allocates nothing and never fails.
func (s *Snapshot) List() ([]fwk.NodeInfo, error) { return s.list.share(), nil }

// HavePodsWithAffinityList implements fwk.NodeInfoLister: the nodes with a pod that has any inter-pod affinity or
// anti-affinity, in the order of [Snapshot.List]. It never fails.
func (s *Snapshot) HavePodsWithAffinityList() ([]fwk.NodeInfo, error) {
	return s.affinity.nodes.share(), nil
}

// HavePodsWithRequiredAntiAffinityList implements fwk.NodeInfoLister: the nodes with a pod that has required
// anti-affinity, in the order of [Snapshot.List]. It never fails.
func (s *Snapshot) HavePodsWithRequiredAntiAffinityList() ([]fwk.NodeInfo, error) {
	return s.antiAffinity.nodes.share(), nil
}

// HavePodsWithRequiredNonHostScopedAntiAffinityList implements fwk.NodeInfoLister. It is always empty: it serves the
// alpha feature InterPodAffinityHostnameFastPath, which is off.
func (s *Snapshot) HavePodsWithRequiredNonHostScopedAntiAffinityList() ([]fwk.NodeInfo, error) {
	return nil, nil
}

// Get implements fwk.NodeInfoLister: the node with the given name, the same value as in [Snapshot.List]. It is an
// error if there is none.
func (s *Snapshot) Get(nodeName string) (fwk.NodeInfo, error) {
	node, ok := s.byName[nodeName]
	if !ok {
		return nil, unknownNode(nodeName)
	}
	return node.info, nil
}

func unknownNode(name string) error { return fmt.Errorf("nodeinfo not found for node name %q", name) }

// IsPVCUsedByPods implements fwk.StorageInfoLister: it reports whether a pod on any node of the snapshot uses a
// persistent volume claim, given as "namespace/name".
func (s *Snapshot) IsPVCUsedByPods(key string) bool { return s.claims[key] > 0 }

// NodeCount returns the number of nodes.
func (s *Snapshot) NodeCount() int { return len(s.order) }

// Generation returns the generation that the snapshot shows, zero before the first update. It grows with every update
// that found a change; see [Snapshot.ChangedSince].
func (s *Snapshot) Generation() int64 { return s.generation }

// NodeIndex returns the node index of a node, and whether the node is in the snapshot.
func (s *Snapshot) NodeIndex(nodeName string) (int, bool) {
	node, ok := s.byName[nodeName]
	if !ok {
		return 0, false
	}
	return node.index, true
}

// NodeAt returns the node with an index, nil if there is none.
func (s *Snapshot) NodeAt(index int) fwk.NodeInfo {
	if index < 0 || index >= len(s.byIndex) || s.byIndex[index] == nil {
		return nil
	}
	return s.byIndex[index].info
}

// IndexCount returns a number that every node index in use is less than: the length of an array with a place for each.
func (s *Snapshot) IndexCount() int { return len(s.byIndex) }

// ListOrder returns the node indexes of the nodes in [Snapshot.List], index by index. It allocates nothing.
func (s *Snapshot) ListOrder() []int { return s.order }

// ChangedSince yields the node indexes that changed after a generation that [Snapshot.Generation] returned earlier (zero:
// ever), the latest change first. A node index changes when the node in it, or a pod on that node, is added, updated or
// removed; [Snapshot.NodeAt] is nil for a node index whose node is gone. The cost follows the number of node indexes yielded. What
// is known of a node whose index is not yielded is still true as far as it depends on that node's info alone; what
// depends on other nodes, such as the number of nodes that have an image, is not covered, nor is what a heartbeat changes: the
// heartbeat times of conditions, the resource version and the managed fields.
func (s *Snapshot) ChangedSince(generation int64) iter.Seq[int] { return s.changes.since(generation) }

// CurrentImage implements framework.CurrentImages.
func (s *Snapshot) CurrentImage(name string) (image fwk.ImageStateSummary, current bool) {
	if s.source == nil || !s.source.images.current {
		return fwk.ImageStateSummary{}, false
	}
	s.source.mu.RLock()
	defer s.source.mu.RUnlock()
	if state := s.source.images.byName[name]; state != nil {
		image = fwk.ImageStateSummary{Size: state.size, NumNodes: state.nodes}
	}
	return image, true
}

// Data implements framework.SnapshotData.
func (s *Snapshot) Data(key any, create func() any) any {
	value, found := s.data.Load(key)
	if !found {
		value, _ = s.data.LoadOrStore(key, sync.OnceValue(create))
	}
	return value.(func() any)()
}
