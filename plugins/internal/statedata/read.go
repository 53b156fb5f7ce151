// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package statedata

import (
	"fmt"

	fwk "k8s.io/kube-scheduler/framework"
)

// Read returns the data under a key. It fails if there is none, which is what a plugin sees whose earlier extension
// point is disabled in the profile, and if the data is of another type.
func Read[T fwk.StateData](state fwk.CycleState, key fwk.StateKey) (T, error) {
	var none T
	data, err := state.Read(key)
	if err != nil {
		return none, fmt.Errorf("reading %q from the cycle state: %w", key, err)
	}
	typed, ok := data.(T)
	if !ok {
		return none, fmt.Errorf("reading %q from the cycle state: it holds a %T, not a %T", key, data, none)
	}
	return typed, nil
}
