// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package devices

import (
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/structured"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"
)

var _ fwk.ResourceClaimTracker = &Claims{}

// Claims are the claims of a [Manager]. Objects that it returns must not be changed.
type Claims Manager

// pendingAllocation is an allocation that is decided and not written yet.
type pendingAllocation struct {
	claim   *resourceapi.ResourceClaim
	sharers int
	// counted tells that the devices count because of this entry, and not because the claim has them already.
	counted bool
}

// noClaimError is the key of a claim that there is not. To apierrors.IsNotFound it is what an API server would return, and
// for users it reads as with kube-scheduler.
type noClaimError string

// Error implements error.
func (e noClaimError) Error() string {
	return fmt.Sprintf("could not find ResourceClaim %q", string(e))
}

// Unwrap returns the error of the API.
func (e noClaimError) Unwrap() error {
	return apierrors.NewNotFound(resourceapi.Resource("resourceclaims"), string(e))
}

func claimKey(claim *resourceapi.ResourceClaim) string { return claim.Namespace + "/" + claim.Name }

// List implements fwk.ResourceClaimTracker. The claims are sorted by namespace and name.
func (c *Claims) List() ([]*resourceapi.ResourceClaim, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	listed := make([]*resourceapi.ResourceClaim, 0, len(c.claims))
	for _, key := range slices.Sorted(maps.Keys(c.claims)) {
		listed = append(listed, c.claims[key])
	}
	return listed, nil
}

// Get implements fwk.ResourceClaimTracker.
func (c *Claims) Get(namespace, name string) (*resourceapi.ResourceClaim, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	claim := c.claims[namespace+"/"+name]
	if claim == nil {
		return nil, noClaimError(namespace + "/" + name)
	}
	return claim, nil
}

// ListAllAllocatedDevices implements fwk.ResourceClaimTracker. The result belongs to the caller.
func (c *Claims) ListAllAllocatedDevices() (sets.Set[structured.DeviceID], error) {
	state, err := c.GatherAllocatedState()
	if err != nil {
		return nil, err
	}
	return state.AllocatedDevices, nil
}

// GatherAllocatedState implements fwk.ResourceClaimTracker. It never fails, and the result belongs to the caller. Its cost
// grows with the number of allocated devices; [Manager.View] has what one node needs to know.
func (c *Claims) GatherAllocatedState() (*structured.AllocatedState, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	state := newState()
	for _, p := range c.pools {
		p.addTo(state)
	}
	return state, nil
}

// SignalClaimPendingAllocation implements fwk.ResourceClaimTracker. It fails if a device of the allocation went to another
// claim meanwhile.
func (c *Claims) SignalClaimPendingAllocation(uid types.UID, claim *resourceapi.ResourceClaim) error {
	affected := sets.New[string]()
	err := c.signal(uid, claim, affected)
	(*Manager)(c).touch(affected)
	return err
}

func (c *Claims) signal(uid types.UID, claim *resourceapi.ResourceClaim, affected sets.Set[string]) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.pending[uid]; known != nil {
		known.sharers++
		return nil
	}
	if !IsInMemory(claim) {
		latest := c.claims[claimKey(claim)]
		if latest == nil {
			return fmt.Errorf("setting devices aside: %w", noClaimError(claimKey(claim)))
		}
		if latest.UID == uid && latest.Status.Allocation != nil {
			return nil
		}
	}
	if taken := c.heldBy(claim.Status.Allocation, 1); taken != "" {
		return fmt.Errorf("setting devices aside for claim %s: device %s was allocated to another claim meanwhile", claimKey(claim), taken)
	}
	c.pending[uid] = &pendingAllocation{claim: claim, sharers: 1, counted: true}
	(*Manager)(c).countAllocation(claim.Status.Allocation, +1, affected)
	return nil
}

// heldBy returns a device of an allocation that so many claims have to themselves, or more; empty if there is none.
func (c *Claims) heldBy(allocation *resourceapi.AllocationResult, holders int) string {
	for i := range allocation.Devices.Results {
		result := &allocation.Devices.Results[i]
		p := c.pools[poolID{result.Driver, result.Pool}]
		if p == nil || ptr.Deref(result.AdminAccess, false) || result.ShareID != nil {
			continue
		}
		if id := structured.MakeDeviceID(result.Driver, result.Pool, result.Device); p.devices[id] >= holders {
			return id.String()
		}
	}
	return ""
}

// CheckPending fails if a device of a pending allocation went to another claim since it became pending: another scheduler
// may have written that, and the informer was late. It must be called before the allocation is written.
func (c *Claims) CheckPending(uid types.UID) error {
	c.mu.RLock()
	defer c.mu.RUnlock()
	known := c.pending[uid]
	if known == nil || !known.counted {
		return nil
	}
	if taken := c.heldBy(known.claim.Status.Allocation, 2); taken != "" {
		return fmt.Errorf("device %s got allocated to another claim in the meantime", taken)
	}
	return nil
}

// GetPendingAllocation implements fwk.ResourceClaimTracker; nil if there is none.
func (c *Claims) GetPendingAllocation(uid types.UID) *resourceapi.AllocationResult {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if known := c.pending[uid]; known != nil {
		return known.claim.Status.Allocation
	}
	return nil
}

// MaybeRemoveClaimPendingAllocation implements fwk.ResourceClaimTracker.
func (c *Claims) MaybeRemoveClaimPendingAllocation(uid types.UID, forceRemove bool) (deleted bool) {
	affected := sets.New[string]()
	defer (*Manager)(c).touch(affected)
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.pending[uid]
	if known == nil {
		return false
	}
	if !forceRemove && known.sharers > 1 {
		known.sharers--
		return false
	}
	delete(c.pending, uid)
	if known.counted {
		(*Manager)(c).countAllocation(known.claim.Status.Allocation, -1, affected)
	}
	return true
}

