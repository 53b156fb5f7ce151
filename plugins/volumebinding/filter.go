// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumebinding

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugins/internal/statedata"
)

// PreFilter implements fwk.PreFilterPlugin. It skips pods without claims.
func (pl *plugin) PreFilter(_ context.Context, state fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
	found, err := pl.hasClaims(pod)
	if err != nil {
		return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, err.Error())
	}
	if !found {
		state.Write(stateKey, &podState{})
		return nil, fwk.NewStatus(fwk.Skip)
	}
	claims, err := pl.sortClaims(pod)
	if err != nil {
		return nil, fwk.AsStatus(err)
	}
	if len(claims.immediate) > 0 {
		return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, reasonUnboundImmediate)
	}
	delayed, err := pl.prepare(claims.delayed)
	if err != nil {
		return nil, fwk.AsStatus(err)
	}
	state.Write(stateKey, &podState{bound: claims.bound, delayed: delayed})
	return nil, nil
}

// PreFilterExtensions implements fwk.PreFilterPlugin. There are none: other pods don't matter.
func (pl *plugin) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

// Filter implements fwk.FilterPlugin. It keeps the plan for a node that passes.
func (pl *plugin) Filter(ctx context.Context, state fwk.CycleState, _ *v1.Pod, nodeInfo fwk.NodeInfo) *fwk.Status {
	ofPod, err := statedata.Read[*podState](state, stateKey)
	if err != nil {
		return fwk.AsStatus(err)
	}
	node := nodeInfo.Node()
	boundReason, err := pl.checkBound(klog.FromContext(ctx), ofPod.bound, node)
	if err != nil {
		pl.metrics.StageFailed(stageFilter)
		return fwk.AsStatus(err)
	}
	plan, delayedReason, err := planDelayed(ofPod.delayed, node)
	if err != nil {
		pl.metrics.StageFailed(stageFilter)
		return fwk.AsStatus(err)
	}
	if reasons := inOrder(boundReason, delayedReason); len(reasons) > 0 {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, reasons...)
	}
	ofPod.setPlan(node.Name, plan)
	return nil
}

// inOrder returns the reasons that there are: what is wrong with bound claims first, unless their volume is gone.
func inOrder(bound, delayed string) []string {
	reasons := []string{bound, delayed}
	if bound == reasonVolumeGone {
		reasons = []string{delayed, bound}
	}
	var found []string
	for _, reason := range reasons {
		if reason != "" {
			found = append(found, reason)
		}
	}
	return found
}
