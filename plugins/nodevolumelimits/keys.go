// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package nodevolumelimits

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/statedata"
)

var (
	_ framework.ChangedNodesPlugin = &plugin{}
	_ framework.BatchFilterPlugin  = &plugin{}
)

// AppendChangedNodes implements framework.ChangedNodesPlugin.
func (pl *plugin) AppendChangedNodes(indexes []int, nodes framework.IndexedSnapshot) []int {
	if pl.table == nil {
		return indexes
	}
	return pl.table.update(nodes, indexes)
}

// AppendFilterKey implements framework.FilterKeyPlugin: how many disks are wanted of each driver. Which ones does not matter as
// long as no pod on a node has them, so that pods with claims of their own share a key. Nothing is known of what else changes
// without a manager that tells.
func (pl *plugin) AppendFilterKey(key []byte, state fwk.CycleState, _ *v1.Pod) ([]byte, bool) {
	ofPod, err := statedata.Read[*podRequest](state, preFilterKey)
	if err != nil || pl.table == nil {
		return key, false
	}
	for _, r := range []*request{&ofPod.withCSINode, &ofPod.withoutCSINode} {
		if r.failure != nil {
			return key, false
		}
		key = framework.AppendKeyInt(key, int64(len(r.drivers)))
		for i := range r.drivers {
			if r.drivers[i].missing.IsError() {
				return key, false
			}
			key = framework.AppendKeyString(key, r.drivers[i].name)
			key = framework.AppendKeyInt(key, int64(r.drivers[i].disks))
			key = framework.AppendKeyInt(key, int64(r.drivers[i].missing.Code()))
		}
		for _, d := range r.disks {
			if pl.table.isShared(d) {
				key = framework.AppendKeyString(key, d.driver)
				key = framework.AppendKeyString(key, d.handle)
				key = framework.AppendKeyString(key, d.claim)
			}
		}
		key = append(key, 0)
	}
	return key, true
}

// FilterBatch implements framework.BatchFilterPlugin.
func (pl *plugin) FilterBatch(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes framework.IndexedSnapshot, indexes []int, statuses []*fwk.Status) *fwk.Status {
	if !pl.table.isOf(nodes) {
		for i, nodeIndex := range indexes {
			statuses[i] = pl.Filter(ctx, state, pod, nodes.NodeAt(nodeIndex))
		}
		return nil
	}
	ofPod, err := statedata.Read[*podRequest](state, preFilterKey)
	if err != nil {
		ofPod = pl.requestOf(klog.FromContext(ctx), pod)
	}
	shared := slices.ContainsFunc(ofPod.withCSINode.disks, pl.table.isShared) // other nodes have no limits
	tooMany := fwk.NewStatus(fwk.Unschedulable, reasonTooManyVolumes)
	for i, nodeIndex := range indexes {
		statuses[i] = pl.table.verdict(nodeIndex, ofPod, shared, tooMany)
	}
	return nil
}
