// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/structured"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/ptr"
)

// lyingManager shows the plugin other slices, claims and allocations than there are.
type lyingManager struct {
	fwk.SharedDRAManager
	slice     func(*resourceapi.ResourceSlice)
	claim     func(*resourceapi.ResourceClaim)
	forgetful bool
}

func (m *lyingManager) ResourceSlices() fwk.ResourceSliceLister {
	return lyingSlices{m.SharedDRAManager.ResourceSlices(), m}
}

func (m *lyingManager) ResourceClaims() fwk.ResourceClaimTracker {
	return lyingClaims{m.SharedDRAManager.ResourceClaims(), m}
}

type lyingSlices struct {
	fwk.ResourceSliceLister
	*lyingManager
}

func (l lyingSlices) ListWithDeviceTaintRules() ([]*resourceapi.ResourceSlice, error) {
	slices, err := l.ResourceSliceLister.ListWithDeviceTaintRules()
	var changed []*resourceapi.ResourceSlice
	for _, slice := range slices {
		slice = slice.DeepCopy()
		if l.slice != nil {
			l.slice(slice)
		}
		changed = append(changed, slice)
	}
	return changed, err
}

type lyingClaims struct {
	fwk.ResourceClaimTracker
	*lyingManager
}

func (l lyingClaims) Get(namespace, name string) (*resourceapi.ResourceClaim, error) {
	claim, err := l.ResourceClaimTracker.Get(namespace, name)
	if err == nil && l.claim != nil {
		claim = claim.DeepCopy()
		l.claim(claim)
	}
	return claim, err
}

func (l lyingClaims) GatherAllocatedState() (*structured.AllocatedState, error) {
	state, err := l.ResourceClaimTracker.GatherAllocatedState()
	if err == nil && l.forgetful {
		state = &structured.AllocatedState{AggregatedCapacity: structured.NewConsumedCapacityCollection()}
	}
	return state, err
}

// exactRequests changes the requests without alternatives.
func exactRequests(change func(*resourceapi.ExactDeviceRequest)) func(*resourceapi.ResourceClaim) {
	return func(claim *resourceapi.ResourceClaim) {
		for i := range claim.Spec.Devices.Requests {
			if exactly := claim.Spec.Devices.Requests[i].Exactly; exactly != nil {
				change(exactly)
			}
		}
	}
}

// TestInvalidAllocationsAreCaught tests the check itself: it says what is wrong with the allocations of a plugin that is
// told something wrong.
func TestInvalidAllocationsAreCaught(t *testing.T) {
	withoutTaints := func(slice *resourceapi.ResourceSlice) {
		for i := range slice.Spec.Devices {
			slice.Spec.Devices[i].Taints = nil
		}
	}
	everywhere := func(slice *resourceapi.ResourceSlice) {
		if slice.Spec.NodeSelector != nil || slice.Spec.NodeName != nil {
			slice.Spec.NodeSelector, slice.Spec.NodeName, slice.Spec.AllNodes = nil, nil, ptr.To(true)
		}
	}
	tests := map[string]struct {
		manager lyingManager
		want    string
	}{
		"a device twice":                   {lyingManager{forgetful: true}, "is used 2 times"},
		"a counter exceeded":               {lyingManager{forgetful: true}, "of counter card/slots are used, of"},
		"a capacity exceeded":              {lyingManager{forgetful: true}, "Gi are used"},
		"taints not tolerated":             {lyingManager{slice: withoutTaints}, "does not tolerate"},
		"a node that can't use the device": {lyingManager{slice: everywhere}, "that node node-"},
		"attributes that don't agree":      {lyingManager{claim: func(c *resourceapi.ResourceClaim) { c.Spec.Devices.Constraints = nil }}, "attribute example.com/numa has the values"},
		"attributes that are not distinct": {lyingManager{claim: func(c *resourceapi.ResourceClaim) { c.Spec.Devices.Constraints = nil }}, "two devices have attribute"},
		"a selector that does not match":   {lyingManager{claim: exactRequests(func(r *resourceapi.ExactDeviceRequest) { r.Selectors = nil })}, "does not match request"},
		"a class that does not match":      {lyingManager{claim: exactRequests(func(r *resourceapi.ExactDeviceRequest) { r.DeviceClassName = "any" })}, "does not match request"},
		"too few devices":                  {lyingManager{claim: exactRequests(func(r *resourceapi.ExactDeviceRequest) { r.Count = 1 })}, "got 1 devices, not 2"},
		"some devices instead of all": {lyingManager{claim: exactRequests(func(r *resourceapi.ExactDeviceRequest) {
			r.AllocationMode, r.Count = resourceapi.DeviceAllocationModeExactCount, 1
		})}, "got 1 devices, not 4"},
		"an administrator's access for all": {lyingManager{claim: exactRequests(func(r *resourceapi.ExactDeviceRequest) { r.AdminAccess = ptr.To(true) })}, "admin access to device"},
		"an old generation": {lyingManager{slice: func(slice *resourceapi.ResourceSlice) {
			if slice.Spec.Pool.Generation > 1 {
				slice.Spec.Pool.Generation = 0
			}
		}}, "is not in the newest generation"},
		"less capacity": {lyingManager{claim: exactRequests(func(r *resourceapi.ExactDeviceRequest) { r.Capacity = nil })}, "has less capacity than request"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			lying := func(ctx context.Context, c cluster, p profile) (*side, error) {
				return inTheirRuntimeWith(ctx, c, p, theirFactories(), func(manager fwk.SharedDRAManager) fwk.SharedDRAManager {
					liar := test.manager
					liar.SharedDRAManager = manager
					return &liar
				})
			}
			for seed := range uint64(200) {
				var invalid []string
				synctest.Test(t, func(t *testing.T) { invalid = playDevices(t, newGenerator(seed).deviceHistory(), lying).invalid })
				if strings.Contains(fmt.Sprint(invalid), test.want) {
					return
				}
			}
			t.Errorf("no allocation was found of which %q", test.want)
		})
	}
}
