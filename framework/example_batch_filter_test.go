// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework_test

import (
	"context"
	"fmt"
	"iter"
	"strconv"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// podQuota is a Filter plugin that limits the pods of a node by one of its labels. It keeps what it made of each node in a
// table, so that the label is parsed only when the node changes. Make one with newPodQuota.
type podQuota struct {
	full *framework.NodeTable[bool]
}

var _ framework.BatchFilterPlugin = podQuota{}

func newPodQuota() podQuota { return podQuota{full: framework.NewNodeTable(isFull)} }

func isFull(node fwk.NodeInfo) bool {
	quota, err := strconv.Atoi(node.Node().Labels["example.com/pod-quota"])
	return err == nil && len(node.GetPods()) >= quota
}

func (podQuota) Name() string { return "PodQuota" }

func (podQuota) Filter(_ context.Context, _ fwk.CycleState, _ *v1.Pod, node fwk.NodeInfo) *fwk.Status {
	if isFull(node) {
		return fwk.NewStatus(fwk.Unschedulable, "node(s) had no pod quota left")
	}
	return nil
}

// FilterBatch implements framework.BatchFilterPlugin. A status that stays nil accepts the node.
func (p podQuota) FilterBatch(
	_ context.Context, _ fwk.CycleState, _ *v1.Pod, nodes framework.IndexedSnapshot, indexes []int, statuses []*fwk.Status,
) *fwk.Status {
	full := p.full.Rows(nodes)
	rejected := fwk.NewStatus(fwk.Unschedulable, "node(s) had no pod quota left") // shared by all nodes
	for i, index := range indexes {
		if full[index] {
			statuses[i] = rejected
		}
	}
	return nil
}

// fewNodes is as much of a snapshot as the example needs; a running scheduler passes its own.
type fewNodes struct {
	framework.IndexedSnapshot
	infos []fwk.NodeInfo
}

func (n *fewNodes) Generation() int64             { return 1 }
func (n *fewNodes) IndexCount() int               { return len(n.infos) }
func (n *fewNodes) NodeAt(index int) fwk.NodeInfo { return n.infos[index] }
func (n *fewNodes) ChangedSince(int64) iter.Seq[int] {
	return func(yield func(int) bool) {
		for index := range n.infos {
			if !yield(index) {
				return
			}
		}
	}
}

// The framework asks this plugin about many nodes in one call. Filter is still needed, for kube-scheduler and for preemption.
func ExampleBatchFilterPlugin() {
	node := func(name, quota string) fwk.NodeInfo {
		info := framework.NewNodeInfo(&v1.Pod{})
		info.SetNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"example.com/pod-quota": quota}}})
		return info
	}
	nodes := &fewNodes{infos: []fwk.NodeInfo{node("n0", "1"), node("n1", "2"), node("n2", "none")}}
	indexes, statuses := []int{2, 0, 1}, make([]*fwk.Status, 3)
	if status := newPodQuota().FilterBatch(context.Background(), framework.NewCycleState(), &v1.Pod{}, nodes, indexes, statuses); !status.IsSuccess() {
		fmt.Println(status)
	}
	for i, index := range indexes {
		fmt.Println(nodes.NodeAt(index).Node().Name, "accepted:", statuses[i].IsSuccess())
	}
	// Output:
	// n2 accepted: true
	// n0 accepted: false
	// n1 accepted: true
}
