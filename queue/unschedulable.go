// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

// unschedulablePods are the pods that wait for an event, gated ones included. Queue.mu guards them.
type unschedulablePods struct {
	// longest has the pod first that waits longest.
	longest podHeap
	index   requeueIndex
	gated   int
}

func newUnschedulablePods(index requeueIndex) unschedulablePods {
	return unschedulablePods{longest: newPodHeap(longestWaiting), index: index}
}

func longestWaiting(a, b *queuedPod) bool {
	since, other := a.waitingSince(), b.waitingSince()
	if since.Equal(other) {
		return a.order < b.order
	}
	return since.Before(other)
}

func (u *unschedulablePods) len() int { return u.longest.len() }

// all returns the pods in no particular order, for as long as none comes or goes.
func (u *unschedulablePods) all() []*queuedPod { return u.longest.order.pods }

func (u *unschedulablePods) add(pod *queuedPod) {
	u.longest.push(pod)
	u.index.add(pod)
	if pod.Gated() {
		u.gated++
	}
}

func (u *unschedulablePods) remove(pod *queuedPod) {
	u.longest.remove(pod)
	u.index.remove(pod)
	if pod.pool == PoolGated {
		u.gated--
	}
}
