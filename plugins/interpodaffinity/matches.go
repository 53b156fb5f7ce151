// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package interpodaffinity

import (
	"slices"

	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/topology"
)

// matches are the pods on nodes that match all of some terms of the pod being scheduled, by node and by domain. Between
// cycles they are brought up to date with the nodes that changed; within a cycle they don't change.
type matches struct {
	terms      []fwk.AffinityTerm
	nodes      framework.IndexedSnapshot
	generation int64
	// byNode is how many pods of each node match.
	byNode topology.Sparse[int32]
	// keys has the sums for each distinct topology key of the terms.
	keys []keySums
}

// keySums adds up by the domains of one topology key.
type keySums struct {
	domains *topology.Domains
	// counted is one more than the domain that a node was added to, zero if it was not.
	counted topology.Sparse[int32]
	sums    topology.Sparse[int64]
	// nonzero is how many domains have pods.
	nonzero int
}

// newMatches returns matches of terms in which no namespace is left to be selected by label.
func newMatches(terms []fwk.AffinityTerm, nodes framework.IndexedSnapshot, shared *topology.SharedDomains) *matches {
	m := &matches{terms: terms, nodes: nodes}
	for i := range terms {
		key := terms[i].TopologyKey
		if !slices.ContainsFunc(m.keys, func(k keySums) bool { return k.domains.Key() == key }) {
			m.keys = append(m.keys, keySums{domains: shared.Domains(nodes, key)})
		}
	}
	return m
}

func (m *matches) bytes() int {
	bytes := 512 + m.byNode.Bytes()
	for i := range m.keys {
		bytes += 128 + m.keys[i].counted.Bytes() + m.keys[i].sums.Bytes()
	}
	return bytes
}

func (m *matches) sync(shared *topology.SharedDomains) {
	if m.generation == m.nodes.Generation() {
		return
	}
	for i := range m.keys {
		shared.Sync(m.nodes, m.keys[i].domains)
	}
	for _, index := range shared.Changes.Since(m.nodes, m.generation) {
		m.recount(int32(index))
	}
	m.generation = m.nodes.Generation()
}

// recount counts the pods of the node at an index again.
func (m *matches) recount(index int32) {
	var count int32
	info := m.nodes.NodeAt(int(index))
	if info != nil && info.Node() != nil {
		for _, other := range framework.View(info).Pods() {
			if matchesAll(m.terms, other.GetPod(), nil) {
				count++
			}
		}
	}
	before := m.byNode.Add(index, 0)
	m.byNode.Add(index, count-before)
	for i := range m.keys {
		k := &m.keys[i]
		was := k.counted.At(index)
		var now int32
		if count > 0 {
			now = k.domains.ByNode()[index] + 1
		}
		if was == now && before == count {
			continue
		}
		if was > 0 {
			k.add(was-1, -int64(before))
		}
		if now > 0 {
			k.add(now-1, int64(count))
		}
		k.counted.Add(index, now-was)
	}
}

func (k *keySums) add(domain int32, delta int64) {
	before := k.sums.Add(domain, delta)
	k.nonzero += crossing(before, before+delta)
}

// crossing is one for a number that was zero and is no more, and minus one for the reverse.
func crossing(before, now int64) int {
	switch {
	case before == 0 && now != 0:
		return 1
	case before != 0 && now == 0:
		return -1
	}
	return 0
}

// nonzero is how many domains of any key have pods.
func (m *matches) nonzero() int {
	sum := 0
	for i := range m.keys {
		sum += m.keys[i].nonzero
	}
	return sum
}

// count returns the pods in a domain of a topology key.
func (m *matches) count(key, value string) int64 {
	for i := range m.keys {
		if k := &m.keys[i]; k.domains.Key() == key {
			if domain := k.domains.Number(value); domain != topology.None {
				return k.sums.At(domain)
			}
		}
	}
	return 0
}
