// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package nodedeclaredfeatures

import (
	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/statedata"
)

var _ framework.FilterKeyPlugin = &plugin{}

// AppendFilterKey implements framework.FilterKeyPlugin.
func (pl *plugin) AppendFilterKey(key []byte, state fwk.CycleState, _ *v1.Pod) ([]byte, bool) {
	required, err := statedata.Read[*requiredFeatures](state, preFilterKey)
	if err != nil {
		return key, false
	}
	return append(key, required.String()...), true
}
