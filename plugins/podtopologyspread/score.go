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

// softSpread is the constraints of the pod being scheduled that it would like to be met.
type softSpread struct {
	*rules
	// domains has the counts of domains, and weights how much one pod is worth: more where candidates are in many
	// domains. Constraints on the node itself have no counts here.
	domains []topology.Counter
	weights []float64
	// ignored are the names of candidates without a score, because they lack a topology key.
	ignored sets.Set[string]
}

// Clone implements fwk.StateData; nothing in it changes any more.
func (s *softSpread) Clone() fwk.StateData { return s }

// PreScore implements fwk.PreScorePlugin: it counts the pods on all nodes, whether or not they are candidates. It skips a
// pod without soft constraints.
func (pl *Plugin) PreScore(ctx context.Context, state fwk.CycleState, pod *v1.Pod, candidates []fwk.NodeInfo) *fwk.Status {
	nodes, err := pl.allNodes()
	if err != nil {
		return fwk.AsStatus(fmt.Errorf("listing the nodes of the snapshot: %w", err))
	}
	if len(nodes) == 0 {
		return fwk.NewStatus(fwk.Skip)
	}
	constraints, err := pl.constraints(pod, v1.ScheduleAnyway)
	if err != nil {
		return fwk.AsStatus(err)
	}
	if len(constraints) == 0 {
		return fwk.NewStatus(fwk.Skip)
	}
	// The constraints of the system must do for nodes without zones too.
	allKeys := len(pod.Spec.TopologySpreadConstraints) > 0 || !pl.systemDefaults
	spread := newSoftSpread(newRules(ctx, pod, constraints, allKeys), candidates)
	if err := spread.countNodes(ctx, pl.handle.Parallelizer(), nodes, byDomain, spread.add); err != nil {
		return fwk.AsStatus(err)
	}
	state.Write(preScoreKey, spread)
	return nil
}

func (pl *Plugin) allNodes() ([]fwk.NodeInfo, error) {
	snapshot := pl.handle.SnapshotSharedLister()
	if snapshot == nil {
		return nil, nil
	}
	return snapshot.NodeInfos().List()
}

// byDomain tells whether a constraint is about domains of several nodes. Of the others every node is counted when it is
// scored.
func byDomain(c *constraint) bool { return c.topologyKey != v1.LabelHostname }

func newSoftSpread(rules *rules, candidates []fwk.NodeInfo) *softSpread {
	s := &softSpread{
		rules:   rules,
		domains: make([]topology.Counter, len(rules.constraints)),
		weights: make([]float64, len(rules.constraints)),
		ignored: sets.New[string](),
	}
	for _, nodeInfo := range candidates {
		node := nodeInfo.Node()
		if rules.allKeys && !hasAllKeys(rules.constraints, node) {
			s.ignored.Insert(node.Name)
			continue
		}
		for i := range rules.constraints {
			if c := &rules.constraints[i]; byDomain(c) {
				s.domains[i].Add(node.Labels[c.topologyKey], 0)
			}
		}
	}
	for i := range rules.constraints {
		size := s.domains[i].Len()
		if !byDomain(&rules.constraints[i]) {
			size = len(candidates) - len(s.ignored)
		}
		s.weights[i] = math.Log(float64(size + 2))
	}
	return s
}

// add adds a count to a domain.
func (s *softSpread) add(constraint int, domain string, count int64) {
	s.domains[constraint].Add(domain, count)
}

// Score implements fwk.ScorePlugin: the weighted number of pods in the domains of the node, to which a constraint that
// puts up with a larger skew adds more. Fewer are better.
func (pl *Plugin) Score(_ context.Context, state fwk.CycleState, _ *v1.Pod, nodeInfo fwk.NodeInfo) (int64, *fwk.Status) {
	spread, err := statedata.Read[*softSpread](state, preScoreKey)
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
		count := spread.domains[i].Count(domain)
		if !byDomain(c) {
			count = spread.count(c, nodeInfo)
		}
		score += float64(count)*spread.weights[i] + float64(c.maxSkew-1)
	}
	return int64(math.Round(score)), nil
}

// ScoreExtensions implements fwk.ScorePlugin.
func (pl *Plugin) ScoreExtensions() fwk.ScoreExtensions { return pl }

// NormalizeScore implements fwk.ScoreExtensions: the node with the fewest pods gets 100, one that lacks a topology key
// gets 0.
func (pl *Plugin) NormalizeScore(_ context.Context, state fwk.CycleState, _ *v1.Pod, scores fwk.NodeScoreList) *fwk.Status {
	spread, err := statedata.Read[*softSpread](state, preScoreKey)
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
		switch {
		case spread.ignored.Has(scores[i].Name):
			scores[i].Score = 0
		case most == 0:
			scores[i].Score = fwk.MaxScore
		default:
			scores[i].Score = fwk.MaxScore * (most + least - scores[i].Score) / most
		}
	}
	return nil
}
