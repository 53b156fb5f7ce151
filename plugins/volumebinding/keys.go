// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumebinding

import (
	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/statedata"
)

var _ framework.ScoreKeyPlugin = &plugin{}

// AppendScoreKey implements framework.ScoreKeyPlugin. Only pods without claims have a key, and the score zero; for the
// others volumes and claims matter too.
func (pl *plugin) AppendScoreKey(key []byte, state fwk.CycleState, _ *v1.Pod) ([]byte, bool) {
	ofPod, err := statedata.Read[*podState](state, stateKey)
	return key, err == nil && len(ofPod.bound) == 0 && len(ofPod.delayed) == 0
}

// Scale implements framework.ScoreKeyPlugin.
func (pl *plugin) Scale() framework.Scale { return framework.ScaleNone }
