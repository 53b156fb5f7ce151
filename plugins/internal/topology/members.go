// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package topology

// members are the nodes of each domain, as lists that run through one array: each node has the one before and the one after it.
type members struct {
	first  []int32 // by domain plus one, so that the nodes without one come first; none at the end of a list
	before []int32 // by node index
	after  []int32 // by node index
}

// endOfList is the place of a node where there is none.
const endOfList int32 = -1

// grow makes room for one node more.
func (m *members) grow() {
	m.before, m.after = append(m.before, endOfList), append(m.after, endOfList)
}

// add puts a node, which is in no list, into the list of a domain.
func (m *members) add(node, domain int32) {
	for int(domain)+1 >= len(m.first) {
		m.first = append(m.first, endOfList)
	}
	first := m.first[domain+1]
	m.before[node], m.after[node] = endOfList, first
	if first != endOfList {
		m.before[first] = node
	}
	m.first[domain+1] = node
}

// remove takes a node out of the list of its domain.
func (m *members) remove(node, domain int32) {
	before, after := m.before[node], m.after[node]
	if before == endOfList {
		m.first[domain+1] = after
	} else {
		m.after[before] = after
	}
	if after != endOfList {
		m.before[after] = before
	}
}

// appendTo appends the nodes of a domain.
func (m *members) appendTo(nodes []int, domain int32) []int {
	if int(domain)+1 >= len(m.first) {
		return nodes
	}
	for node := m.first[domain+1]; node != endOfList; node = m.after[node] {
		nodes = append(nodes, int(node))
	}
	return nodes
}
