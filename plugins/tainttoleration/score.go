// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package tainttoleration

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/statedata"
)

const preScoreKey fwk.StateKey = "PreScore" + Name

// softTolerations are those of the pod that can tolerate a taint of effect PreferNoSchedule.
type softTolerations struct{ tolerations []v1.Toleration }

// Clone implements fwk.StateData; the tolerations never change and are shared.
func (s *softTolerations) Clone() fwk.StateData { return s }

// PreScore implements fwk.PreScorePlugin. It never skips Score.
func (pl *plugin) PreScore(_ context.Context, state fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo) *fwk.Status {
	soft := &softTolerations{}
	for _, toleration := range pod.Spec.Tolerations {
		if toleration.Effect == "" || toleration.Effect == v1.TaintEffectPreferNoSchedule {
			soft.tolerations = append(soft.tolerations, toleration)
		}
	}
	state.Write(preScoreKey, soft)
	return nil
}

// Score implements fwk.ScorePlugin: the number of taints that ask the pod to stay away; fewer are better.
func (pl *plugin) Score(ctx context.Context, state fwk.CycleState, _ *v1.Pod, nodeInfo fwk.NodeInfo) (int64, *fwk.Status) {
	soft, err := statedata.Read[*softTolerations](state, preScoreKey)
	if err != nil {
		return 0, fwk.AsStatus(err)
	}
	logger := klog.FromContext(ctx)
	taints := nodeInfo.Node().Spec.Taints
	var untolerated int64
	for i := range taints {
		if taints[i].Effect == v1.TaintEffectPreferNoSchedule &&
			!corev1.TolerationsTolerateTaint(logger, soft.tolerations, &taints[i], false) {
			untolerated++
		}
	}
	return untolerated, nil
}

// ScoreExtensions implements fwk.ScorePlugin.
func (pl *plugin) ScoreExtensions() fwk.ScoreExtensions { return pl }

// NormalizeScore implements fwk.ScoreExtensions: no untolerated taint is 100, the most of any node is 0.
func (pl *plugin) NormalizeScore(_ context.Context, _ fwk.CycleState, _ *v1.Pod, scores fwk.NodeScoreList) *fwk.Status {
	return framework.DefaultNormalizeScore(fwk.MaxScore, true, scores)
}
