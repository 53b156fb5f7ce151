// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"slices"
	"sync"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
)

var _ fwk.CycleState = &CycleState{}

// CycleState is what the plugins remember of one pod during one attempt to schedule it. Reading and writing entries is
// safe for concurrent use, and reading is cheap while many nodes are filtered in parallel; the skip sets are written by
// the runtime between extension points only.
type CycleState struct {
	// entries are appended under mu and then never change, so that those up to count are read without it; the last one of a
	// key counts. What does not fit comes into rest, where it takes the place of what entries says.
	mu      sync.Mutex
	count   atomic.Int32
	entries [stateEntries]stateEntry
	spilled atomic.Bool
	rest    sync.Map // fwk.StateKey to stateEntry

	recordMetrics   bool
	skipPostFilter  bool
	skipFilter      sets.Set[string]
	skipScore       sets.Set[string]
	skipPreBind     sets.Set[string]
	parallelPreBind sets.Set[string]
}

// stateEntries is room for what the default plugins write in an attempt about most pods.
const stateEntries = 12

type stateEntry struct {
	key  fwk.StateKey
	data fwk.StateData
}

// deletedEntry is the data of an entry that was deleted.
type deletedEntry struct{}

// Clone implements fwk.StateData.
func (deletedEntry) Clone() fwk.StateData { return deletedEntry{} }

func (e *stateEntry) deleted() bool { return e.data == deletedEntry{} }

// lookup returns the entry of a key, which may be deleted.
func (s *CycleState) lookup(key fwk.StateKey) (entry stateEntry, ok bool) {
	if s.spilled.Load() {
		if found, ok := s.rest.Load(key); ok {
			return found.(stateEntry), true
		}
	}
	for i := s.count.Load() - 1; i >= 0; i-- {
		if s.entries[i].key == key {
			return s.entries[i], true
		}
	}
	return stateEntry{}, false
}

func (s *CycleState) put(entry stateEntry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if next := s.count.Load(); next < stateEntries {
		s.entries[next] = entry
		s.count.Store(next + 1)
		return
	}
	s.rest.Store(entry.key, entry)
	s.spilled.Store(true)
}

// each visits what there is of all keys.
func (s *CycleState) each(visit func(fwk.StateKey, fwk.StateData)) {
	count := s.count.Load()
	for i := range s.entries[:count] {
		entry := &s.entries[i]
		replaced := slices.ContainsFunc(s.entries[i+1:count], func(later stateEntry) bool { return later.key == entry.key })
		if replaced || entry.deleted() {
			continue
		}
		if s.spilled.Load() {
			if _, found := s.rest.Load(entry.key); found {
				continue
			}
		}
		visit(entry.key, entry.data)
	}
	s.rest.Range(func(_, value any) bool {
		if entry := value.(stateEntry); !entry.deleted() {
			visit(entry.key, entry.data)
		}
		return true
	})
}

// NewCycleState returns an empty state.
func NewCycleState() *CycleState { return &CycleState{} }

// Read implements fwk.CycleState; an absent key gives fwk.ErrNotFound.
func (s *CycleState) Read(key fwk.StateKey) (fwk.StateData, error) {
	if entry, ok := s.lookup(key); ok && !entry.deleted() {
		return entry.data, nil // nil may be stored
	}
	return nil, fwk.ErrNotFound
}

// Write implements fwk.CycleState.
func (s *CycleState) Write(key fwk.StateKey, data fwk.StateData) {
	s.put(stateEntry{key: key, data: data})
}

// Delete implements fwk.CycleState.
func (s *CycleState) Delete(key fwk.StateKey) {
	if _, ok := s.lookup(key); ok {
		s.put(stateEntry{key: key, data: deletedEntry{}})
	}
}

