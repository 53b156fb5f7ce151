// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package verdicts

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// Nominated is what all Filter plugins together said about nodes with the pods on them that are nominated for them, for all
// pods with the same keys.
type Nominated struct {
	position int // in the change log
	byNode   map[int]nominatedVerdict
}

type nominatedVerdict struct {
	verdict Verdict
	pods    []*v1.Pod // those that were nominated
}

// NewNominated returns verdicts that are all unknown. They must be brought up to date before they are used.
func NewNominated() *Nominated { return &Nominated{position: -1} }

// Sync forgets the verdicts on nodes that changed.
func (c *Nominated) Sync(log *ChangeLog) {
	changed, ok := log.Since(c.position)
	if !ok {
		c.byNode = map[int]nominatedVerdict{}
	}
	for _, nodeIndex := range changed {
		delete(c.byNode, nodeIndex)
	}
	c.position = log.End()
}

// Get returns the verdict on a node for which the same pods were nominated. It finds none in a nil receiver.
func (c *Nominated) Get(nodeIndex int, pods []fwk.PodInfo) (Verdict, bool) {
	if c == nil {
		return Unknown, false
	}
	said, ok := c.byNode[nodeIndex]
	return said.verdict, ok && slices.EqualFunc(said.pods, pods, func(pod *v1.Pod, info fwk.PodInfo) bool {
		return pod == info.GetPod()
	})
}

// Put keeps the verdict on a node. A nil receiver keeps nothing.
func (c *Nominated) Put(nodeIndex int, nominated []fwk.PodInfo, v Verdict) {
	if c == nil {
		return
	}
	pods := make([]*v1.Pod, len(nominated))
	for i, info := range nominated {
		pods[i] = info.GetPod()
	}
	c.byNode[nodeIndex] = nominatedVerdict{v, pods}
}

// Bytes is about the size of the verdicts.
func (c *Nominated) Bytes() int {
	const each = 96 // an element of the map, and a pod
	return each * len(c.byNode)
}
