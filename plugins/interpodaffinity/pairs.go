// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package interpodaffinity

import (
	"sync"

	"github.com/rouse-scheduler/rouse/plugins/internal/topology"
)

// pairs has a number for every pair of a topology key and one of its values. There are few keys, so they are simply
// searched. The zero value is empty.
type pairs struct {
	keys []keyCounts
	// nonzero is how many pairs have another number than zero.
	nonzero int
	// frozen tells that there may be clones.
	frozen bool
}

type keyCounts struct {
	key    string
	counts topology.Counter
}

// add makes a pair known and adds to its number.
func (p *pairs) add(key, value string, delta int64) {
	counts := p.of(key)
	if counts == nil {
		p.keys = append(p.keys, keyCounts{key: key})
		counts = &p.keys[len(p.keys)-1].counts
		if p.frozen {
			counts.Freeze()
		}
	}
	before, _ := counts.Add(value, delta)
	switch now := before + delta; {
	case before == 0 && now != 0:
		p.nonzero++
	case before != 0 && now == 0:
		p.nonzero--
	}
}

// of returns the counts of a topology key, nil if it is not known.
func (p *pairs) of(key string) *topology.Counter {
	for i := range p.keys {
		if p.keys[i].key == key {
			return &p.keys[i].counts
		}
	}
	return nil
}

// count returns the number of a pair.
func (p *pairs) count(key, value string) int64 {
	if counts := p.of(key); counts != nil {
		return counts.Count(value)
	}
	return 0
}

// empty tells whether all numbers are zero.
func (p *pairs) empty() bool { return p.nonzero == 0 }

// anyOn tells whether a pair that a node with these labels has is above zero.
func (p *pairs) anyOn(labels map[string]string) bool {
	for i := range p.keys {
		if value, ok := labels[p.keys[i].key]; ok && p.keys[i].counts.Count(value) > 0 {
			return true
		}
	}
	return false
}

// sumOn adds up the numbers of the pairs that a node with these labels has.
func (p *pairs) sumOn(labels map[string]string) int64 {
	var sum int64
	for i := range p.keys {
		if value, ok := labels[p.keys[i].key]; ok {
			sum += p.keys[i].counts.Count(value)
		}
	}
	return sum
}

// freeze has to be called before the first clone.
func (p *pairs) freeze() {
	p.frozen = true
	for i := range p.keys {
		p.keys[i].counts.Freeze()
	}
}

// clone returns an independent copy. It may be called concurrently.
func (p *pairs) clone() pairs {
	clone := pairs{keys: make([]keyCounts, len(p.keys)), nonzero: p.nonzero, frozen: true}
	for i := range p.keys {
		clone.keys[i] = keyCounts{key: p.keys[i].key, counts: p.keys[i].counts.Clone()}
	}
	return clone
}

// nodeSums collects what one node adds to pairs. Since a node has one value for each key, the keys are enough.
type nodeSums []keySum

type keySum struct {
	key string
	sum int64
}

// add makes a key known and adds to its sum, if the node with these labels has the key.
func (n nodeSums) add(labels map[string]string, key string, delta int64) nodeSums {
	if _, ok := labels[key]; !ok {
		return n
	}
	for i := range n {
		if n[i].key == key {
			n[i].sum += delta
			return n
		}
	}
	return append(n, keySum{key: key, sum: delta})
}

// sharedPairs are pairs that several goroutines add to.
type sharedPairs struct {
	mu sync.Mutex
	pairs
}

// addAll adds the sums of a node with these labels.
func (s *sharedPairs) addAll(labels map[string]string, sums nodeSums) {
	if len(sums) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sum := range sums {
		s.add(sum.key, labels[sum.key], sum.sum)
	}
}
