// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/rouse-scheduler/rouse/framework"
)

// Pool says where a pod is, as seen from the queue. The values serve as labels of metrics.
type Pool string

const (
	// PoolNone is where pods are that the queue does not know.
	PoolNone Pool = ""
	// PoolActive holds the pods that are to be tried now.
	PoolActive Pool = "active"
	// PoolBackoff holds the pods that are to be tried when they waited long enough since their last attempt.
	PoolBackoff Pool = "backoff"
	// PoolUnschedulable holds the pods that wait for an event.
	PoolUnschedulable Pool = "unschedulable"
	// PoolGated holds the pods that a PreEnqueue plugin does not let in; they too wait for an event.
	PoolGated Pool = "gated"
	// PoolInFlight stands for the pods that were popped and are neither given back nor done.
	PoolInFlight Pool = "inFlight"
)

// waits reports whether the pods of the pool wait for an event.
func (p Pool) waits() bool { return p == PoolUnschedulable || p == PoolGated }

// queuedPod is a pod in the queue: its public record and what the queue keeps in addition to it.
//
// Queue.mu guards a pod that waits for an event. A pod in the active or backoff pool can be popped at any moment, so
// that Queue.readyMu guards it, and changes of pool need both.
type queuedPod struct {
	*framework.QueuedPodInfo
	pool Pool
	// since is when the pod came into its pool.
	since time.Time
	// order counts the pods that came into any pool. It breaks ties in the heaps, first in first out, and is the order
	// in which pods are woken that wake together. A pod that a PreEnqueue plugin gates again keeps its place.
	order uint64
	// heapIndex is the position in the heap that holds the pod; negative if none does.
	heapIndex int
	// previous and next are the neighbours in the list of waiting pods.
	previous, next *queuedPod
	// memberships are the places of the pod in the requeue index, while it waits for an event. Usually it is one, which
	// needs no memory of its own.
	memberships []membership
	membership  [1]membership
	// poppedEarly is set if the pod was popped before its backoff ended, and since then no backoff of it has ended and
	// nothing in the cluster has woken it.
	poppedEarly bool
	// preEnqueue are the PreEnqueue plugins of its profile.
	preEnqueue *preEnqueuePlugins
	// decision is what becomes of the pod because of the event at hand; zero between events.
	decision decision
}

// podKey is what identifies a pod in the queue. A pod in flight goes by its UID, since it outlives its name.
func podKey(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

func (p *queuedPod) key() types.NamespacedName { return podKey(p.Pod.Namespace, p.Pod.Name) }

func (p *queuedPod) profile() string { return p.Pod.Spec.SchedulerName }

func (p *queuedPod) rejected() bool {
	return len(p.UnschedulablePlugins) > 0 || len(p.PendingPlugins) > 0
}

func (p *queuedPod) rejectedBy(plugin string) bool {
	return p.UnschedulablePlugins.Has(plugin) || p.PendingPlugins.Has(plugin)
}

// waitingSince is when the unschedulable timeout of the pod began.
func (p *queuedPod) waitingSince() time.Time {
	if p.FlushTimestamp.After(p.Timestamp) {
		return p.FlushTimestamp
	}
	return p.Timestamp
}
