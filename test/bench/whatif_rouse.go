// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/rouse-scheduler/rouse/whatif"
)

// rouseAsker asks package whatif, which looks at all nodes, and places pods where the scheduler would: on the best node.
type rouseAsker struct{ cluster *whatif.Cluster }

func newRouseAsker(ctx context.Context, objects []apiruntime.Object) (asker, error) {
	cluster, err := whatif.New(ctx, whatif.Options{Objects: objects})
	return &rouseAsker{cluster}, err
}

func (r *rouseAsker) fork() asker { return &rouseAsker{r.cluster.Fork()} }

func (r *rouseAsker) add(objects ...apiruntime.Object) error { return r.cluster.Add(objects...) }

func (r *rouseAsker) remove(pod *v1.Pod) error { return r.cluster.Remove(pod) }

func (r *rouseAsker) fits(ctx context.Context, pod *v1.Pod) (bool, error) {
	fit, err := r.cluster.Fits(ctx, pod)
	return err == nil && fit.Reason == nil, err
}

func (r *rouseAsker) place(ctx context.Context, pods []*v1.Pod) (int, error) {
	placements, err := r.cluster.Place(ctx, pods...)
	return placed(placements), err
}

func (r *rouseAsker) drain(ctx context.Context, node string) (int, error) {
	placements, err := r.cluster.Drain(ctx, node)
	return placed(placements), err
}

func placed(placements []whatif.Placement) (count int) {
	for _, placement := range placements {
		if placement.Node != "" {
			count++
		}
	}
	return count
}

func (r *rouseAsker) close() { _ = r.cluster.Close() }
