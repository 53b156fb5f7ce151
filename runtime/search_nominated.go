// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"slices"

	fwk "k8s.io/kube-scheduler/framework"
)

// nominatedBeside returns the slots of the nodes that other pods are nominated for which must keep their place. Their
// verdicts hang on more than the node, and so are in no column.
func (s *search) nominatedBeside() []int {
	nominator, ok := s.f.options.Nominator.(NominatedNodes)
	if !ok {
		return nil
	}
	var slots []int
	for _, name := range nominator.NominatedNodes() {
		if slot, ok := s.nodes.Slot(name); ok && len(s.f.nominatedBefore(s.pod, s.nodes.NodeAt(slot))) > 0 {
			slots = append(slots, slot)
		}
	}
	return slots
}

// setAside takes nodes out of those that are left.
func (s *search) setAside(slots []int) {
	if len(slots) == 0 {
		return
	}
	for _, slot := range slots {
		s.verdicts[slot] = unknown
	}
	s.slots = slices.DeleteFunc(s.slots, func(slot int) bool { return s.verdicts[slot] == unknown })
}

// reconsider asks all plugins about nodes that were set aside, with the nominated pods on them.
func (s *search) reconsider(slots []int) *fwk.Status {
	for _, slot := range slots {
		status := s.f.RunFilterPluginsWithNominatedPods(s.ctx, s.state, s.pod, s.nodes.NodeAt(slot))
		switch {
		case status.IsSuccess():
			s.verdicts[slot] = accepted
			s.slots = append(s.slots, slot)
		case status.IsRejected():
			s.verdicts[slot] = s.columns.statuses.number(status, status.Plugin())
		default:
			return status
		}
	}
	if len(slots) > 0 {
		slices.Sort(s.slots)
	}
	return nil
}
