// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package preemption

import (
	"math"
	"sync"

	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// priorities knows the lowest priority of the pods on each node, brought up to date from what changed in the snapshot. The
// zero value is ready. It is safe for concurrent use.
type priorities struct {
	mu         sync.Mutex
	nodes      framework.SlotLister
	generation int64
	lowest     []int32
}

// bySlot returns the lowest priority of the pods on the node in each slot; where there are no pods, the highest that there
// is, so that nothing has a higher one. The slice is good until the snapshot changes.
func (p *priorities) bySlot(nodes framework.SlotLister) []int32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.nodes != nodes {
		p.nodes, p.generation = nodes, 0
	}
	if p.generation == nodes.Generation() {
		return p.lowest
	}
	if missing := nodes.SlotCount() - len(p.lowest); missing > 0 {
		p.lowest = append(p.lowest, make([]int32, missing)...)
	}
	for slot := range nodes.ChangedSince(p.generation) {
		if node := nodes.NodeAt(slot); node != nil {
			p.lowest[slot] = lowestPriority(node)
		}
	}
	p.generation = nodes.Generation()
	return p.lowest
}

func lowestPriority(node fwk.NodeInfo) int32 {
	lowest := int32(math.MaxInt32)
	for _, pod := range node.GetPods() {
		lowest = min(lowest, corev1helpers.PodPriority(pod.GetPod()))
	}
	return lowest
}
