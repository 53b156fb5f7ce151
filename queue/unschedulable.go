// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"cmp"
	"slices"
)

// unschedulablePods are the pods that wait for an event, gated ones included. Queue.mu guards them.
type unschedulablePods struct {
	longest waitingList
	index   requeueIndex
	gated   int
}

func (u *unschedulablePods) len() int { return u.longest.length }

// add adds a pod. Like the other methods it must be called while the pool of the pod is still the one that it comes
// from, and after the gates were asked.
func (u *unschedulablePods) add(pod *queuedPod) {
	u.longest.add(pod)
	u.enter(pod)
}

func (u *unschedulablePods) remove(pod *queuedPod) {
	u.longest.remove(pod)
	u.leave(pod)
}

// renew gives a pod that goes on waiting the place in the index that its rejectors and its gate now call for.
func (u *unschedulablePods) renew(pod *queuedPod) {
	u.leave(pod)
	u.enter(pod)
}

func (u *unschedulablePods) enter(pod *queuedPod) {
	u.index.add(pod)
	if pod.Gated() {
		u.gated++
	}
}

func (u *unschedulablePods) leave(pod *queuedPod) {
	u.index.remove(pod)
	if pod.pool == PoolGated {
		u.gated--
	}
}

// inOrder brings pods with a wake field into the order in which they came into their pool. If they are many among those
// that wait they are collected from there, where they are nearly in that order.
func (u *unschedulablePods) inOrder(pods []*queuedPod) []*queuedPod {
	if len(pods) > u.len()/8 {
		pods = pods[:0]
		for pod := range u.longest.all {
			if pod.wake.strategy != Skip {
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
