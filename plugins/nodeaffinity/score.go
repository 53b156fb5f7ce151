// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeaffinity

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/statedata"
)

const preScoreKey fwk.StateKey = "PreScore" + Name

// preferredAffinity is the parsed preferred node affinity of the pod being scheduled; nil terms if it has none.
type preferredAffinity struct {
	terms *nodeaffinity.PreferredSchedulingTerms
}

// Clone implements fwk.StateData; the terms never change and are shared.
func (p *preferredAffinity) Clone() fwk.StateData { return p }

// PreScore implements fwk.PreScorePlugin. It skips a pod if neither it nor the profile prefers any node.
func (pl *plugin) PreScore(_ context.Context, state fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo) *fwk.Status {
	preferred, err := parsePreferred(pod)
	if err != nil {
		return fwk.AsStatus(err)
	}
	if preferred.terms == nil && pl.addedPreferred == nil {
		return fwk.NewStatus(fwk.Skip)
	}
	state.Write(preScoreKey, preferred)
	return nil
}

// Score implements fwk.ScorePlugin: the sum of the weights of the preferred terms that match the node, those of the
// pod and those of the profile. It works without PreScore too.
func (pl *plugin) Score(_ context.Context, state fwk.CycleState, pod *v1.Pod, nodeInfo fwk.NodeInfo) (int64, *fwk.Status) {
	preferred, err := statedata.Read[*preferredAffinity](state, preScoreKey)
	if err != nil {
		if preferred, err = parsePreferred(pod); err != nil {
			return 0, fwk.AsStatus(err)
		}
	}
	var score int64
	for _, terms := range [...]*nodeaffinity.PreferredSchedulingTerms{pl.addedPreferred, preferred.terms} {
		if terms != nil {
			score += terms.Score(nodeInfo.Node())
		}
	}
	return score, nil
}

// ScoreExtensions implements fwk.ScorePlugin.
func (pl *plugin) ScoreExtensions() fwk.ScoreExtensions { return pl }

// NormalizeScore implements fwk.ScoreExtensions: the best node gets 100.
func (pl *plugin) NormalizeScore(_ context.Context, _ fwk.CycleState, _ *v1.Pod, scores fwk.NodeScoreList) *fwk.Status {
	return framework.DefaultNormalizeScore(fwk.MaxScore, false, scores)
}

// parsePreferred never returns nil without an error. A list of terms that is there but empty counts as a preference.
func parsePreferred(pod *v1.Pod) (*preferredAffinity, error) {
	affinity := pod.Spec.Affinity
	if affinity == nil || affinity.NodeAffinity == nil ||
		affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution == nil {
		return &preferredAffinity{}, nil
	}
	terms, err := nodeaffinity.NewPreferredSchedulingTerms(affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	if err != nil {
		return nil, fmt.Errorf("parsing the preferred node affinity of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return &preferredAffinity{terms: terms}, nil
}
