// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package interpodaffinity

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/topology"
)

// matches are the pods on nodes that match all of some terms of the pod being scheduled, by node and by domain. Between
// cycles they are brought up to date with the pods that came and went; within a cycle they don't change.
type matches struct {
	terms      []fwk.AffinityTerm
	nodes      framework.IndexedSnapshot
	generation int64
	pods       *topology.Selection
	// keys has the sums for each distinct topology key of the terms.
	keys []keySums
}

// keySums adds up by the domains of one topology key.
type keySums struct {
	domains  *topology.Domains
	position topology.Position
	sums     topology.Sparse[int64]
}

// newMatches returns matches of terms in which no namespace is left to be selected by label.
func newMatches(terms []fwk.AffinityTerm, shared *topology.Shared, forEach topology.ForEach) *matches {
	m := &matches{terms: terms, nodes: shared.Nodes(), pods: topology.NewSelection(shared, query(terms), forEach)}
	for i := range terms {
		key := terms[i].TopologyKey
		if !slices.ContainsFunc(m.keys, func(k keySums) bool { return k.domains.Key() == key }) {
			m.keys = append(m.keys, keySums{domains: shared.Domains(key)})
		}
	}
	return m
}

// query selects the pods that match all terms.
func query(terms []fwk.AffinityTerm) topology.Query {
	query := topology.Query{
		Selector: terms[0].Selector,
		Matches: func(namespace string, own labels.Set, _ bool) bool {
			for i := range terms {
				t := &terms[i]
				if !t.Namespaces.Has(namespace) && !t.NamespaceSelector.Matches(labels.Set(nil)) || !t.Selector.Matches(own) {
					return false
				}
			}
			return true
		},
	}
	if !terms[0].NamespaceSelector.Matches(labels.Set(nil)) {
		query.Namespaces = append([]string{}, terms[0].Namespaces.UnsortedList()...)
	}
	return query
}

func (m *matches) bytes() int {
	bytes := 512 + m.pods.Bytes()
	for i := range m.keys {
		bytes += 128 + m.keys[i].sums.Bytes()
	}
	return bytes
}

// sync brings the matches up to date. The caller holds the lock of what is shared.
func (m *matches) sync(shared *topology.Shared) {
	if m.generation == m.nodes.Generation() {
		return
	}
	m.pods.Sync()
	for i := range m.keys {
		k := &m.keys[i]
		shared.SyncDomains(k.domains)
		if !k.position.Follow(k.domains.Moves(), m.pods, k.domains.ByNode(), k.add) {
			k.sums = topology.AddUp(m.pods, k.domains.ByNode())
		}
	}
	m.generation = m.nodes.Generation()
}

func (k *keySums) add(domain int32, delta int64) { k.sums.Add(domain, delta) }

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
		sum += m.keys[i].sums.Nonzero()
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
