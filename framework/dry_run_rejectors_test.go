// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/rouse-scheduler/rouse/framework"
)

func TestDryRunRejectors(t *testing.T) {
	state := framework.NewCycleState()
	framework.AddDryRunRejectors(state)
	if got := framework.DryRunRejectors(state); got.Len() != 0 {
		t.Errorf("got %v of a new state, want none", got)
	}
	framework.AddDryRunRejectors(state, "A", "B")
	before := framework.DryRunRejectors(state)
	framework.AddDryRunRejectors(state, "B", "C")
	if diff := cmp.Diff(sets.New("A", "B", "C"), framework.DryRunRejectors(state)); diff != "" {
		t.Errorf("plugins differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(sets.New("A", "B"), before); diff != "" {
		t.Errorf("plugins that were returned before have changed (-want +got):\n%s", diff)
	}
	clone := state.Clone()
	framework.AddDryRunRejectors(clone, "D")
	if got := framework.DryRunRejectors(state); got.Has("D") {
		t.Errorf("what is added to a copy of a state is in the original: %v", got)
	}
}
