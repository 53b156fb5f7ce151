// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package preemption is how a queueing system finds the workloads that have to make room for another: as few as possible, within
// what each queue may lose, with the whole scheduler deciding whether the room is enough.
package preemption

import (
	"context"

	v1 "k8s.io/api/core/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/rouse-scheduler/rouse/whatif"
)

// Workload is what is admitted and evicted as a whole.
type Workload struct {
	Name string
	// Queue is whose budget counts.
	Queue string
	Pods  []*v1.Pod
}

// Find returns which of the candidates, the least important first, have to go for all of the pods to find a node. From each queue
// go at most as many as its budget says. It returns false if even that is not enough. The cluster does not change.
func Find(ctx context.Context, cluster *whatif.Cluster, pods []*v1.Pod, candidates []Workload, budgets map[string]int) (victims []Workload, enough bool, err error) {
	fork, used := cluster.Fork(), map[string]int{}
	if enough, err = fit(ctx, fork, pods); enough || err != nil {
		return nil, enough, err
	}
	for _, candidate := range candidates {
		if used[candidate.Queue] >= budgets[candidate.Queue] {
			continue
		}
		used[candidate.Queue]++
		victims = append(victims, candidate)
		fork = fork.Fork() // each step in a fork of the one before, so that it could be taken back
		if err := fork.Remove(objectsOf(candidate)...); err != nil {
			return nil, false, err
		}
		if enough, err = fit(ctx, fork, pods); enough || err != nil {
			break
		}
	}
	if !enough || err != nil {
		return nil, false, err
	}
	return restore(ctx, fork, pods, victims)
}

// restore brings back every victim that is not needed, the most important first.
func restore(ctx context.Context, fork *whatif.Cluster, pods []*v1.Pod, victims []Workload) ([]Workload, bool, error) {
	var needed []Workload
	for i := len(victims) - 1; i >= 0; i-- {
		back := fork.Fork()
		if err := back.Add(objectsOf(victims[i])...); err != nil {
			return nil, false, err
		}
		enough, err := fit(ctx, back, pods)
		switch {
		case err != nil:
			return nil, false, err
		case enough:
			fork = back
		default:
			needed = append(needed, victims[i])
		}
	}
	return needed, true, nil
}

// fit reports whether all pods find a node, one after the other.
func fit(ctx context.Context, cluster *whatif.Cluster, pods []*v1.Pod) (bool, error) {
	placements, err := cluster.Fork().Place(ctx, pods...)
	for _, placement := range placements {
		if placement.Node == "" {
			return false, err
		}
	}
	return err == nil, err
}

func objectsOf(workload Workload) []apiruntime.Object {
	objects := make([]apiruntime.Object, len(workload.Pods))
	for i, pod := range workload.Pods {
		objects[i] = pod
	}
	return objects
}
