// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package topology

import v1 "k8s.io/api/core/v1"

// None is the domain of a node that lacks the topology key, and of an index without a node.
const None int32 = -1

// Unnamed is the domain of the nodes whose value for the topology key is the empty text.
const Unnamed int32 = 0

// Domains are the domains of one topology key, as small integers, and the domain of every node of a snapshot. When a
// domain has no nodes any more, its number may be given to another one; that changes no number of a domain with nodes.
type Domains struct {
	key      string
	position int // in the log of node objects
	moves    MoveLog
	// numbers has the number of each domain, and values the reverse; free are the numbers of domains without nodes.
	numbers map[string]int32
	values  []string
	free    []int32
	// nodes is how many nodes a domain has, and known how many domains have any.
	nodes   []int32
	known   int
	byNode  []int32
	lacking int
	present []bool // by node index: whether there is a node
	members members
}

func newDomains(key string) *Domains {
	return &Domains{key: key, numbers: map[string]int32{"": Unnamed}, values: []string{""}, nodes: []int32{0}}
}

// Key is the topology key.
func (d *Domains) Key() string { return d.key }

// ByNode returns the domain of each node, by node index. It must not be changed, and is good until the snapshot changes.
func (d *Domains) ByNode() []int32 { return d.byNode }

// Size is larger than every number of a domain.
func (d *Domains) Size() int { return len(d.values) }

// Known is how many domains have nodes.
func (d *Domains) Known() int { return d.known }

// Lacking is how many nodes lack the topology key.
func (d *Domains) Lacking() int { return d.lacking }

// HasNodes reports whether a domain has nodes.
func (d *Domains) HasNodes(domain int32) bool { return d.nodes[domain] > 0 }

// Number returns the number of a domain that has nodes, None if there is no such domain.
func (d *Domains) Number(value string) int32 {
	if number, ok := d.numbers[value]; ok {
		return number
	}
	return None
}

// sync brings the domains up to date.
func (d *Domains) sync(objects *nodeObjects) {
	for len(d.byNode) < len(objects.byIndex) {
		d.byNode, d.present = append(d.byNode, None), append(d.present, false)
		d.members.grow()
	}
	first := d.position == 0
	d.position = objects.eachSince(d.position, func(index int, node *v1.Node) {
		if node == nil {
			d.set(index, None, false)
			return
		}
		value, ok := node.Labels[d.key]
		switch {
		case !ok:
			d.set(index, None, true)
		case d.byNode[index] == None || d.values[d.byNode[index]] != value:
			d.set(index, d.numberFor(value), true)
		}
	})
	if first {
		d.moves.Forget()
	}
}

// set moves the node at an index into a domain.
func (d *Domains) set(index int, domain int32, present bool) {
	before := d.byNode[index]
	if d.present[index] {
		d.members.remove(int32(index), before)
	}
	if present {
		d.members.add(int32(index), domain)
	}
	if d.present[index] && before == None {
		d.lacking--
	}
	if domain != None {
		if d.nodes[domain]++; d.nodes[domain] == 1 {
			d.known++
		}
	}
	if before != None {
		if d.nodes[before]--; d.nodes[before] == 0 {
			d.known--
			d.release(before)
		}
	}
	if present && domain == None {
		d.lacking++
	}
	d.byNode[index], d.present[index] = domain, present
	if domain != before {
		d.moves.Add(int32(index), before, domain)
	}
}

// Moves is the log of the nodes that changed domain.
func (d *Domains) Moves() *MoveLog { return &d.moves }

func (d *Domains) numberFor(value string) int32 {
	if number, ok := d.numbers[value]; ok {
		return number
	}
	if last := len(d.free) - 1; last >= 0 {
		number := d.free[last]
		d.free = d.free[:last]
		d.numbers[value], d.values[number] = number, value
		return number
	}
	number := int32(len(d.values))
	d.numbers[value] = number
	d.values, d.nodes = append(d.values, value), append(d.nodes, 0)
	return number
}

func (d *Domains) release(domain int32) {
	if domain == Unnamed {
		return
	}
	delete(d.numbers, d.values[domain])
	d.values[domain] = ""
	d.free = append(d.free, domain)
}
