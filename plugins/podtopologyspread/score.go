// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package podtopologyspread

import (
	"context"
	"fmt"
	"math"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/statedata"
	"github.com/rouse-scheduler/rouse/plugins/internal/topology"
)

const preScoreKey fwk.StateKey = "PreScore" + Name

// preScoreState is the constraints of the pod being scheduled that it prefers to be met.
type preScoreState struct {
	// table has the pods on all nodes, whether or not they are candidates.
	*table
	// weights are how much one pod counts for each constraint: more where candidates are in many domains. They are not
	// there where all nodes are scored at once.
	weights []float64
	// ignored are the names of candidates without a score, because they lack a topology key.
	ignored sets.Set[string]
}

// Clone implements fwk.StateData; nothing in it changes any more.
func (s *preScoreState) Clone() fwk.StateData { return s }

// PreScore implements fwk.PreScorePlugin: it brings the counts of the pods on all nodes up to date. It skips a pod without
// soft constraints.
func (pl *plugin) PreScore(ctx context.Context, state fwk.CycleState, pod *v1.Pod, candidates []fwk.NodeInfo) *fwk.Status {
	snapshot := pl.handle.SnapshotSharedLister()
	if snapshot == nil {
		return fwk.NewStatus(fwk.Skip)
	}
	nodes, err := snapshot.NodeInfos().List()
	if err != nil {
		return fwk.AsStatus(fmt.Errorf("listing the nodes of the snapshot: %w", err))
	}
	if len(nodes) == 0 {
		return fwk.NewStatus(fwk.Skip)
	}
	indexed, lasting := topology.IndexedNodesOf(snapshot, nodes)
	table, err := pl.tableFor(pod, v1.ScheduleAnyway, indexed, lasting)
	if err != nil {
		return fwk.AsStatus(err)
	}
	if table == nil {
		return fwk.NewStatus(fwk.Skip)
	}
	if err := context.Cause(ctx); err != nil {
		return fwk.AsStatus(fmt.Errorf("counting the pods that pod %s/%s is to be spread with: %w", pod.Namespace, pod.Name, err))
	}
	spread := &preScoreState{table: table}
	spread.setWeights(candidates)
	state.Write(preScoreKey, spread)
	return nil
}

// byDomain reports whether a constraint is about domains of several nodes. The others are about each node alone.
func byDomain(c *constraint) bool { return c.topologyKey != v1.LabelHostname }

// setWeights finds the weights for some candidates.
func (s *preScoreState) setWeights(candidates []fwk.NodeInfo) {
	s.ignored = sets.New[string]()
	s.weights = make([]float64, len(s.constraints))
	domains := make([]sets.Set[string], len(s.constraints))
	for i := range domains {
		domains[i] = sets.New[string]()
	}
	for _, nodeInfo := range candidates {
		node := nodeInfo.Node()
		if s.allKeys && !hasAllKeys(s.constraints, node) {
			s.ignored.Insert(node.Name)
			continue
		}
		for i := range s.constraints {
			if c := &s.constraints[i]; byDomain(c) {
				domains[i].Insert(node.Labels[c.topologyKey])
			}
		}
	}
	for i := range s.constraints {
		size := domains[i].Len()
		if !byDomain(&s.constraints[i]) {
			size = len(candidates) - s.ignored.Len()
		}
		s.weights[i] = weight(size)
	}
}

// weight is how much one pod counts where candidates are in so many domains.
func weight(domains int) float64 { return math.Log(float64(domains + 2)) }

// rawScore is what so many pods add to the score of a node; a constraint that tolerates a larger skew adds more.
func (c *constraint) rawScore(pods int64, weight float64) float64 {
	return float64(pods)*weight + float64(c.maxSkew-1)
}

// Score implements fwk.ScorePlugin: the weighted number of pods in the domains of the node. Fewer are better.
func (pl *plugin) Score(_ context.Context, state fwk.CycleState, _ *v1.Pod, nodeInfo fwk.NodeInfo) (int64, *fwk.Status) {
	spread, err := statedata.Read[*preScoreState](state, preScoreKey)
	if err != nil {
		return 0, fwk.AsStatus(err)
	}
	node := nodeInfo.Node()
	if spread.ignored.Has(node.Name) {
		return 0, nil
	}
	var score float64
	for i := range spread.constraints {
		c := &spread.constraints[i]
		domain, ok := node.Labels[c.topologyKey]
		if !ok {
			continue
		}
		var pods int64
		if byDomain(c) {
			pods, _ = spread.counts[i].sum(domain)
		} else {
			pods = spread.count(c, nodeInfo)
		}
		score += c.rawScore(pods, spread.weights[i])
	}
	return rounded(score), nil
}

// rounded rounds half away from zero.
func rounded(score float64) int64 {
	if score < 0 || score > 1<<52 {
		return int64(math.Round(score))
	}
	whole := int64(score)
	if score-float64(whole) >= 0.5 {
		whole++
	}
	return whole
}

// ScoreExtensions implements fwk.ScorePlugin.
func (pl *plugin) ScoreExtensions() fwk.ScoreExtensions { return pl }

// NormalizeScore implements fwk.ScoreExtensions: the node with the fewest pods gets 100, one that lacks a topology key
// gets 0.
func (pl *plugin) NormalizeScore(_ context.Context, state fwk.CycleState, _ *v1.Pod, scores fwk.NodeScoreList) *fwk.Status {
	spread, err := statedata.Read[*preScoreState](state, preScoreKey)
	if err != nil {
		return fwk.AsStatus(err)
	}
	var least, most int64 = math.MaxInt64, 0
	for _, score := range scores {
		if !spread.ignored.Has(score.Name) {
			least, most = min(least, score.Score), max(most, score.Score)
		}
	}
	for i := range scores {
		if spread.ignored.Has(scores[i].Name) {
			scores[i].Score = 0
		} else {
			scores[i].Score = normalized(scores[i].Score, least, most)
		}
	}
	return nil
}

// normalized is the final score of a node that is not ignored.
func normalized(score, least, most int64) int64 {
	if most == 0 {
		return fwk.MaxScore
	}
	return fwk.MaxScore * (most + least - score) / most
}
