// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
)

// skipSets hands out the sets of plugins that are skipped in a cycle. Cycles skip the same few combinations over and
// over, so that each set is made once; nobody changes them. The zero value is ready, and safe for concurrent use.
type skipSets struct {
	mu     sync.RWMutex
	byMask map[uint64]sets.Set[string]
}

// maxMasked is the number of plugins that fit into a mask.
const maxMasked = 64

// skips collects the plugins of one stage that are skipped in one cycle.
type skips struct {
	mask   uint64
	beyond sets.Set[string] // those that don't fit into the mask
}

func (s *skips) add(index int, name string) {
	if index < maxMasked {
		s.mask |= 1 << index
		return
	}
	if s.beyond == nil {
		s.beyond = sets.New[string]()
	}
	s.beyond.Insert(name)
}

// skipSet returns the names of the skipped plugins of a stage.
func skipSet[P fwk.Plugin](known *skipSets, stage stage[P], s *skips) sets.Set[string] {
	if s.mask == 0 {
		return s.beyond
	}
	known.mu.RLock()
	set := known.byMask[s.mask]
	known.mu.RUnlock()
	if set == nil {
		set = sets.New[string]()
		for i := range min(len(stage), maxMasked) {
			if s.mask&(1<<i) != 0 {
				set.Insert(stage[i].name)
			}
		}
		known.mu.Lock()
		if known.byMask == nil {
			known.byMask = map[uint64]sets.Set[string]{}
		}
		known.byMask[s.mask] = set
		known.mu.Unlock()
	}
	if s.beyond != nil {
		return set.Union(s.beyond)
	}
	return set
}
