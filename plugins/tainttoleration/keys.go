// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package tainttoleration

import (
	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/podkeys"
	"github.com/rouse-scheduler/rouse/plugins/internal/statedata"
)

var (
	_ framework.FilterKeyPlugin = &plugin{}
	_ framework.ScoreKeyPlugin  = &plugin{}
)

// AppendFilterKey implements framework.FilterKeyPlugin.
func (pl *plugin) AppendFilterKey(key []byte, _ fwk.CycleState, pod *v1.Pod) ([]byte, bool) {
	return podkeys.Tolerations(key, pod.Spec.Tolerations), true
}

// AppendScoreKey implements framework.ScoreKeyPlugin.
func (pl *plugin) AppendScoreKey(key []byte, state fwk.CycleState, _ *v1.Pod) ([]byte, bool) {
	soft, err := statedata.Read[*softTolerations](state, preScoreKey)
	if err != nil {
		return key, false
	}
	return podkeys.Tolerations(key, soft.tolerations), true
}

// Scale implements framework.ScoreKeyPlugin.
func (pl *plugin) Scale() framework.Scale { return framework.ScaleToHighestReversed }
