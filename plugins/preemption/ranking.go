// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package preemption

import (
	"context"
	"math"
	"slices"
	"time"

	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
)

// best returns the candidate with the best scores among those that still have victims, and the first of several, by name where the
// handle is exhaustive; none if there are none.
func (e *Evaluator) best(ctx context.Context, candidates []Candidate, victims map[string]*extenderv1.Victims) string {
	var nodes []string
	for _, candidate := range candidates {
		if left := victims[candidate.Node]; left != nil && len(left.Pods) > 0 {
			nodes = append(nodes, candidate.Node)
		}
	}
	if len(nodes) == 0 {
		return ""
	}
	if isExhaustive(e.handle) {
		slices.Sort(nodes)
	}
	if len(nodes) > 1 {
		scores := e.hooks.OrderedScoreFuncs(ctx, victims)
		if scores == nil {
			scores = defaultScores(victims, e.evictor.clock.Now())
		}
		for _, score := range scores {
			nodes = highest(nodes, score)
		}
	}
	return nodes[0]
}

// highest returns the nodes with the highest score.
func highest(nodes []string, score func(node string) int64) []string {
	var top []string
	var most int64
	for _, node := range nodes {
		switch value := score(node); {
		case len(top) == 0 || value > most:
			top, most = []string{node}, value
		case value == most:
			top = append(top, node)
		}
	}
	return top
}

// defaultScores prefer, in this order: fewer victims whose budget is exceeded, a lower priority of the most important
// victim, a lower sum of priorities, fewer victims, and most important victims that have not been running for long.
func defaultScores(victims map[string]*extenderv1.Victims, now time.Time) []func(node string) int64 {
	return []func(node string) int64{
		func(node string) int64 { return -victims[node].NumPDBViolations },
		func(node string) int64 { return -int64(corev1helpers.PodPriority(victims[node].Pods[0])) },
		func(node string) int64 { return -prioritySum(victims[node]) },
		func(node string) int64 { return -int64(len(victims[node].Pods)) },
		func(node string) int64 { return earliestStart(victims[node], now).UnixNano() },
	}
}

// prioritySum adds the priorities, shifted so that none is negative and every further victim makes the sum larger.
func prioritySum(victims *extenderv1.Victims) int64 {
	const shift = math.MaxInt32 + 1
	var sum int64
	for _, pod := range victims.Pods {
		sum += int64(corev1helpers.PodPriority(pod)) + shift
	}
	return sum
}

// earliestStart is when the first of the victims with the highest priority was started.
func earliestStart(victims *extenderv1.Victims, now time.Time) time.Time {
	earliest := victims.Pods[0]
	for _, pod := range victims.Pods[1:] {
		if MoreImportantPod(pod, earliest, now) {
			earliest = pod
		}
	}
	return startOf(earliest.Status.StartTime, now)
}
