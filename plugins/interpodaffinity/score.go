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

// values is what the domains are worth to the pod being scheduled: what it prefers itself, and the terms of pods on nodes
// that match it.
type values struct {
	preferred []preference
	others    []*otherTerm
}

// Clone implements fwk.StateData; nothing in it changes any more.
func (v *values) Clone() fwk.StateData { return v }

// any tells whether any domain is worth something, be it for and against the same.
func (v *values) any() bool {
	for _, p := range v.preferred {
		if p.nonzero() > 0 {
			return true
		}
	}
	return len(v.others) > 0
}

// PreScore implements fwk.PreScorePlugin: it brings the counts of the pods on all nodes up to date. It skips a pod to
// which no domain is worth anything.
func (pl *Plugin) PreScore(ctx context.Context, state fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo) *fwk.Status {
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
	slots, _ := topology.IndexedNodesOf(nil, nodes)
	return pl.preScore(ctx, state, pod, slots, false)
}

func hasPreferences(pod *v1.Pod) bool {
	affinity := pod.Spec.Affinity
	return affinity != nil &&
		(affinity.PodAffinity != nil && len(affinity.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution) > 0 ||
			affinity.PodAntiAffinity != nil && len(affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution) > 0)
}

func (pl *Plugin) preScore(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes framework.IndexedSnapshot, lasting bool) *fwk.Status {
	if pl.ownPreferencesOnly && !hasPreferences(pod) {
		return fwk.NewStatus(fwk.Skip)
	}
	values, err := pl.newValues(pod, nodes, lasting)
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

func (pl *Plugin) newValues(pod *v1.Pod, nodes framework.IndexedSnapshot, lasting bool) (*values, error) {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	counted := pl.countedOf(nodes, lasting)
	wishes, err := pl.wishesOf(pod, counted)
	if err != nil {
		return nil, fmt.Errorf("parsing pod: %w", err)
	}
	for _, p := range wishes.preferred {
		p.sync(&counted.index)
	}
	counted.valuing.sync(nodes, &counted.index)
	if len(wishes.preferred) == 0 && len(counted.valuing.byKey) == 0 {
		return nil, nil
	}
	namespaceLabels, err := pl.namespaceLabels(pod.Namespace)
	if err != nil {
		return nil, err
	}
	return &values{preferred: wishes.preferred, others: counted.valuing.matching(pod, namespaceLabels)}, nil
}

// Score implements fwk.ScorePlugin: the sum over the domains that the node is in, which may be negative.
func (pl *Plugin) Score(_ context.Context, state fwk.CycleState, _ *v1.Pod, nodeInfo fwk.NodeInfo) (int64, *fwk.Status) {
	values, err := statedata.Read[*values](state, preScoreKey)
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
	for _, t := range values.others {
		sum += t.weight(labels)
	}
	return sum, nil
}

// ScoreExtensions implements fwk.ScorePlugin.
func (pl *Plugin) ScoreExtensions() fwk.ScoreExtensions { return pl }

// NormalizeScore implements fwk.ScoreExtensions: the best node gets 100 and the worst 0, and where all are equal, all 0.
func (pl *Plugin) NormalizeScore(_ context.Context, _ fwk.CycleState, _ *v1.Pod, scores fwk.NodeScoreList) *fwk.Status {
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
