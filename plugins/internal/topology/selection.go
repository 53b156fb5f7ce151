// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// Query says which pods are selected.
type Query struct {
	// Namespaces are those that the pods are in; nil means any. Selector selects all of the pods, and perhaps others.
	Namespaces []string
	Selector   labels.Selector
	// Matches decides. It is called concurrently.
	Matches func(namespace string, labels labels.Set, terminating bool) bool
}

// ForEach calls do for every number below count, perhaps concurrently.
type ForEach func(count int, do func(i int))

// Selection is the pods on nodes that a query selects, by node. Between cycles it is brought up to date with the pods that
// came and went; within a cycle it does not change.
type Selection struct {
	Query
	// ByNode is how many pods of each node are selected.
	ByNode Sparse[int32]

	shared  *Shared
	forEach ForEach
	changes log[NodeChange]
	sources []source
	started bool
	// sets are the label sets that match, by their ids; of those up to the id seen.
	sets     []*LabelSet
	seen     int64
	position int // in the log of pods
}

// NodeChange is how many more pods of a node are selected.
type NodeChange struct{ Node, Delta int32 }

// maxNodeChanges is how many changes of a selection are remembered.
const maxNodeChanges = 256

// NewSelection returns the selection of a query, which is empty until it is brought up to date.
func NewSelection(shared *Shared, query Query, forEach ForEach) *Selection {
	return &Selection{Query: query, shared: shared, forEach: forEach}
}

// Bytes is roughly how much memory the selection takes.
func (s *Selection) Bytes() int {
	return 512 + s.ByNode.Bytes() + 8*cap(s.sets) + 96*cap(s.sources) + 8*cap(s.changes.entries)
}

// ChangesSince returns what changed in ByNode from a position on, in the order in which it did, and the position to go on
// from. It returns false if that is not remembered; what changed from the zero position on never is.
func (s *Selection) ChangesSince(position int) (changes []NodeChange, next int, ok bool) {
	changes, ok = s.changes.since(position)
	return changes, s.changes.end(), ok
}

// Sync brings the selection up to date. The caller holds the lock of what is shared.
func (s *Selection) Sync() {
	index := s.shared.Pods()
	if index == nil {
		s.walk()
		return
	}
	if !s.started {
		s.sources, s.started = index.sourcesOf(s.Namespaces, s.Selector), true
	} else if s.position == index.changes.end() {
		return
	}
	if s.position > 0 && !s.follow(index) {
		s.ByNode, s.sets, s.seen = Sparse[int32]{}, nil, 0
		s.changes.forget()
	}
	s.addNew(index)
	s.position = index.changes.end()
}

func (s *Selection) change(node, delta int32) {
	s.ByNode.Add(node, delta)
	s.changes.add(NodeChange{Node: node, Delta: delta}, maxNodeChanges)
}

// follow applies the changes of the label sets that were there before; false if they are not remembered.
func (s *Selection) follow(index *PodIndex) bool {
	entries, ok := index.changes.since(s.position)
	if !ok {
		return false
	}
	gone := false
	if len(entries) < len(s.sets) {
		for i := range entries {
			if set := entries[i].set; s.has(set) {
				s.change(entries[i].node, entries[i].delta)
				gone = gone || set.pods == 0
			}
		}
	} else {
		for _, set := range s.sets {
			for at := set.latest; at > s.position; {
				entry := &entries[at-1-s.position]
				s.change(entry.node, entry.delta)
				at = entry.before
			}
			gone = gone || set.pods == 0
		}
	}
	if gone {
		s.sets = slices.DeleteFunc(s.sets, func(set *LabelSet) bool { return set.pods == 0 })
	}
	return true
}

// has reports whether a label set was counted before.
func (s *Selection) has(set *LabelSet) bool {
	_, found := slices.BinarySearchFunc(s.sets, set.id, func(other *LabelSet, id int64) int { return int(other.id - id) })
	return found
}

// manySets is from how many label sets on they are matched in parallel.
const manySets = 2048

// addNew counts the pods of label sets that were not seen before.
func (s *Selection) addNew(index *PodIndex) {
	if s.seen == index.lastID {
		return
	}
	s.seen, s.sets = index.lastID, append(s.sets, s.matching(s.unseen(index))...)
}

// unseen returns the label sets that were not seen before, and may match.
func (s *Selection) unseen(index *PodIndex) (unseen []*LabelSet) {
	appendUnseen := func(list *posting) {
		from := len(list.sets)
		for from > 0 && list.sets[from-1].id > s.seen {
			from--
		}
		unseen = append(unseen, list.sets[from:]...)
	}
	if s.sources == nil {
		appendUnseen(index.all)
	}
	for i := range s.sources {
		if list := index.find(&s.sources[i]); list != nil {
			appendUnseen(list)
		}
	}
	if len(s.sources) > 1 {
		slices.SortFunc(unseen, func(a, b *LabelSet) int { return int(a.id - b.id) })
	}
	return unseen
}

// matching counts the pods of those label sets that match, and returns these, in place of all.
func (s *Selection) matching(sets []*LabelSet) []*LabelSet {
	parts := (len(sets) + manySets - 1) / manySets
	keepMatching := func(part int) {
		for i, set := range sets[part*manySets : min(len(sets), (part+1)*manySets)] {
			if !s.matches(set) {
				sets[part*manySets+i] = nil
			}
		}
	}
	if parts > 1 && s.forEach != nil {
		s.forEach(parts, keepMatching)
	} else {
		for part := range parts {
			keepMatching(part)
		}
	}
	sets = slices.DeleteFunc(sets, func(set *LabelSet) bool { return set == nil })
	total := 0
	for _, set := range sets {
		total += set.byNode.Nonzero()
	}
	if total <= maxNodeChanges {
		for _, set := range sets {
			for node, count := range set.byNode.All() {
				s.change(node, count)
			}
		}
		return sets
	}
	counts := make([]int64, s.shared.nodes.IndexCount())
	for _, set := range sets {
		set.byNode.AddTo(counts, 1)
	}
	s.addAll(counts)
	return sets
}

// addAll adds so many pods for each node that it is no use to tell what changed.
func (s *Selection) addAll(counts []int64) {
	s.changes.forget()
	for node, count := range counts {
		s.ByNode.Add(int32(node), int32(count))
	}
}

func (s *Selection) matches(set *LabelSet) bool {
	return set.pods > 0 && s.Matches(set.Namespace, set.Labels, set.Terminating)
}

// manyNodes is from how many nodes on their pods are counted in parallel, and how many are counted at a time.
const manyNodes = 64

// walk counts the pods of nodes that are counted only once.
func (s *Selection) walk() {
	if s.started {
		return
	}
	s.started = true
	nodes := s.shared.nodes
	counts := make([]int64, nodes.IndexCount())
	count := func(part int) {
		for index := part * manyNodes; index < min(len(counts), (part+1)*manyNodes); index++ {
			if info := nodes.NodeAt(index); info != nil && info.Node() != nil {
				counts[index] = s.countOn(info)
			}
		}
	}
	if parts := (len(counts) + manyNodes - 1) / manyNodes; parts > 1 && s.forEach != nil {
		s.forEach(parts, count)
	} else {
		for part := range parts {
			count(part)
		}
	}
	s.addAll(counts)
}

func (s *Selection) countOn(info fwk.NodeInfo) (count int64) {
	for _, other := range framework.View(info).Pods() {
		if pod := framework.ViewPod(other).Meta(); s.Matches(pod.Namespace, pod.Labels, pod.DeletionTimestamp != nil) {
			count++
		}
	}
	return count
}
