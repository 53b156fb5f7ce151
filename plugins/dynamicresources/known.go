// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package dynamicresources

import (
	resourceapi "k8s.io/api/resource/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// verdict is what the allocator said of one node, for all that are alike. See devices.Kind.
type verdict struct {
	// status is nil if devices can be allocated.
	status *fwk.Status
	// score is that of the alternatives that were chosen.
	score int64
	// results are the devices, if all nodes that are alike can use them; nil if they are those of one node.
	results []resourceapi.AllocationResult
}

// whatIsAsked returns everything but the node and its devices that decides what the allocator says. It returns false if that
// can't be written.
func (pl *plugin) whatIsAsked(s *podState, extended *nodeExtended) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked == "" {
		key, ok := framework.AppendKeyInt(nil, int64(pl.manager.ClassRevision())), true
		for _, claim := range s.toAllocate {
			if key, ok = appendMessage(key, &claim.Spec.Devices); !ok {
				return "", false
			}
		}
		s.asked = string(key)
	}
	if extended == nil {
		return s.asked, true
	}
	return s.asked + string(extended.asked), extended.ok
}
