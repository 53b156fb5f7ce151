// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package podtopologyspread

import (
	v1 "k8s.io/api/core/v1"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/podkeys"
	"github.com/rouse-scheduler/rouse/plugins/internal/topology"
)

// placement is the domain of each node that counts for a constraint. It does not depend on what the constraint selects, so
// constraints of many pods have the same one. Between cycles it is brought up to date with the nodes whose objects changed.
type placement struct {
	domains *topology.Domains
	// required are the domains of the keys that a node must have all of; nil if it need not.
	required []*topology.Domains
	// included says whether the policies of the constraint include a node; nil if they include all.
	included func(*v1.Node) bool

	position int // in the log of node objects
	// counted is the domain of each node that counts, by node index, topology.None for others. Members is how many nodes of each
	// domain count, and known how many domains have such nodes.
	counted []int32
	members []int32
	known   int
	moves   topology.MoveLog
}

// newPlacement returns the placement for a constraint, which is empty until it is brought up to date.
func newPlacement(rules *rules, constraint *constraint, shared *topology.Shared) *placement {
	p := &placement{domains: shared.Domains(constraint.topologyKey)}
	if rules.allKeys {
		for i := range rules.constraints {
			p.required = append(p.required, shared.Domains(rules.constraints[i].topologyKey))
		}
	}
	if constraint.honorTaints || constraint.honorAffinity && rules.restricted {
		p.included = func(node *v1.Node) bool { return constraint.includes(rules.eligibility(node)) }
	}
	return p
}

// appendPlacementKey appends everything that the placement for a constraint depends on.
func appendPlacementKey(key []byte, rules *rules, constraint *constraint, pod *v1.Pod) []byte {
	key = framework.AppendKeyString(key, constraint.topologyKey)
	if rules.allKeys {
		for i := range rules.constraints {
			key = framework.AppendKeyString(append(key, 'k'), rules.constraints[i].topologyKey)
		}
	}
	if constraint.honorAffinity && rules.restricted {
		key = podkeys.RequiredNodeAffinity(append(key, 'a'), pod)
	}
	if constraint.honorTaints {
		key = podkeys.Tolerations(append(key, 't'), pod.Spec.Tolerations)
	}
	return key
}

// Bytes is roughly how much memory the placement takes.
func (p *placement) Bytes() int { return 512 + 4*(cap(p.counted)+cap(p.members)) }

func (p *placement) sync(shared *topology.Shared) {
	shared.SyncDomains(p.domains)
	for _, required := range p.required {
		shared.SyncDomains(required)
	}
	for len(p.counted) < len(p.domains.ByNode()) {
		p.counted = append(p.counted, topology.None)
	}
	if missing := p.domains.Size() - len(p.members); missing > 0 {
		p.members = append(p.members, make([]int32, missing)...)
	}
	first := p.position == 0
	p.position = shared.EachNodeSince(p.position, func(index int, node *v1.Node) {
		before, now := p.counted[index], p.domainOf(index, node)
		if before == now {
			return
		}
		p.counted[index] = now
		p.moves.Add(int32(index), before, now)
		if now != topology.None {
			if p.members[now]++; p.members[now] == 1 {
				p.known++
			}
		}
		if before != topology.None {
			if p.members[before]--; p.members[before] == 0 {
				p.known--
			}
		}
	})
	if first {
		p.moves.Forget()
	}
}

// domainOf returns the domain that a node counts for.
func (p *placement) domainOf(index int, node *v1.Node) int32 {
	if node == nil || p.included != nil && !p.included(node) {
		return topology.None
	}
	for _, required := range p.required {
		if required.ByNode()[index] == topology.None {
			return topology.None
		}
	}
	// Where a node without the key counts, it does so as one whose value is the empty text.
	return max(p.domains.ByNode()[index], topology.Unnamed)
}
