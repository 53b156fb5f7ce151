// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumebinding

import (
	"sync"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

const stateKey fwk.StateKey = Name

// podState is what the plugin knows of the pod being scheduled. It is shared by all clones of the cycle state, so that
// all of them know the plan that Reserve made.
type podState struct {
	// bound and delayed never change.
	bound   []boundClaim
	delayed []*delayedClaim

	mu sync.Mutex
	// plans has the nodes for which Reserve was called.
	plans map[string]*plan
	// allBound says, after Reserve, that there is nothing to do for PreBind.
	allBound bool
}

// Clone implements fwk.StateData.
func (s *podState) Clone() fwk.StateData { return s }

// planFor returns the plan for a node; nil if it has none.
func (s *podState) planFor(node string) *plan {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.plans[node]
}

func (s *podState) setPlan(node string, p *plan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.plans == nil {
		s.plans = map[string]*plan{}
	}
	s.plans[node] = p
}

func (s *podState) isAllBound() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.allBound
}

func (s *podState) setAllBound(allBound bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.allBound = allBound
}

// plan is how the claims of the pod are to be bound on one node. After Reserve its objects are as they are to be
// written, and after PreBind as they were.
type plan struct {
	bindings   []binding
	provisions []provision
}

// binding is a claim and the existing volume chosen for it.
type binding struct {
	claim  *v1.PersistentVolumeClaim
	volume *v1.PersistentVolume
}

// provision is a claim for which a volume is to be made.
type provision struct {
	claim *v1.PersistentVolumeClaim
	// capacity is the storage that it comes from; nil if the driver does not tell, and after Reserve.
	capacity *storagev1.CSIStorageCapacity
}
