// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package notbuilt

import (
	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// AppendScoreKey implements framework.ScoreKeyPlugin; all nodes are equal for all pods.
func (noScore) AppendScoreKey(key []byte, _ fwk.CycleState, _ *v1.Pod) ([]byte, bool) {
	return key, true
}

// Scale implements framework.ScoreKeyPlugin.
func (noScore) Scale() framework.Scale { return framework.ScaleNone }
