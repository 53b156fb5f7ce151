// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/rouse-scheduler/rouse/queue"
)

func TestNodeEventsWakePods(t *testing.T) {
	trimmed := makeNode("n1", "1")
	tests := []struct {
		name   string
		happen func(f *fixture)
		want   queue.Pool
	}{
		{"a node with room is added", func(f *fixture) { f.nodeAdded(makeNode("n2", "4")) }, queue.PoolBackoff},
		{"a node without room is added", func(f *fixture) { f.nodeAdded(makeNode("n2", "1")) }, queue.PoolUnschedulable},
		{"the node grows", func(f *fixture) { f.nodeUpdated(trimmed, makeNode("n1", "4")) }, queue.PoolBackoff},
		{"a heartbeat", func(f *fixture) {
			f.nodeUpdated(trimmed, makeNode("n1", "1", func(n *v1.Node) {
				n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Message: "still"}}
			}))
		}, queue.PoolUnschedulable},
		{"the node is deleted", func(f *fixture) { f.nodeDeleted(trimmed) }, queue.PoolUnschedulable},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t)
			f.nodeAdded(trimmed)
			f.park(makePod("a", "2"))
			test.happen(f)
			f.wantPool("a", test.want)
		})
	}
}

func TestUncordonedNodeWakesPods(t *testing.T) {
	f := newFixture(t)
	cordoned := makeNode("n1", "4", func(n *v1.Node) { n.Spec.Unschedulable = true })
	f.nodeAdded(cordoned)
	f.park(makePod("a", "1"))
	f.nodeUpdated(cordoned, makeNode("n1", "4"))
	f.wantPool("a", queue.PoolBackoff)
}

func TestDeletedNodesAreGone(t *testing.T) {
	f := newFixture(t)
	f.nodeAdded(makeNode("n1", "1"))
	f.nodeAdded(makeNode("n2", "1"))
	f.nodeDeleted(makeNode("n1", "1"))
	f.nodeDeleted(clientcache.DeletedFinalStateUnknown{Key: "n2", Obj: makeNode("n2", "1")})
	f.nodeDeleted("not a node")
	f.nodeDeleted(makeNode("never-seen", "1"))
	if counts := f.Cache().Counts(); counts.Nodes != 0 {
		t.Errorf("%d nodes are left, want none", counts.Nodes)
	}
}
