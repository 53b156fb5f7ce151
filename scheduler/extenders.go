// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/runtime"
)

// hasExtender tells whether any extender has a property.
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

// askExtenders lets the extenders, one after the other, remove nodes. The status is an error or nil.
func (s *Scheduler) askExtenders(search *search, feasible []fwk.NodeInfo) ([]fwk.NodeInfo, *fwk.Status) {
	before := len(feasible)
	for _, extender := range s.options.Extenders {
		if len(feasible) == 0 {
			break
		}
		if !extender.IsInterested(search.pod) {
			continue
		}
		remaining, failedNodes, unresolvable, err := extender.Filter(search.pod, feasible)
		if err != nil {
			if extender.IsIgnorable() {
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

// addExtenderScores adds the scores of the extenders to those of the plugins, stretched to the same range. Extenders
// that fail are left out.
func (s *Scheduler) addExtenderScores(search *search, nodes []fwk.NodeInfo, totals []int64) {
	for _, extender := range s.options.Extenders {
		if !extender.IsPrioritizer() || !extender.IsInterested(search.pod) {
			continue
		}
		list, weight, err := extender.Prioritize(search.pod, nodes)
		if err != nil || list == nil {
			s.options.Logger.V(5).Info("Leaving out the scores of an extender", "extender", extender.Name(),
				"pod", klog.KObj(search.pod), "err", err)
			continue
		}
		byName := make(map[string]int64, len(*list))
		for _, score := range *list {
			byName[score.Host] = score.Score * weight * (fwk.MaxScore / extenderv1.MaxExtenderPriority)
		}
		for i, node := range nodes {
			totals[i] += byName[node.Node().Name]
		}
	}
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
