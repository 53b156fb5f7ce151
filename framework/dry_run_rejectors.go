// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
)

const dryRunRejectorsKey fwk.StateKey = "rouse/dry-run-rejectors"

// dryRunRejectors does not change.
type dryRunRejectors struct{ plugins sets.Set[string] }

// Clone implements fwk.StateData.
func (r *dryRunRejectors) Clone() fwk.StateData { return r }

// AddDryRunRejectors notes in the state of an attempt who would keep the pod off nodes even if other pods were evicted
// there. A PostFilter plugin that finds no way to make room calls it, so that the pod is tried again on the events of
// those plugins, too, and not only of those that rejected it as things are: once they let the pod pass, there may be a
// way. One that waits for something itself, such as for evicted pods to end, adds its own name. Calls add up. It is not
// safe for concurrent use with the same state.
func AddDryRunRejectors(state fwk.CycleState, plugins ...string) {
	if len(plugins) > 0 {
		state.Write(dryRunRejectorsKey, &dryRunRejectors{DryRunRejectors(state).Union(sets.New(plugins...))})
	}
}

// DryRunRejectors returns what [AddDryRunRejectors] noted. The set must not be changed; it is nil if there is none.
func DryRunRejectors(state fwk.CycleState) sets.Set[string] {
	data, err := state.Read(dryRunRejectorsKey)
	if err != nil {
		return nil
	}
	noted, ok := data.(*dryRunRejectors)
	if !ok {
		return nil
	}
	return noted.plugins
}
