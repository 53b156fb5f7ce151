// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"cmp"
	"slices"
)

// unschedulablePods are the pods that wait for an event, gated ones included. Queue.mu guards them.
type unschedulablePods struct {
	byAge waitingList
	index requeueIndex
	gated int
}

func (u *unschedulablePods) len() int { return u.byAge.length }

// add adds a pod. Like the other methods it must be called while the pool of the pod is still the one that it comes
// from, and after its PreEnqueue plugins were run.
func (u *unschedulablePods) add(pod *queuedPod) {
	u.byAge.add(pod)
	u.addToIndex(pod)
}

func (u *unschedulablePods) remove(pod *queuedPod) {
	u.byAge.remove(pod)
	u.removeFromIndex(pod)
}

// reindex gives a pod that goes on waiting the place in the index that its rejectors and its gating plugin now call for.
func (u *unschedulablePods) reindex(pod *queuedPod) {
	u.removeFromIndex(pod)
	u.addToIndex(pod)
}

func (u *unschedulablePods) addToIndex(pod *queuedPod) {
	u.index.add(pod)
	if pod.Gated() {
		u.gated++
	}
}

func (u *unschedulablePods) removeFromIndex(pod *queuedPod) {
	u.index.remove(pod)
	if pod.pool == PoolGated {
		u.gated--
	}
}

// inOrder brings pods with a decision into the order in which they came into their pool. If they are many among those
// that wait they are collected from there, where they are nearly in that order.
func (u *unschedulablePods) inOrder(pods []*queuedPod) []*queuedPod {
	if len(pods) > u.len()/8 {
		pods = pods[:0]
		for pod := range u.byAge.all {
			if pod.decision.strategy != Skip {
				pods = append(pods, pod)
			}
		}
	}
	earlier := func(a, b *queuedPod) int { return cmp.Compare(a.order, b.order) }
	if !slices.IsSortedFunc(pods, earlier) {
		slices.SortFunc(pods, earlier)
	}
	return pods
}
