// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package volumebinding

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/statedata"
)

// PreFilter implements fwk.PreFilterPlugin. It skips pods without claims.
func (pl *plugin) PreFilter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo) (*fwk.PreFilterResult, *fwk.Status) {
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
	delayed, err := pl.prepareDelayed(claims.delayed)
	if err != nil {
		return nil, fwk.AsStatus(err)
	}
	state.Write(stateKey, &podState{bound: pl.prepareBound(klog.FromContext(ctx), claims.bound), delayed: delayed})
	return nil, nil
}

// PreFilterExtensions implements fwk.PreFilterPlugin. There are none: other pods don't matter.
func (pl *plugin) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

// Filter implements fwk.FilterPlugin.
func (pl *plugin) Filter(_ context.Context, state fwk.CycleState, _ *v1.Pod, nodeInfo fwk.NodeInfo) *fwk.Status {
	ofPod, err := statedata.Read[*podState](state, stateKey)
	if err != nil {
		return fwk.AsStatus(err)
	}
	status := pl.filter(ofPod, nodeInfo.Node())
	if status != nil {
		status = status.Clone() // kube-scheduler writes the name of the plugin into it
	}
	return status
}

// FilterBatch implements framework.BatchFilterPlugin.
func (pl *plugin) FilterBatch(_ context.Context, state fwk.CycleState, _ *v1.Pod, nodes framework.IndexedSnapshot, indexes []int, statuses []*fwk.Status) *fwk.Status {
	ofPod, err := statedata.Read[*podState](state, stateKey)
	if err != nil {
		return fwk.AsStatus(err)
	}
	for i, nodeIndex := range indexes {
		statuses[i] = pl.filter(ofPod, nodes.NodeAt(nodeIndex).Node())
	}
	return nil
}

func (pl *plugin) filter(ofPod *podState, node *v1.Node) *fwk.Status {
	boundReason, err := pl.checkBound(ofPod.bound, node)
	if err != nil {
		pl.metrics.StageFailed(stageFilter)
		return fwk.AsStatus(err)
	}
	var room [usualClaims]binding
	var more [usualClaims]provision
	p := plan{bindings: room[:0], provisions: more[:0]}
	delayedReason, err := planDelayed(ofPod.delayed, node, &p)
	if err != nil {
		pl.metrics.StageFailed(stageFilter)
		return fwk.AsStatus(err)
	}
	if boundReason == "" && delayedReason == "" {
		return nil
	}
	return pl.rejections[rejection{boundReason, delayedReason}]
}

// usualClaims is how many claims a pod usually has at most; more cost an allocation for every node.
const usualClaims = 4

// rejection is why a node is rejected: for bound claims and for delayed ones. A reason that is empty is none.
type rejection struct{ bound, delayed string }

// rejections returns the statuses of all rejections, which nodes and pods share.
func rejections() map[rejection]*fwk.Status {
	statuses := map[rejection]*fwk.Status{}
	for _, bound := range []string{"", reasonNodeConflict, reasonVolumeGone} {
		for _, delayed := range []string{"", reasonNoVolume, reasonNoCapacity} {
			if reasons := inOrder(bound, delayed); len(reasons) > 0 {
				statuses[rejection{bound, delayed}] = fwk.NewStatus(fwk.UnschedulableAndUnresolvable, reasons...)
			}
		}
	}
	return statuses
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
