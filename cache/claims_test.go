// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestClaimCounts(t *testing.T) {
	counts := claimCounts{}
	steps := []struct {
		before, after map[string]int
		want          claimCounts
	}{
		{nil, map[string]int{"a": 2, "b": 1}, claimCounts{"a": 2, "b": 1}},
		{nil, map[string]int{"a": 1}, claimCounts{"a": 3, "b": 1}},
		{map[string]int{"a": 2, "b": 1}, map[string]int{"b": 1, "c": 1}, claimCounts{"a": 1, "b": 1, "c": 1}},
		{map[string]int{"b": 1, "c": 1}, nil, claimCounts{"a": 1}},
		{map[string]int{"a": 1}, nil, claimCounts{}},
	}
	for i, step := range steps {
		counts.replace(step.before, step.after)
		if diff := cmp.Diff(step.want, counts); diff != "" {
			t.Errorf("after step %d (-want +got):\n%s", i, diff)
		}
	}
}
