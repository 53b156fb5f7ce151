// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"fmt"
	"sync"
	"sync/atomic"

	fwk "k8s.io/kube-scheduler/framework"
)

var _ fwk.NodeToStatusReader = &NodeToStatus{}

// NodeToStatus says for each node why it does not take a pod: explicitly for the nodes that were looked at, and by one
// common status for all others, where nil is success. It is safe for concurrent reads, but not for changes.
type NodeToStatus struct {
	explicit map[string]*fwk.Status
	absent   *fwk.Status
	// list has the explicit statuses of one search over all nodes, as long as none was set; nil otherwise.
	list *statusList
}

// statusList is a status for each of a list of nodes, most of which share few.
type statusList struct {
	nodes []fwk.NodeInfo
	// names are those of the nodes; nil asks the nodes, which is only right as long as the list is not changed.
	names    []string
	statuses []*fwk.Status
	// which has an index in statuses plus one for each node, zero for nodes without a status of their own.
	which []int32
	// lookups is how many nodes were looked for one by one.
	lookups atomic.Int32
	// byName is made once, when it is needed.
	byName   map[string]*fwk.Status
	makeOnce sync.Once
}

// NewNodeToStatus returns statuses by node name, and the status of every other node. The map may be nil; it is kept, not
// copied.
func NewNodeToStatus(explicit map[string]*fwk.Status, absent *fwk.Status) *NodeToStatus {
	return &NodeToStatus{explicit: explicit, absent: absent}
}

// NewDefaultNodeToStatus returns no explicit statuses; every node counts as unresolvable until it is set.
func NewDefaultNodeToStatus() *NodeToStatus {
	return NewNodeToStatus(nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable))
}

// NewNodeStatusList is NewDefaultNodeToStatus with statuses of its own for a list of nodes: statuses[which[i]-1] for the
// node at index i, none where which is zero. It keeps the slices. The names are those of the nodes, index by index; with
// them, the elements of nodes are not read and may change afterwards. They may be nil where the result is not kept.
func NewNodeStatusList(nodes []fwk.NodeInfo, names []string, which []int32, statuses []*fwk.Status) *NodeToStatus {
	m := NewDefaultNodeToStatus()
	if which != nil {
		m.list = &statusList{nodes: nodes, names: names, which: which, statuses: statuses}
	}
	return m
}

// fewLookups is how many nodes are looked for in a list before it pays to make a map of it.
const fewLookups = 8

// byName returns a map of all statuses, which may only be changed if there is no list.
func (m *NodeToStatus) byName() map[string]*fwk.Status {
	list := m.list
	if list == nil {
		return m.explicit
	}
	list.makeOnce.Do(func() {
		list.byName = make(map[string]*fwk.Status, len(list.which))
		for i, which := range list.which {
			if which > 0 {
				list.byName[list.nameAt(i)] = list.statuses[which-1]
			}
		}
	})
	return list.byName
}

// Get implements fwk.NodeToStatusReader. The status belongs to the caller, who may change it: nodes with the same status
// share one, also with other pods.
func (m *NodeToStatus) Get(nodeName string) *fwk.Status {
	status := m.find(nodeName)
	if status == nil {
		return nil
	}
	return status.Clone()
}

// find returns the status of a node, which must not be changed.
func (m *NodeToStatus) find(nodeName string) *fwk.Status {
	if nodeName == "" {
		return m.absent
	}
	if m.list != nil && m.list.lookups.Load() < fewLookups {
		m.list.lookups.Add(1)
		for i := range m.list.nodes {
			if m.list.nameAt(i) == nodeName {
				return m.list.at(i, m.absent)
			}
		}
		return m.absent
	}
	if status, ok := m.byName()[nodeName]; ok {
		return status
	}
	return m.absent
}

// Set gives a node a status of its own.
func (m *NodeToStatus) Set(nodeName string, status *fwk.Status) {
	m.explicit, m.list = m.byName(), nil // the list is no longer all there is
	if m.explicit == nil {
		m.explicit = map[string]*fwk.Status{}
	}
	m.explicit[nodeName] = status
}

