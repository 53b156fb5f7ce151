// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// claimedNode is a node that other pods are nominated for which must keep their place. The verdict on it hangs on these
// pods too, and so is not the one of the board.
type claimedNode struct {
	slot int
	pods []fwk.PodInfo
}

// claimedNodes returns the claimed nodes of this pod.
func (s *search) claimedNodes() []claimedNode {
	nominator, ok := s.f.options.Nominator.(NominatedNodes)
	if !ok {
		return nil
	}
	var claimed []claimedNode
	for _, name := range nominator.NominatedNodes() {
		if slot, ok := s.nodes.NodeIndex(name); ok {
			if pods := s.f.nominatedBefore(s.pod, s.nodes.NodeAt(slot)); len(pods) > 0 {
				claimed = append(claimed, claimedNode{slot, pods})
			}
		}
	}
	return claimed
}

// setAside takes nodes out of those that are left.
func (s *search) setAside(claimed []claimedNode) {
	if len(claimed) == 0 {
		return
	}
	for _, node := range claimed {
		s.verdicts[node.slot] = unknown
	}
	s.slots = slices.DeleteFunc(s.slots, func(slot int) bool { return s.verdicts[slot] == unknown })
}

// reconsider asks all plugins about nodes that were set aside, with the nominated pods on them. What it finds is kept if
// all plugins are on the board.
func (s *search) reconsider(claimed []claimedNode, allOnBoard bool) *fwk.Status {
	if len(claimed) == 0 {
		return nil
	}
	var kept *claimedColumn
	if allOnBoard {
		kept = s.claimedColumn()
	}
	for _, node := range claimed {
		v, known := kept.find(node)
		if !known {
			status := s.f.RunFilterPluginsWithNominatedPods(s.ctx, s.state, s.pod, s.nodes.NodeAt(node.slot))
			switch {
			case status.IsSuccess():
				v = accepted
			case status.IsRejected():
				v = s.columns.statuses.number(status, status.Plugin())
			default:
				return status
			}
			kept.keep(node, v)
		}
		if s.verdicts[node.slot] = v; v == accepted {
			s.slots = append(s.slots, node.slot)
		}
	}
	slices.Sort(s.slots)
	return nil
}

// claimedColumn is what all Filter plugins together said about claimed nodes, for all pods with the keys of a board.
type claimedColumn struct {
	position int // in the change log
	verdicts map[int]claimedVerdict
}

type claimedVerdict struct {
	verdict verdict
	pods    []*v1.Pod // those that were nominated
}

// claimedColumn finds or makes the column beside the board of this pod, and brings it up to date.
func (s *search) claimedColumn() *claimedColumn {
	key := s.columnKeyOf('n', s.boardKey)
	entry := s.columns.store.find(key)
	if entry == nil {
		entry = s.columns.store.put(key, &claimedColumn{position: -1})
	}
	column := entry.value.(*claimedColumn)
	column.sync(s.log())
	return column
}

// sync forgets what was known of nodes that changed.
func (c *claimedColumn) sync(log *changeLog) {
	changed, ok := log.since(c.position)
	if !ok {
		c.verdicts = map[int]claimedVerdict{}
	}
	for _, slot := range changed {
		delete(c.verdicts, slot)
	}
	c.position = log.end()
}

// find returns what was said about a node when the same pods were nominated for it. A nil column knows nothing.
func (c *claimedColumn) find(node claimedNode) (verdict, bool) {
	if c == nil {
		return unknown, false
	}
	said, ok := c.verdicts[node.slot]
	return said.verdict, ok && slices.EqualFunc(said.pods, node.pods, func(pod *v1.Pod, info fwk.PodInfo) bool {
		return pod == info.GetPod()
	})
}

func (c *claimedColumn) keep(node claimedNode, v verdict) {
	if c == nil {
		return
	}
	pods := make([]*v1.Pod, len(node.pods))
	for i, info := range node.pods {
		pods[i] = info.GetPod()
	}
	c.verdicts[node.slot] = claimedVerdict{v, pods}
}

func (c *claimedColumn) bytes() int {
	const each = 96 // an element of the map, and a pod
	return each * len(c.verdicts)
}
