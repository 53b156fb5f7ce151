// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package dynamicresources

import (
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

// countedClaims counts the claims that are looked up.
type countedClaims struct {
	fwk.ResourceClaimTracker
	lookups *int
}

func (c countedClaims) Get(namespace, name string) (*resourceapi.ResourceClaim, error) {
	*c.lookups++
	return c.ResourceClaimTracker.Get(namespace, name)
}

// Thousands of pods may wait while claims of others are allocated, reserved and changed: that costs no lookup for them.
func TestChangesOfOtherClaimsCostNoLookup(t *testing.T) {
	inWorld(t, oneGPU(), func(t *testing.T, w *world) {
		lookups := 0
		w.claims = countedClaims{w.claims, &lookups}
		pod := podOf("first", "a")
		allocated := gpuClaim("b")
		allocated.Status.Allocation = &resourceapi.AllocationResult{}
		for _, test := range []struct {
			what     string
			old, new *resourceapi.ResourceClaim
			want     fwk.QueueingHint
			lookups  int
		}{
			{"another claim is allocated", gpuClaim("b"), allocated, fwk.QueueSkip, 0},
			{"another claim is added", nil, gpuClaim("b"), fwk.QueueSkip, 0},
			{"another claim gives devices back", allocated, gpuClaim("b"), fwk.Queue, 1},
			{"its own claim is added", nil, gpuClaim("a"), fwk.Queue, 1},
		} {
			lookups = 0
			var old any
			if test.old != nil {
				old = test.old
			}
			hint, err := w.afterClaimChange(klog.Logger{}, pod, old, test.new)
			if hint != test.want || err != nil || lookups != test.lookups {
				t.Errorf("%s: got %v (error %v) with %d lookups, want %v with %d", test.what, hint, err, lookups, test.want, test.lookups)
			}
		}
	})
}
