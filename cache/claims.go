// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

// claimCounts counts references to persistent volume claims, by "namespace/name". It holds positive counts only.
type claimCounts map[string]int

// replace takes back the references of one version of a node and counts those of another; either may be nil.
func (c claimCounts) replace(before, after map[string]int) {
	for key, count := range after {
		c[key] += count
	}
	for key, count := range before {
		c[key] -= count
		if c[key] == 0 {
			delete(c, key)
		}
	}
}
