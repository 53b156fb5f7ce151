// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package interpodaffinity

import (
	"context"
	"fmt"
	"math"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/statedata"
)

const preScoreKey fwk.StateKey = "PreScore" + Name

// domainScores is what every topology domain is worth to the pod being scheduled.
type domainScores struct{ pairs }

// Clone implements fwk.StateData; nothing in it changes any more.
func (d *domainScores) Clone() fwk.StateData { return d }

// preferences are what the pod being scheduled prefers, and what of the pod other pods' terms look at.
type preferences struct {
	pod             *v1.Pod
	namespaceLabels labels.Set
	affinity        []fwk.WeightedAffinityTerm
	antiAffinity    []fwk.WeightedAffinityTerm
	// hardWeight is what a required affinity of another pod is worth.
	hardWeight int64
}

// any tells whether the pod prefers anything itself.
func (p *preferences) any() bool { return len(p.affinity)+len(p.antiAffinity) > 0 }

// PreScore implements fwk.PreScorePlugin: it adds up what the pods on all nodes are worth to the pod, and the pod to
// them. It skips a pod to which no domain is worth anything.
func (pl *Plugin) PreScore(ctx context.Context, state fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo) *fwk.Status {
	if pl.ownPreferencesOnly && !hasPreferences(pod) {
		return fwk.NewStatus(fwk.Skip)
	}
	preferences, err := pl.newPreferences(pod)
	if err != nil {
		return fwk.AsStatus(err)
	}
	nodes, err := pl.nodesToScan(preferences)
	if err != nil {
		return fwk.AsStatus(err)
	}
	scores := pl.scoreDomains(ctx, preferences, nodes)
	if err := interrupted(ctx, pod); err != nil {
		return fwk.AsStatus(err)
	}
	if len(scores.keys) == 0 {
		return fwk.NewStatus(fwk.Skip)
	}
	state.Write(preScoreKey, &domainScores{scores})
	return nil
}

func hasPreferences(pod *v1.Pod) bool {
	affinity := pod.Spec.Affinity
	return affinity != nil &&
		(affinity.PodAffinity != nil && len(affinity.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution) > 0 ||
			affinity.PodAntiAffinity != nil && len(affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution) > 0)
}

func (pl *Plugin) newPreferences(pod *v1.Pod) (*preferences, error) {
	parsed, err := framework.NewPodInfo(pod)
	if err != nil {
		return nil, fmt.Errorf("parsing pod: %w", err)
	}
	p := &preferences{
		pod:          pod,
		affinity:     parsed.GetPreferredAffinityTerms(),
		antiAffinity: parsed.GetPreferredAntiAffinityTerms(),
		hardWeight:   pl.hardWeight,
	}
	for _, terms := range [...][]fwk.WeightedAffinityTerm{p.affinity, p.antiAffinity} {
		for i := range terms {
			if err := pl.resolveNamespaces(&terms[i].AffinityTerm); err != nil {
				return nil, err
			}
		}
	}
	p.namespaceLabels, err = pl.namespaceLabels(pod.Namespace)
	return p, err
}

// nodesToScan returns all nodes for a pod with preferences, and otherwise those with a pod that may have some.
func (pl *Plugin) nodesToScan(p *preferences) (nodes []fwk.NodeInfo, err error) {
	snapshot := pl.handle.SnapshotSharedLister()
	switch {
	case snapshot == nil:
	case p.any():
		nodes, err = snapshot.NodeInfos().List()
	default:
		nodes, err = snapshot.NodeInfos().HavePodsWithAffinityList()
	}
	if err != nil {
		return nil, fmt.Errorf("listing the nodes of the snapshot: %w", err)
	}
	return nodes, nil
}

// scoreDomains adds up what the pods on nodes are worth.
func (pl *Plugin) scoreDomains(ctx context.Context, p *preferences, nodes []fwk.NodeInfo) pairs {
	var scores sharedPairs
	pl.handle.Parallelizer().Until(ctx, len(nodes), func(i int) {
		node := nodes[i].Node()
		if node == nil || len(node.Labels) == 0 {
			return
		}
		var usual [usualKeys]keySum
		sums := nodeSums(usual[:0])
		others := nodes[i].GetPodsWithAffinity()
		if p.any() {
			others = nodes[i].GetPods()
		}
		for _, other := range others {
			sums = p.add(sums, node.Labels, other)
		}
		scores.addAll(node.Labels, sums)
	}, Name)
	return scores.pairs
}

// add adds what a pod on a node with these labels is worth to the pod being scheduled, and the other way round.
func (p *preferences) add(sums nodeSums, nodeLabels map[string]string, other fwk.PodInfo) nodeSums {
	sums = addMatching(sums, nodeLabels, p.affinity, other.GetPod(), nil, 1)
	sums = addMatching(sums, nodeLabels, p.antiAffinity, other.GetPod(), nil, -1)
	if p.hardWeight > 0 {
		for i, terms := 0, other.GetRequiredAffinityTerms(); i < len(terms); i++ {
			if terms[i].Matches(p.pod, p.namespaceLabels) {
				sums = sums.add(nodeLabels, terms[i].TopologyKey, p.hardWeight)
			}
		}
	}
	sums = addMatching(sums, nodeLabels, other.GetPreferredAffinityTerms(), p.pod, p.namespaceLabels, 1)
	return addMatching(sums, nodeLabels, other.GetPreferredAntiAffinityTerms(), p.pod, p.namespaceLabels, -1)
}

// addMatching adds the weights of the terms that match a pod of a namespace with the given labels; sign is 1 or -1.
func addMatching(
	sums nodeSums, nodeLabels map[string]string, terms []fwk.WeightedAffinityTerm, pod *v1.Pod, namespaceLabels labels.Set, sign int64,
) nodeSums {
	for i := range terms {
		if terms[i].Matches(pod, namespaceLabels) {
			sums = sums.add(nodeLabels, terms[i].TopologyKey, sign*int64(terms[i].Weight))
		}
	}
	return sums
}

// Score implements fwk.ScorePlugin: the sum over the domains that the node is in, which may be negative.
func (pl *Plugin) Score(_ context.Context, state fwk.CycleState, _ *v1.Pod, nodeInfo fwk.NodeInfo) (int64, *fwk.Status) {
	scores, err := statedata.Read[*domainScores](state, preScoreKey)
	if err != nil {
		return 0, fwk.AsStatus(err)
	}
	return scores.sumOn(nodeInfo.Node().Labels), nil
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
		above := float64(scores[i].Score - least)
		scores[i].Score = 0
		if most > least {
			scores[i].Score = int64(float64(fwk.MaxScore) * (above / float64(most-least)))
		}
	}
	return nil
}
