// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/scheduler"
)

// failedAttempt is what is kept of a failed attempt; its size does not depend on the number of nodes.
type failedAttempt struct {
	at         time.Time
	rejections []Rejection
	postFilter string
}

// newFailedAttempt sums up a failure.
func newFailedAttempt(failure scheduler.Failure, at time.Time) *failedAttempt {
	failed := &failedAttempt{at: at}
	if failure.Diagnosis != nil {
		failed.rejections, failed.postFilter = rejectionsOf(failure), failure.Diagnosis.PostFilterMsg
		if failed.postFilter == fwk.ErrNotFound.Error() {
			failed.postFilter = "" // a plugin was not asked in PreFilter, after another one rejected the pod, and cannot say anything
		}
	}
	return failed
}

// rejectionsOf counts the verdicts of an attempt.
func rejectionsOf(failure scheduler.Failure) []Rejection {
	nodes := 0
	var fit *framework.FitError
	if errors.As(failure.Status.AsError(), &fit) {
		nodes = fit.NumAllNodes
	}
	return NewRejections(failure.Diagnosis, nodes)
}

// NewRejections counts the verdicts about a pod on so many nodes by plugin and reason, the plugin that rejected it most often first.
func NewRejections(diagnosis *framework.Diagnosis, nodes int) []Rejection {
	counts := rejectionCounts{nodes: map[string]int{}, reasons: map[string]map[string]int{}}
	statuses, counted := diagnosis.NodeToStatus, 0
	statuses.ForEachStatus(func(status *fwk.Status, nodes int) {
		counts.add(status.Plugin(), framework.ReasonsOf(status), nodes)
		counted += nodes
	})
	rejectors := diagnosis.UnschedulablePlugins.Union(diagnosis.PendingPlugins)
	if absent := statuses.AbsentNodesStatus(); absent != nil && nodes > counted {
		counts.add(counts.narrowedBy(absent, rejectors), framework.ReasonsOf(absent), nodes-counted)
	}
	for plugin := range rejectors {
		counts.add(plugin, nil, 0)
	}
	delete(counts.nodes, "")
	rejections := make([]Rejection, 0, len(counts.nodes))
	for plugin, nodes := range counts.nodes {
		rejection := Rejection{Plugin: plugin, Nodes: nodes, Reasons: []ReasonCount{}}
		for _, reason := range slices.Sorted(maps.Keys(counts.reasons[plugin])) {
			rejection.Reasons = append(rejection.Reasons, ReasonCount{reason, counts.reasons[plugin][reason]})
		}
		rejections = append(rejections, rejection)
	}
	slices.SortFunc(rejections, func(a, b Rejection) int {
		return cmp.Or(cmp.Compare(b.Nodes, a.Nodes), strings.Compare(a.Plugin, b.Plugin))
	})
	return rejections
}

// rejectionCounts are how many nodes each plugin rejected, and why.
type rejectionCounts struct {
	nodes   map[string]int
	reasons map[string]map[string]int
}

func (c *rejectionCounts) add(plugin string, reasons []string, nodes int) {
	c.nodes[plugin] += nodes
	for _, reason := range reasons {
		if c.reasons[plugin] == nil {
			c.reasons[plugin] = map[string]int{}
		}
		c.reasons[plugin][reason] += nodes
	}
}

// narrowedBy returns the plugin that rejected the nodes for which no Filter plugin was called: the one of the status, or a
// rejector without a verdict, which must have left them out at PreFilter.
func (c *rejectionCounts) narrowedBy(status *fwk.Status, rejectors sets.Set[string]) string {
	if status.Plugin() != "" {
		return status.Plugin()
	}
	for _, plugin := range sets.List(rejectors) {
		if _, counted := c.nodes[plugin]; !counted {
			return plugin
		}
	}
	return ""
}
