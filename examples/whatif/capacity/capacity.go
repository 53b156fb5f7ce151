// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

// Package capacity answers how many more pods of a kind a cluster takes, and what is in the way of the next.
package capacity

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/rouse-scheduler/rouse/whatif"
)

// batch is how many pods are placed by one call.
const batch = 100

// Room is how much room there is for pods of a kind.
type Room struct {
	// Pods is how many there is room for, at most the limit.
	Pods int
	// OnNode is how many of them each node gets.
	OnNode map[string]int
	// Reason says why there is no room for one more; nil if the limit was reached.
	Reason error
}

// Find places copies of a pod until there is no room for another, at most so many. The cluster does not change.
func Find(ctx context.Context, cluster *whatif.Cluster, pod *v1.Pod, limit int) (*Room, error) {
	fork, room := cluster.Fork(), &Room{OnNode: map[string]int{}}
	for room.Pods < limit {
		copies := make([]*v1.Pod, min(batch, limit-room.Pods))
		for i := range copies {
			copies[i] = pod.DeepCopy()
			copies[i].Name, copies[i].UID = fmt.Sprintf("%s-%d", pod.Name, room.Pods+i), "" // another pod
		}
		placements, err := fork.Place(ctx, copies...)
		if err != nil {
			return nil, err
		}
		for _, placement := range placements {
			if placement.Node == "" {
				room.Reason = placement.Reason
				return room, nil
			}
			room.Pods++
			room.OnNode[placement.Node]++
		}
	}
	return room, nil
}
