// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumebinding

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
)

// Volumes that are gone are not kept for their affinities, however many came and went, and those that are there are.
func TestAffinitiesOfVolumesThatAreGone(t *testing.T) {
	var cache affinityCache
	current := map[*v1.PersistentVolume]bool{}
	isCurrent := func(volume *v1.PersistentVolume) bool { return current[volume] }
	made := 0
	visit := func() *v1.PersistentVolume {
		volume := &v1.PersistentVolume{}
		volume.Name = fmt.Sprint("pv-", made)
		made++
		current[volume] = true
		cache.of(volume, isCurrent)
		return volume
	}
	for range 3000 {
		visit() // stays
	}
	for range 20_000 {
		delete(current, visit())
	}
	if kept := len(cache.byVolume); kept > 2*3000+1 {
		t.Errorf("affinities of %d volumes are kept, of which 3000 are there", kept)
	}
	for volume := range current {
		if _, ok := cache.byVolume[volume]; !ok {
			t.Fatalf("the affinity of %s is not kept", volume.Name)
		}
	}
}
