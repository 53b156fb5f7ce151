// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package interpodaffinity

import (
	"context"
	"fmt"
	"math"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/statedata"
	"github.com/rouse-scheduler/rouse/plugins/internal/topology"
)

const preScoreKey fwk.StateKey = "PreScore" + Name

// preScoreState has the terms that score the domains: those that the incoming pod prefers, and the terms of existing pods
// that match it.
type preScoreState struct {
	preferred []preference
	existing  []*existingTerm
}

// Clone implements fwk.StateData; nothing in it changes any more.
func (v *preScoreState) Clone() fwk.StateData { return v }

// any reports whether any domain has a score, even if it adds up to zero.
func (v *preScoreState) any() bool {
	for _, p := range v.preferred {
		if p.nonzero() > 0 {
			return true
		}
	}
	return len(v.existing) > 0
}

// PreScore implements fwk.PreScorePlugin: it brings the counts of the pods on all nodes up to date. It skips a pod for
// which no domain has a score.
func (pl *plugin) PreScore(ctx context.Context, state fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo) *fwk.Status {
	snapshot := pl.handle.SnapshotSharedLister()
	if snapshot == nil {
		return fwk.NewStatus(fwk.Skip)
	}
	if nodes, ok := snapshot.(framework.IndexedSnapshot); ok {
		return pl.preScore(ctx, state, pod, nodes, true)
	}
	list := snapshot.NodeInfos().HavePodsWithAffinityList
	if hasPreferences(pod) {
		list = snapshot.NodeInfos().List
	}
	nodes, err := list()
	if err != nil {
		return fwk.AsStatus(fmt.Errorf("listing the nodes of the snapshot: %w", err))
	}
	indexed, _ := topology.IndexedNodesOf(nil, nodes)
	return pl.preScore(ctx, state, pod, indexed, false)
}

func hasPreferences(pod *v1.Pod) bool {
	affinity := pod.Spec.Affinity
	return affinity != nil &&
		(affinity.PodAffinity != nil && len(affinity.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution) > 0 ||
			affinity.PodAntiAffinity != nil && len(affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution) > 0)
}

func (pl *plugin) preScore(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes framework.IndexedSnapshot, lasting bool) *fwk.Status {
	if pl.ownPreferencesOnly && !hasPreferences(pod) {
		return fwk.NewStatus(fwk.Skip)
	}
	values, err := pl.newPreScoreState(pod, nodes, lasting)
	if err != nil {
		return fwk.AsStatus(err)
	}
	if err := interrupted(ctx, pod); err != nil {
		return fwk.AsStatus(err)
	}
	if values == nil || !values.any() {
		return fwk.NewStatus(fwk.Skip)
	}
	state.Write(preScoreKey, values)
	return nil
}

func (pl *plugin) newPreScoreState(pod *v1.Pod, nodes framework.IndexedSnapshot, lasting bool) (*preScoreState, error) {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	counts := pl.countsOf(nodes, lasting)
	counts.shared.Lock()
	defer counts.shared.Unlock()
	incoming, err := pl.incomingTermsOf(pod, counts)
	if err != nil {
		return nil, fmt.Errorf("parsing pod: %w", err)
	}
	for _, p := range incoming.preferred {
		p.sync(counts.shared)
	}
	counts.existingScored.sync(counts.shared)
	if len(incoming.preferred) == 0 && len(counts.existingScored.byKey) == 0 {
		return nil, nil
	}
	namespaceLabels, err := pl.namespaceLabels(pod.Namespace)
	if err != nil {
		return nil, err
	}
	return &preScoreState{preferred: incoming.preferred, existing: counts.existingScored.matching(pod, namespaceLabels)}, nil
}

// Score implements fwk.ScorePlugin: the sum over the domains that the node is in, which may be negative.
func (pl *plugin) Score(_ context.Context, state fwk.CycleState, _ *v1.Pod, nodeInfo fwk.NodeInfo) (int64, *fwk.Status) {
	values, err := statedata.Read[*preScoreState](state, preScoreKey)
	if err != nil {
		return 0, fwk.AsStatus(err)
	}
	labels := nodeInfo.Node().Labels
	var sum int64
	for _, p := range values.preferred {
		key := p.terms[0].TopologyKey
		if value, ok := labels[key]; ok {
			sum += p.weight * p.count(key, value)
		}
	}
	for _, t := range values.existing {
		sum += t.weight(labels)
	}
	return sum, nil
}

// ScoreExtensions implements fwk.ScorePlugin.
func (pl *plugin) ScoreExtensions() fwk.ScoreExtensions { return pl }

// NormalizeScore implements fwk.ScoreExtensions: the best node gets 100 and the worst 0, and where all are equal, all 0.
func (pl *plugin) NormalizeScore(_ context.Context, _ fwk.CycleState, _ *v1.Pod, scores fwk.NodeScoreList) *fwk.Status {
	var least, most int64 = math.MaxInt64, math.MinInt64
	for _, score := range scores {
		least, most = min(least, score.Score), max(most, score.Score)
	}
	for i := range scores {
		scores[i].Score = normalized(scores[i].Score, least, most)
	}
	return nil
}

func normalized(score, least, most int64) int64 {
	if most <= least {
		return 0
	}
	return int64(float64(fwk.MaxScore) * (float64(score-least) / float64(most-least)))
}
