// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package noderesourcesbalancedallocation

import (
	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/statedata"
)

var _ framework.BatchScorePlugin = &plugin{}

// AppendScoreKey implements framework.ScoreKeyPlugin.
func (pl *plugin) AppendScoreKey(key []byte, state fwk.CycleState, _ *v1.Pod) ([]byte, bool) {
	request, err := statedata.Read[*balancedRequest](state, preScoreKey)
	if err != nil {
		return key, false
	}
	for _, amount := range request.amounts {
		key = framework.AppendKeyInt(key, amount)
	}
	return request.served.AppendKey(key)
}

// Scale implements framework.ScoreKeyPlugin.
func (pl *plugin) Scale() framework.Scale { return framework.ScaleNone }
