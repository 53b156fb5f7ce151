// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"fmt"

	fwk "k8s.io/kube-scheduler/framework"
)

// parallelFrom is the number of nodes from which on it pays to ask about them in parallel.
const parallelFrom = 512

// each calls the work of one plugin for parts of a list of nodes, in parallel if it is long, and returns the first
// failure.
func (s *cachedSearch) each(plugin *identity, method Method, nodeIndexes []int, work func(ctx context.Context, from, to int) *fwk.Status) (status *fwk.Status) {
	count := len(nodeIndexes)
	calls := s.f.startCalls(s.ctx, method, s.state, s.pod)
	defer calls.end(&status)
	if err := context.Cause(s.ctx); err != nil {
		return fwk.AsStatus(fmt.Errorf("asking %s about %d nodes: %w", plugin.name, count, err))
	}
	if s.f.checksObjects(plugin) {
		calls.checked = s.checkedObjects(nodeIndexes)
	}
	ctx := calls.enter(s.ctx, plugin)
	if count < parallelFrom || s.f.parallelizer.parallelism == 1 {
		status = work(ctx, 0, count)
	} else {
		status = s.inParallel(ctx, method, count, work)
	}
	calls.leave(status)
	if !status.IsSuccess() {
		return failed(fmt.Sprintf("running %s of plugin %q", method, plugin.name), plugin.name, status)
	}
	return nil
}

func (s *cachedSearch) inParallel(ctx context.Context, method Method, count int, work func(ctx context.Context, from, to int) *fwk.Status) *fwk.Status {
	const part = parallelFrom
	failures := make([]*fwk.Status, (count+part-1)/part)
	s.f.cache.workers.Until(ctx, len(failures), func(i int) {
		failures[i] = work(ctx, i*part, min(count, (i+1)*part))
	}, string(method))
	for _, failure := range failures {
		if !failure.IsSuccess() {
			return failure
		}
	}
	if err := context.Cause(ctx); err != nil {
		return fwk.AsStatus(err)
	}
	return nil
}
