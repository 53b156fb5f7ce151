// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"

	"github.com/rouse-scheduler/rouse/framework"
)

// maxDomains is how many topology keys are remembered; a cluster uses few.
const maxDomains = 64

// Shared is what all plugins on one snapshot keep together: the domains of topology keys, and the index of pods. Whoever
// brings any of it up to date, or what is made on top of it, holds the lock; within a cycle nothing changes any more, and
// may be read without.
type Shared struct {
	sync.Mutex
	nodes      framework.IndexedSnapshot
	generation int64
	objects    nodeObjects
	domains    []*Domains
	pods       *PodIndex // nil until pods are asked for, and for nodes that don't last
	lasting    bool
	// changed is the last answer of ChangedSince, about what changed between two generations.
	changed  []int
	from, to int64
}

// sharedKey is where a snapshot keeps what is shared.
type sharedKey struct{}

// SharedOf returns what is shared about a snapshot. Last is what was returned to the caller before, or nil; it is returned
// again where the snapshot is still the same, but keeps nothing for plugins.
func SharedOf(nodes framework.IndexedSnapshot, last *Shared) *Shared {
	if keeper, ok := nodes.(framework.SnapshotData); ok {
		shared := keeper.Data(sharedKey{}, newLasting).(*Shared)
		shared.Lock()
		defer shared.Unlock()
		shared.nodes = nodes
		return shared
	}
	if last != nil && last.nodes == nodes {
		return last
	}
	return &Shared{nodes: nodes, lasting: true}
}

func newLasting() any { return &Shared{lasting: true} }

// SharedOnce returns what is shared about nodes that don't last, to be used in one cycle.
func SharedOnce(nodes framework.IndexedSnapshot) *Shared { return &Shared{nodes: nodes} }

// Nodes are the nodes that it is about.
func (s *Shared) Nodes() framework.IndexedSnapshot { return s.nodes }

// Sync takes over what changed in the snapshot. The caller holds the lock.
func (s *Shared) Sync() {
	generation := s.nodes.Generation()
	if s.generation == generation {
		return
	}
	for _, index := range s.ChangedSince(s.generation) {
		info := s.nodes.NodeAt(index)
		if info == nil || info.Node() == nil {
			s.objects.set(index, nil)
			if s.pods != nil {
				s.pods.setNode(index, nil)
			}
			continue
		}
		s.objects.set(index, info.Node())
		if s.pods != nil {
			s.pods.setNode(index, framework.View(info).Pods())
		}
	}
	if s.generation == 0 {
		s.objects.changed.forget()
	}
	s.generation = generation
}

// ChangedSince returns the indexes of the nodes that changed after a generation of the snapshot. The list must not be changed;
// later calls don't change it. The caller holds the lock.
func (s *Shared) ChangedSince(generation int64) []int {
	now := s.nodes.Generation()
	if s.to == now && s.from == generation && now != 0 {
		return s.changed
	}
	s.from, s.to, s.changed = generation, now, make([]int, 0, 4)
	for index := range s.nodes.ChangedSince(generation) {
		s.changed = append(s.changed, index)
	}
	return s.changed
}

// Domains returns the domains of a topology key, up to date. The caller holds the lock.
func (s *Shared) Domains(key string) *Domains {
	s.Sync()
	at := slices.IndexFunc(s.domains, func(d *Domains) bool { return d.key == key })
	if at < 0 {
		if len(s.domains) == maxDomains {
			s.domains = nil // what is in use stays in use, but is shared no more
		}
		at = len(s.domains)
		s.domains = append(s.domains, newDomains(key))
	}
	s.domains[at].sync(&s.objects)
	return s.domains[at]
}

// SyncDomains brings domains up to date that came from here. The caller holds the lock.
func (s *Shared) SyncDomains(domains *Domains) {
	s.Sync()
	domains.sync(&s.objects)
}

// EachNodeSince calls do for the nodes whose objects changed from a position on, with nil for those that are gone, and
// returns the position to go on from. The zero position is that before all nodes. The caller holds the lock.
func (s *Shared) EachNodeSince(position int, do func(index int, node *v1.Node)) int {
	s.Sync()
	return s.objects.eachSince(position, do)
}

// Pods returns the index of the pods, up to date. The first call indexes them all. It is nil for nodes that don't last. The
// caller holds the lock.
func (s *Shared) Pods() *PodIndex {
	s.Sync()
	if s.pods == nil && s.lasting {
		s.pods = newPodIndex()
		for index := range s.nodes.IndexCount() {
			if info := s.nodes.NodeAt(index); info != nil && info.Node() != nil {
				s.pods.setNode(index, framework.View(info).Pods())
			}
		}
		s.pods.changes.forget()
	}
	return s.pods
}
