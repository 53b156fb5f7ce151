// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
)

// verdicts is everything that a framework says about a pod, in a form that can be compared.
type verdicts struct {
	PreFilter string
	// Filter, Raw and Normalized are by node. Scores are only asked for nodes that pass the filters.
	Filter          map[string]string
	PreScore        string
	Raw, Normalized map[string]string
	Signature       string
}

// comparisons is how many values there are to compare.
func (v verdicts) comparisons() map[string]int {
	return map[string]int{
		"PreFilter": 1, "Filter": len(v.Filter), "PreScore": 1,
		"raw score": len(v.Raw), "normalized score": len(v.Normalized), "signature": 1,
	}
}

func describe(status *fwk.Status) string {
	if status == nil {
		return "Success"
	}
	reasons := slices.Clone(status.Reasons())
	slices.Sort(reasons)
	text := status.Code().String()
	if status.IsRejected() {
		text += " by " + status.Plugin()
	}
	if status.Code() == fwk.Error {
		return text // how errors are worded is not compared
	}
	return strings.TrimSpace(text + " " + strings.Join(reasons, "; "))
}

func (s *side) verdicts(ctx context.Context, pod *v1.Pod) (verdicts, error) {
	v := verdicts{Filter: map[string]string{}, Raw: map[string]string{}, Normalized: map[string]string{}}
	v.Signature = string(s.SignPod(ctx, pod))
	nodes, err := s.lister.List()
	if err != nil {
		return v, err
	}
	nodes = slices.Clone(nodes)
	slices.SortFunc(nodes, func(a, b fwk.NodeInfo) int { return strings.Compare(a.Node().Name, b.Node().Name) })
	state := s.newState()
	result, status, narrowing := s.RunPreFilterPlugins(ctx, state, pod)
	v.PreFilter = fmt.Sprintf("%s nodes %s by %v", describe(status), nodeSet(result), sets.List(narrowing))
	if !status.IsSuccess() {
		return v, nil
	}
	var feasible []fwk.NodeInfo
	for _, node := range nodes {
		status := s.RunFilterPlugins(ctx, state, pod, node)
		v.Filter[node.Node().Name] = describe(status)
		if status.IsSuccess() {
			feasible = append(feasible, node)
		}
	}
	if len(feasible) == 0 {
		return v, nil
	}
	status = s.RunPreScorePlugins(ctx, state, pod, feasible)
	v.PreScore = describe(status)
	if !status.IsSuccess() {
		return v, nil
	}
	scores, status := s.RunScorePlugins(ctx, state, pod, feasible)
	if !status.IsSuccess() {
		v.PreScore += ", then scoring: " + describe(status)
		return v, nil
	}
	for _, node := range scores {
		v.Raw[node.Name] = scoreText(node.RawScores)
		v.Normalized[node.Name] = fmt.Sprintf("%s total %d", scoreText(node.Scores), node.TotalScore)
	}
	return v, nil
}

func nodeSet(result *fwk.PreFilterResult) string {
	if result.AllNodes() {
		return "all"
	}
	return fmt.Sprint(sets.List(result.NodeNames))
}

func scoreText(scores []fwk.PluginScore) string {
	texts := make([]string, len(scores))
	for i, score := range scores {
		texts[i] = fmt.Sprintf("%s=%d", score.Name, score.Score)
	}
	slices.Sort(texts)
	return strings.Join(texts, " ")
}