// AssumeClaimAfterAPICall implements fwk.ResourceClaimTracker. The claim is what the API server returned. It fails if the
// informer does not have the claim yet, or has another one of the name. If a later version is known already, that stays.
func (c *Claims) AssumeClaimAfterAPICall(claim *resourceapi.ResourceClaim) error {
	return (*Manager)(c).assume(claim)
}

// AssumedClaimRestore implements fwk.ResourceClaimTracker. It does nothing: what was assumed was written, and to forget it
// until the informer has it would give the devices away twice.
func (c *Claims) AssumedClaimRestore(string, string) {}

func (m *Manager) assume(claim *resourceapi.ResourceClaim) error {
	key := claimKey(claim)
	affected := sets.New[string]()
	m.mu.Lock()
	latest := m.claims[key]
	var err error
	switch {
	case latest == nil:
		err = noClaimError(key)
	case latest.UID != claim.UID:
		err = fmt.Errorf("resourceclaim %q is another one by now (UID %s, not %s)", key, latest.UID, claim.UID)
	case claim.ResourceVersion == latest.ResourceVersion && equality.Semantic.DeepEqual(claim.Status, latest.Status):
	case !isOlder(claim, latest):
		m.replace(latest, claim, affected)
	}
	m.mu.Unlock()
	m.touch(affected)
	m.deliver()
	return err
}

// replace puts a claim in place of the version that is known, which is nil for a new one, and notes it for the handlers.
// The caller holds the lock.
func (m *Manager) replace(old, claim *resourceapi.ResourceClaim, affected sets.Set[string]) {
	m.claims[claimKey(claim)] = claim
	m.recount(old, claim, affected)
	m.note(old, claim)
}

// recount counts the devices of a claim that changed; nil is a claim that is not there.
func (m *Manager) recount(old, current *resourceapi.ResourceClaim, affected sets.Set[string]) {
	if old != nil && old.Status.Allocation != nil {
		m.countAllocation(old.Status.Allocation, -1, affected)
		m.countPending(old.UID, true, affected)
	}
	if current != nil && current.Status.Allocation != nil {
		m.countAllocation(current.Status.Allocation, +1, affected)
		m.countPending(current.UID, false, affected)
	}
	m.indexExtended(old, current)
}

// countPending has a pending allocation count, or not because the claim has the devices now.
func (m *Manager) countPending(uid types.UID, counts bool, affected sets.Set[string]) {
	known := m.pending[uid]
	if known == nil || known.counted == counts {
		return
	}
	known.counted = counts
	by := -1
	if counts {
		by = +1
	}
	m.countAllocation(known.claim.Status.Allocation, by, affected)
}

// countAllocation counts what an allocation takes of pools, or takes it back. Devices that an administrator only looks at
// don't count. The caller holds the lock.
func (m *Manager) countAllocation(allocation *resourceapi.AllocationResult, by int, affected sets.Set[string]) {
	for i := range allocation.Devices.Results {
		result := &allocation.Devices.Results[i]
		if ptr.Deref(result.AdminAccess, false) {
			continue
		}
		m.withPool(poolID{result.Driver, result.Pool}, affected, func(p *pool) {
			p.change(result, by, !m.switches.NoConsumableCapacity)
		})
	}
}

func (m *Manager) indexExtended(old, current *resourceapi.ResourceClaim) {
	if owner := extendedOwner(old); owner != "" {
		delete(m.extended[owner], claimKey(old))
		if len(m.extended[owner]) == 0 {
			delete(m.extended, owner)
		}
	}
	if owner := extendedOwner(current); owner != "" {
		if m.extended[owner] == nil {
			m.extended[owner] = map[string]*resourceapi.ResourceClaim{}
		}
		m.extended[owner][claimKey(current)] = current
	}
}

// isOlder reports whether a claim is an older version of another. Versions that can't be compared are not.
func isOlder(claim, than *resourceapi.ResourceClaim) bool {
	order, err := resourceversion.CompareResourceVersion(claim.ResourceVersion, than.ResourceVersion)
	return err == nil && order < 0
}

// InMemoryName is the name of a claim for extended resources that is not written yet. No object can have it.
const InMemoryName = "<extended-resources>"

// IsInMemory reports whether a claim is one for extended resources that is not written yet.
func IsInMemory(claim *resourceapi.ResourceClaim) bool { return claim.Name == InMemoryName }

// extendedOwner returns the UID of the controller of a claim for extended resources; empty for all other claims.
func extendedOwner(claim *resourceapi.ResourceClaim) types.UID {
	if claim == nil || claim.Annotations[resourceapi.ExtendedResourceClaimAnnotation] != "true" {
		return ""
	}
	if owner := metav1.GetControllerOfNoCopy(claim); owner != nil {
		return owner.UID
	}
	return ""
}

// IsExtendedClaimOf reports whether a claim was made for the extended resources of a pod.
func IsExtendedClaimOf(claim *resourceapi.ResourceClaim, pod *v1.Pod) bool {
	if claim.Namespace != pod.Namespace || extendedOwner(claim) != pod.UID {
		return false
	}
	owner := metav1.GetControllerOfNoCopy(claim)
	return owner.Name == pod.Name && owner.Kind == "Pod" && owner.APIVersion == "v1"
}
