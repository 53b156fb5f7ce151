// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"fmt"
	"maps"
	"slices"

	fwk "k8s.io/kube-scheduler/framework"
)

var _ fwk.NodeToStatusReader = &NodeToStatus{}

// NodeToStatus says for each node why it does not take a pod: explicitly for the nodes that were looked at, and by one
// common status for all others, where nil is success. It is not safe for concurrent changes.
type NodeToStatus struct {
	explicit map[string]*fwk.Status
	absent   *fwk.Status
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

// Get implements fwk.NodeToStatusReader.
func (m *NodeToStatus) Get(nodeName string) *fwk.Status {
	if status, ok := m.explicit[nodeName]; ok {
		return status
	}
	return m.absent
}

// Set gives a node a status of its own.
func (m *NodeToStatus) Set(nodeName string, status *fwk.Status) {
	if m.explicit == nil {
		m.explicit = map[string]*fwk.Status{}
	}
	m.explicit[nodeName] = status
}

// Len is the number of nodes with a status of their own.
func (m *NodeToStatus) Len() int { return len(m.explicit) }

// AbsentNodesStatus is the status of the nodes without one of their own.
func (m *NodeToStatus) AbsentNodesStatus() *fwk.Status { return m.absent }

// SetAbsentNodesStatus sets the status of the nodes without one of their own.
func (m *NodeToStatus) SetAbsentNodesStatus(status *fwk.Status) { m.absent = status }

// ForEachExplicitNode calls visit for every node with a status of its own, in no particular order.
func (m *NodeToStatus) ForEachExplicitNode(visit func(nodeName string, status *fwk.Status)) {
	for name, status := range m.explicit {
		visit(name, status)
	}
}

// NodesForStatusCode implements fwk.NodeToStatusReader. Nodes that are gone from the lister are left out. The order is
// that of the lister when nodes without a status of their own are among them, and by name otherwise.
func (m *NodeToStatus) NodesForStatusCode(lister fwk.NodeInfoLister, code fwk.Code) ([]fwk.NodeInfo, error) {
	if m.absent.Code() != code {
		var nodes []fwk.NodeInfo
		for _, name := range slices.Sorted(maps.Keys(m.explicit)) {
			if m.explicit[name].Code() != code {
				continue
			}
			if node, err := lister.Get(name); err == nil {
				nodes = append(nodes, node)
			}
		}
		return nodes, nil
	}
	all, err := lister.List()
	if err != nil {
		return nil, fmt.Errorf("listing the nodes with status %v: %w", code, err)
	}
	nodes := make([]fwk.NodeInfo, 0, len(all))
	for _, node := range all {
		if m.Get(node.Node().Name).Code() == code {
			nodes = append(nodes, node)
		}
	}
	return nodes, nil
}
