// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// Feasible appends the node indexes of all nodes that take a pod for which PreFilter has run, in ascending order, and returns
// why the others don't if none does. It decides as [Framework.Search] does, and shares what is known from cycles before.
//
// The status is nil or an Error. See [Framework.Search] for concurrency.
func (f *Framework) Feasible(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodeIndexes []int) ([]int, *framework.NodeToStatus, *fwk.Status) {
	var rejections *framework.NodeToStatus
	status := f.withSearch(ctx, state, pod, func(s *cachedSearch) *fwk.Status {
		if failure := s.askAll(); failure != nil {
			return failure
		}
		if s.feasible() == 0 || s.mayFail() {
			if failure := s.explain(); failure != nil {
				return failure
			}
		}
		if s.feasible() == 0 {
			rejections = s.rejections()
			return nil
		}
		nodeIndexes = append(nodeIndexes, s.feasibleIndexes()...)
		return nil
	})
	return nodeIndexes, rejections, status
}
