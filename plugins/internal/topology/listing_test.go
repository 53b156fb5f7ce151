// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package topology_test

import (
	"slices"
	"testing"

	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/fixture"
	"github.com/rouse-scheduler/rouse/plugins/internal/topology"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func TestSlotsOf(t *testing.T) {
	var nodes fixture.IndexedNodes
	nodes.Fill([]*framework.NodeInfo{fixture.NodeInfo(objects.Node("a").Build()), fixture.NodeInfo(objects.Node("b").Build())})
	list, _ := nodes.List()
	other := []fwk.NodeInfo{list[0], fixture.NodeInfo(objects.Node("c").Build())}
	tests := []struct {
		name     string
		snapshot fwk.SharedLister
		nodes    []fwk.NodeInfo
		lasting  bool
	}{
		{"the list of the snapshot", &nodes, list, true},
		{"a copy, in which nodes may differ", &nodes, slices.Clone(list), false},
		{"other nodes, as many", &nodes, other, false},
		{"fewer nodes", &nodes, list[:1], false},
		{"a snapshot without node indexes", (&fixture.Handle{}).SnapshotSharedLister(), list, false},
		{"no snapshot", nil, list, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			found, lasting := topology.IndexedNodesOf(tt.snapshot, tt.nodes)
			if lasting != tt.lasting {
				t.Errorf("lasting: %v, want %v", lasting, tt.lasting)
			}
			if found.NodeCount() != len(tt.nodes) {
				t.Fatalf("%d nodes, want %d", found.NodeCount(), len(tt.nodes))
			}
			for index, node := range tt.nodes {
				if found.NodeAt(index) != node {
					t.Errorf("node index %d has node %s, want %s", index, found.NodeAt(index).Node().Name, node.Node().Name)
				}
			}
		})
	}
}
