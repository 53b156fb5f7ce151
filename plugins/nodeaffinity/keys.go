// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeaffinity

import (
	"encoding/json"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

var (
	_ framework.FilterKeyPlugin = &plugin{}
	_ framework.ScoreKeyPlugin  = &plugin{}
)

// AppendFilterKey implements framework.FilterKeyPlugin. The affinity that the profile adds is the same for all pods.
func (pl *plugin) AppendFilterKey(key []byte, _ fwk.CycleState, pod *v1.Pod) ([]byte, bool) {
	class, ok := pl.HintClass(pod)
	return append(key, class...), ok
}

// AppendScoreKey implements framework.ScoreKeyPlugin.
func (pl *plugin) AppendScoreKey(key []byte, _ fwk.CycleState, pod *v1.Pod) ([]byte, bool) {
	affinity := pod.Spec.Affinity
	if affinity == nil || affinity.NodeAffinity == nil {
		return key, true
	}
	written, err := json.Marshal(affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	return append(key, written...), err == nil
}

// Scale implements framework.ScoreKeyPlugin.
func (pl *plugin) Scale() framework.Scale { return framework.ScaleToHighest }