// Clone implements fwk.CycleState: every entry is cloned by its own Clone, the skip sets are shared. The clone of a
// nil state is nil.
func (s *CycleState) Clone() fwk.CycleState {
	if s == nil {
		return nil
	}
	clone := &CycleState{
		recordMetrics:   s.recordMetrics,
		skipPostFilter:  s.skipPostFilter,
		skipFilter:      s.skipFilter,
		skipScore:       s.skipScore,
		skipPreBind:     s.skipPreBind,
		parallelPreBind: s.parallelPreBind,
	}
	s.each(func(key fwk.StateKey, data fwk.StateData) {
		if data != nil {
			data = data.Clone()
		}
		clone.put(stateEntry{key: key, data: data})
	})
	return clone
}

// SetRecordPluginMetrics chooses whether the duration of every plugin call is measured in this attempt.
func (s *CycleState) SetRecordPluginMetrics(record bool) { s.recordMetrics = record }

// ShouldRecordPluginMetrics implements fwk.CycleState.
func (s *CycleState) ShouldRecordPluginMetrics() bool { return s.recordMetrics }

// SetSkipAllPostFilterPlugins makes PostFilter a no-op for this attempt.
func (s *CycleState) SetSkipAllPostFilterPlugins(skip bool) { s.skipPostFilter = skip }

// ShouldSkipAllPostFilterPlugins implements fwk.CycleState.
func (s *CycleState) ShouldSkipAllPostFilterPlugins() bool { return s.skipPostFilter }

// GetSkipFilterPlugins implements fwk.CycleState.
func (s *CycleState) GetSkipFilterPlugins() sets.Set[string] { return s.skipFilter }

// SetSkipFilterPlugins implements fwk.CycleState.
func (s *CycleState) SetSkipFilterPlugins(plugins sets.Set[string]) { s.skipFilter = plugins }

// GetSkipScorePlugins implements fwk.CycleState.
func (s *CycleState) GetSkipScorePlugins() sets.Set[string] { return s.skipScore }

// SetSkipScorePlugins implements fwk.CycleState.
func (s *CycleState) SetSkipScorePlugins(plugins sets.Set[string]) { s.skipScore = plugins }

// GetSkipPreBindPlugins implements fwk.CycleState.
func (s *CycleState) GetSkipPreBindPlugins() sets.Set[string] { return s.skipPreBind }

// SetSkipPreBindPlugins implements fwk.CycleState.
func (s *CycleState) SetSkipPreBindPlugins(plugins sets.Set[string]) { s.skipPreBind = plugins }

// GetParallelPreBindPlugins implements fwk.CycleState.
func (s *CycleState) GetParallelPreBindPlugins() sets.Set[string] { return s.parallelPreBind }

// SetParallelPreBindPlugins implements fwk.CycleState.
func (s *CycleState) SetParallelPreBindPlugins(plugins sets.Set[string]) { s.parallelPreBind = plugins }

// IsPodGroupSchedulingCycle implements fwk.CycleState; pod groups are not scheduled as one, so it is always false.
func (s *CycleState) IsPodGroupSchedulingCycle() bool { return false }

// GetPodGroupSchedulingCycle implements fwk.CycleState; always nil.
func (s *CycleState) GetPodGroupSchedulingCycle() fwk.PodGroupCycleState { return nil }

// GetPlacementCycleState implements fwk.CycleState; always nil.
func (s *CycleState) GetPlacementCycleState() fwk.PlacementCycleState { return nil }

// PodsToActivateKey is the key of the [PodsToActivate] that every attempt's state holds.
const PodsToActivateKey fwk.StateKey = "kubernetes.io/pods-to-activate"

// PodsToActivate is how a plugin asks for other pods to be tried at once: it puts them, by namespace/name, into Map
// under the lock. The scheduler activates them at the end of a successful scheduling cycle and of a successful binding
// cycle. A clone of the state shares it.
type PodsToActivate struct {
	sync.Mutex
	// Map is guarded by the mutex.
	Map map[string]*v1.Pod
}

// NewPodsToActivate returns an empty set.
func NewPodsToActivate() *PodsToActivate { return &PodsToActivate{Map: map[string]*v1.Pod{}} }

// Clone implements fwk.StateData; it returns the same set.
func (p *PodsToActivate) Clone() fwk.StateData { return p }
