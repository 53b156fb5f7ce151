// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package interpodaffinity

import (
	"context"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugins/internal/statedata"
	"github.com/rouse-scheduler/rouse/plugins/internal/topology"
)

// rejections are what FilterBatch says of nodes.
type rejections struct{ affinity, antiAffinity, existing *fwk.Status }

func newRejections() rejections {
	return rejections{
		affinity:     fwk.NewStatus(fwk.UnschedulableAndUnresolvable, ReasonAffinity).WithPlugin(Name),
		antiAffinity: fwk.NewStatus(fwk.Unschedulable, ReasonAntiAffinity).WithPlugin(Name),
		existing:     fwk.NewStatus(fwk.Unschedulable, ReasonExistingAntiAffinity).WithPlugin(Name),
	}
}

// FilterBatch implements framework.BatchFilterPlugin.
func (pl *plugin) FilterBatch(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes framework.IndexedSnapshot, indexes []int, statuses []*fwk.Status) *fwk.Status {
	required, err := statedata.Read[*preFilterState](state, preFilterKey)
	if err != nil {
		return fwk.AsStatus(err)
	}
	if required.nodes != nodes || len(required.changes) > 0 {
		for i, index := range indexes {
			statuses[i] = pl.Filter(ctx, state, pod, nodes.NodeAt(index))
		}
		return nil
	}
	if required.affinity != nil {
		required.rejectWithoutAffinity(indexes, statuses, pl.rejections.affinity)
	}
	for _, m := range required.antiAffinity {
		rejectWherePositive(m.keys[0].domains, &m.keys[0].sums, indexes, statuses, pl.rejections.antiAffinity)
	}
	for _, t := range required.existing {
		rejectWherePositive(t.domains, &t.weights, indexes, statuses, pl.rejections.existing)
	}
	return nil
}

func (r *preFilterState) rejectWithoutAffinity(indexes []int, statuses []*fwk.Status, rejection *fwk.Status) {
	anywhere := r.first && r.noPodMatches()
	for i := range r.affinity.keys {
		k := &r.affinity.keys[i]
		domains := k.domains.ByNode()
		for j, index := range indexes {
			domain := domains[index]
			if domain == topology.None || !anywhere && k.sums.At(domain) <= 0 {
				statuses[j] = rejection
			}
		}
	}
}

// rejectWherePositive rejects the nodes in domains with a number above zero, if they are not rejected already.
func rejectWherePositive(of *topology.Domains, numbers *topology.Sparse[int64], indexes []int, statuses []*fwk.Status, rejection *fwk.Status) {
	domains := of.ByNode()
	for i, index := range indexes {
		if domain := domains[index]; domain != topology.None && numbers.At(domain) > 0 && statuses[i] == nil {
			statuses[i] = rejection
		}
	}
}