// Len returns the number of nodes with a status of their own.
func (m *NodeToStatus) Len() int {
	if m.list == nil {
		return len(m.explicit)
	}
	count := 0
	for _, which := range m.list.which {
		if which > 0 {
			count++
		}
	}
	return count
}

// AbsentNodesStatus returns the status of all nodes that have none of their own. It must not be changed.
func (m *NodeToStatus) AbsentNodesStatus() *fwk.Status { return m.absent }

// SetAbsentNodesStatus replaces the status of all nodes that have none of their own.
func (m *NodeToStatus) SetAbsentNodesStatus(status *fwk.Status) { m.absent = status }

// ForEachExplicitNode calls visit for every node that has a status of its own, in no particular order. Visitors must not
// change statuses.
func (m *NodeToStatus) ForEachExplicitNode(visit func(nodeName string, status *fwk.Status)) {
	for name, status := range m.byName() {
		visit(name, status)
	}
}

// ForEachStatus calls visit for every status that nodes have as their own, with the number of these nodes. A status may
// come several times; it must not be changed. The cost is small where many nodes share few statuses.
func (m *NodeToStatus) ForEachStatus(visit func(status *fwk.Status, nodes int)) {
	if m.list == nil {
		for _, status := range m.explicit {
			visit(status, 1)
		}
		return
	}
	counts := make([]int, len(m.list.statuses)+1)
	for _, which := range m.list.which {
		counts[which]++
	}
	for i, status := range m.list.statuses {
		if count := counts[i+1]; count > 0 {
			visit(status, count)
		}
	}
}

// NodesForStatusCode implements fwk.NodeToStatusReader: the nodes of the lister whose status has the given code, in its
// order. Of a [IndexedSnapshot] that is the order before a plugin changed it.
func (m *NodeToStatus) NodesForStatusCode(lister fwk.NodeInfoLister, code fwk.Code) ([]fwk.NodeInfo, error) {
	all, err := lister.List()
	if err != nil {
		return nil, fmt.Errorf("listing the nodes with status %v: %w", code, err)
	}
	at := func(i int) fwk.NodeInfo { return all[i] }
	if indexed, ok := lister.(IndexedSnapshot); ok {
		order := indexed.ListOrder()
		at = func(i int) fwk.NodeInfo { return indexed.NodeAt(order[i]) }
	}
	var nodes []fwk.NodeInfo
	if indexes, ok := m.IndexesForStatusCode(all, code); ok {
		nodes = make([]fwk.NodeInfo, len(indexes))
		for i, index := range indexes {
			nodes[i] = at(index)
		}
		return nodes, nil
	}
	for i := range all {
		if node := at(i); m.find(node.Node().Name).Code() == code {
			nodes = append(nodes, node)
		}
	}
	return nodes, nil
}

// IndexesForStatusCode returns the places in a list of nodes of those whose status has the given code, as the list was when
// the statuses were made, without looking at the nodes. It returns false if that can't be told, because the statuses are not
// those of a search through this list.
func (m *NodeToStatus) IndexesForStatusCode(nodes []fwk.NodeInfo, code fwk.Code) ([]int, bool) {
	if m.list == nil || len(nodes) == 0 || len(nodes) != len(m.list.nodes) || &nodes[0] != &m.list.nodes[0] {
		return nil, false
	}
	// By what stands in which: the common status, then those of the list.
	matches := make([]bool, len(m.list.statuses)+1)
	matches[0] = m.absent.Code() == code
	for i, status := range m.list.statuses {
		matches[i+1] = status.Code() == code
	}
	count := 0
	for _, which := range m.list.which {
		if matches[which] {
			count++
		}
	}
	indexes := make([]int, 0, count)
	for i, which := range m.list.which {
		if matches[which] {
			indexes = append(indexes, i)
		}
	}
	return indexes, true
}

// at is the status of the node at an index.
func (l *statusList) at(i int, absent *fwk.Status) *fwk.Status {
	if which := l.which[i]; which > 0 {
		return l.statuses[which-1]
	}
	return absent
}

func (l *statusList) nameAt(i int) string {
	if l.names == nil {
		return l.nodes[i].Node().Name
	}
	return l.names[i]
}
