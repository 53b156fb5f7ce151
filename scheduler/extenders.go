// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"fmt"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/runtime"
)

// hasExtender reports whether any extender has a property.
func (s *Scheduler) hasExtender(property func(fwk.Extender) bool) bool {
	for _, extender := range s.options.Extenders {
		if property(extender) {
			return true
		}
	}
	return false
}

// within returns the extender with calls that end with the context, if it can do that.
func within(ctx context.Context, extender fwk.Extender) fwk.Extender {
	if e, ok := extender.(interface {
		WithContext(ctx context.Context) fwk.Extender
	}); ok {
		return e.WithContext(ctx)
	}
	return extender
}

// filterThroughExtenders lets the extenders, one after the other, remove nodes (kube-scheduler:
// findNodesThatPassExtenders). The status is an error or nil.
func (s *Scheduler) filterThroughExtenders(ctx context.Context, search *nodeSearch, feasible []fwk.NodeInfo) ([]fwk.NodeInfo, *fwk.Status) {
	before := len(feasible)
	for _, extender := range s.options.Extenders {
		if len(feasible) == 0 {
			break
		}
		if !extender.IsInterested(search.pod) {
			continue
		}
		remaining, failedNodes, unresolvable, err := within(ctx, extender).Filter(search.pod, feasible)
		if err != nil {
			if extender.IsIgnorable() && ctx.Err() == nil {
				s.options.Logger.Info("Skipping an extender that returned an error", "extender", extender.Name(), "err", err)
				continue
			}
			return nil, fwk.AsStatus(fmt.Errorf("asking extender %s: %w", extender.Name(), err))
		}
		for name, reason := range failedNodes {
			search.diagnosis.NodeToStatus.Set(name, fwk.NewStatus(fwk.Unschedulable, reason))
		}
		for name, reason := range unresolvable {
			search.diagnosis.NodeToStatus.Set(name, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, reason))
		}
		feasible = remaining
	}
	if len(feasible) < before {
		if search.diagnosis.UnschedulablePlugins == nil {
			search.diagnosis.UnschedulablePlugins = sets.New[string]()
		}
		search.diagnosis.UnschedulablePlugins.Insert(runtime.ExtenderName)
	}
	return feasible, nil
}

// addExtenderScores adds the scores of the extenders, which are asked all at the same time, to those of the plugins,
// stretched to the same range. Extenders that fail are left out.
func (s *Scheduler) addExtenderScores(ctx context.Context, search *nodeSearch, nodes []fwk.NodeInfo, totals []int64) {
	answers := make([]map[string]int64, len(s.options.Extenders)) // by node
	var asking sync.WaitGroup
	for i, extender := range s.options.Extenders {
		if extender.IsPrioritizer() && extender.IsInterested(search.pod) {
			asking.Go(func() { answers[i] = s.extenderScores(ctx, extender, search.pod, nodes) })
		}
	}
	asking.Wait()
	for _, scores := range answers {
		for i, node := range nodes {
			totals[i] += scores[node.Node().Name]
		}
	}
}

// extenderScores returns what an extender adds to the scores of nodes, by their names; nil if it fails.
func (s *Scheduler) extenderScores(ctx context.Context, extender fwk.Extender, pod *v1.Pod, nodes []fwk.NodeInfo) map[string]int64 {
	if s.options.Observers.Metrics != nil {
		s.options.Observers.Metrics.Goroutines("prioritizing_extender", 1)
		defer s.options.Observers.Metrics.Goroutines("prioritizing_extender", -1)
	}
	list, weight, err := within(ctx, extender).Prioritize(pod, nodes)
	if err != nil || list == nil {
		s.options.Logger.V(5).Info("Leaving out the scores of an extender", "extender", extender.Name(), "pod", klog.KObj(pod), "err", err)
		return nil
	}
	scores := make(map[string]int64, len(*list))
	for _, score := range *list {
		scores[score.Host] = score.Score * weight * (fwk.MaxScore / extenderv1.MaxExtenderPriority)
	}
	return scores
}

// binders returns the extenders that are to bind the pod in place of the Bind plugins, in order.
func (s *Scheduler) binders(a *attempt) []fwk.Extender {
	var binders []fwk.Extender
	for _, extender := range s.options.Extenders {
		if extender.IsBinder() && extender.IsInterested(a.pod) {
			binders = append(binders, extender)
		}
	}
	return binders
}
