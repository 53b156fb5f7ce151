// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/queue"
)

func TestNodeEventsWakePods(t *testing.T) {
	trimmed := objects.Node("n1").Capacity("cpu", "1", "memory", "8Gi").Build()
	tests := []struct {
		name   string
		happen func(f *fixture)
		want   queue.Pool
	}{
		{"a node with room is added", func(f *fixture) { f.nodeAdded(objects.Node("n2").Capacity("cpu", "4", "memory", "8Gi").Build()) }, queue.PoolBackoff},
		{"a node without room is added", func(f *fixture) { f.nodeAdded(objects.Node("n2").Capacity("cpu", "1", "memory", "8Gi").Build()) }, queue.PoolUnschedulable},
		{"the node grows", func(f *fixture) {
			f.nodeUpdated(trimmed, objects.Node("n1").Capacity("cpu", "4", "memory", "8Gi").Build())
		}, queue.PoolBackoff},
		{"a heartbeat", func(f *fixture) {
			f.nodeUpdated(trimmed, objects.Node("n1").Capacity("cpu", "1", "memory", "8Gi").With(func(n *v1.Node) {
				n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Message: "still"}}
			}).Build())
		}, queue.PoolUnschedulable},
		{"the node is deleted", func(f *fixture) { f.nodeDeleted(trimmed) }, queue.PoolUnschedulable},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t)
			f.nodeAdded(trimmed)
			f.park(objects.Pod("a").Requests("cpu", "2").Build())
			test.happen(f)
			f.wantPool("a", test.want)
		})
	}
}

func TestUncordonedNodeWakesPods(t *testing.T) {
	f := newFixture(t)
	cordoned := objects.Node("n1").Capacity("cpu", "4", "memory", "8Gi").With(func(n *v1.Node) { n.Spec.Unschedulable = true }).Build()
	f.nodeAdded(cordoned)
	f.park(objects.Pod("a").Requests("cpu", "1").Build())
	f.nodeUpdated(cordoned, objects.Node("n1").Capacity("cpu", "4", "memory", "8Gi").Build())
	f.wantPool("a", queue.PoolBackoff)
}

func TestDeletedNodesAreGone(t *testing.T) {
	f := newFixture(t)
	f.nodeAdded(objects.Node("n1").Capacity("cpu", "1", "memory", "8Gi").Build())
	f.nodeAdded(objects.Node("n2").Capacity("cpu", "1", "memory", "8Gi").Build())
	f.nodeDeleted(objects.Node("n1").Capacity("cpu", "1", "memory", "8Gi").Build())
	f.nodeDeleted(clientcache.DeletedFinalStateUnknown{Key: "n2", Obj: objects.Node("n2").Capacity("cpu", "1", "memory", "8Gi").Build()})
	f.nodeDeleted("not a node")
	f.nodeDeleted(objects.Node("never-seen").Capacity("cpu", "1", "memory", "8Gi").Build())
	if counts := f.Cache().Counts(); counts.Nodes != 0 {
		t.Errorf("%d nodes are left, want none", counts.Nodes)
	}
}
