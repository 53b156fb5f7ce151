// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	fwk "k8s.io/kube-scheduler/framework"
)

var _ fwk.QueuedEntityInfo = &QueuedPodInfo{}

// QueuedPodInfo is a pod that waits to be scheduled, with its history. The queue owns it while the pod is queued, and
// whoever popped it until it is given back; it is not safe for concurrent use.
type QueuedPodInfo struct {
	*PodInfo
	// Timestamp is when the pod was added, or came back from its last attempt. Backoff counts from it and equal
	// priorities are ordered by it; moves between pools leave it alone.
	Timestamp time.Time
	// Attempts is how many times the pod was popped.
	Attempts int
	// BackoffExpiration is when the pod may be tried again; zero until it is worked out.
	BackoffExpiration time.Time
	// UnschedulableCount is how many attempts ended with a rejection by a plugin.
	UnschedulableCount int
	// ConsecutiveErrorsCount is how many attempts in a row ended without one.
	ConsecutiveErrorsCount int
	// InitialAttemptTimestamp is when the pod was first ready to be tried, gates passed; nil before.
	InitialAttemptTimestamp *time.Time
	// UnschedulablePlugins are the plugins that rejected the pod in its last attempt, or gate it.
	UnschedulablePlugins sets.Set[string]
	// PendingPlugins are those whose rejection skips the backoff once they ask for the pod again.
	PendingPlugins sets.Set[string]
	// GatingPlugin is the PreEnqueue plugin that keeps the pod from being tried; empty if none does.
	GatingPlugin string
	// GatingPluginEvents are the events that GatingPlugin registered.
	GatingPluginEvents []fwk.ClusterEvent
	// WasFlushedFromUnschedulable tells that the pod is queued because it waited too long, not because of an event.
	WasFlushedFromUnschedulable bool
	// FlushTimestamp is when that last happened; zero if never since the last attempt.
	FlushTimestamp time.Time
}

// NewQueuedPodInfo returns a pod that is new to the queue. Affinity terms that do not parse are left out.
func NewQueuedPodInfo(pod *v1.Pod, now time.Time) *QueuedPodInfo {
	info, _ := NewPodInfo(pod)
	return &QueuedPodInfo{
		PodInfo:              info,
		Timestamp:            now,
		UnschedulablePlugins: sets.New[string](),
		PendingPlugins:       sets.New[string](),
	}
}

// Gated reports whether a PreEnqueue plugin keeps the pod from being tried.
func (q *QueuedPodInfo) Gated() bool { return q.GatingPlugin != "" }

// RejectorPlugins returns a new set of all plugins that rejected the pod.
func (q *QueuedPodInfo) RejectorPlugins() sets.Set[string] {
	return q.UnschedulablePlugins.Union(q.PendingPlugins)
}

// PodOf returns the pod behind an entity of the scheduling queue, for queue sort plugins that compare more than
// priorities and times; nil if the entity is not a pod.
func PodOf(entity fwk.QueuedEntityInfo) *v1.Pod {
	if queued, ok := entity.(interface{ GetPodInfo() fwk.PodInfo }); ok {
		return queued.GetPodInfo().GetPod()
	}
	return nil
}

// GetPodInfo returns the pod; see [PodOf].
func (q *QueuedPodInfo) GetPodInfo() fwk.PodInfo { return q.PodInfo }

// Type implements fwk.QueuedEntityInfo.
func (q *QueuedPodInfo) Type() fwk.EntityKeyType { return fwk.PodKeyType }

// GetPriority implements fwk.QueuedEntityInfo.
func (q *QueuedPodInfo) GetPriority() int32 { return corev1helpers.PodPriority(q.Pod) }

// GetTimestamp implements fwk.QueuedEntityInfo.
func (q *QueuedPodInfo) GetTimestamp() time.Time { return q.Timestamp }

// GetAttempts implements fwk.QueuedEntityInfo.
func (q *QueuedPodInfo) GetAttempts() int { return q.Attempts }

// GetBackoffExpiration implements fwk.QueuedEntityInfo.
func (q *QueuedPodInfo) GetBackoffExpiration() time.Time { return q.BackoffExpiration }

// GetUnschedulableCount implements fwk.QueuedEntityInfo.
func (q *QueuedPodInfo) GetUnschedulableCount() int { return q.UnschedulableCount }

// GetConsecutiveErrorsCount implements fwk.QueuedEntityInfo.
func (q *QueuedPodInfo) GetConsecutiveErrorsCount() int { return q.ConsecutiveErrorsCount }

// GetInitialAttemptTimestamp implements fwk.QueuedEntityInfo.
func (q *QueuedPodInfo) GetInitialAttemptTimestamp() *time.Time { return q.InitialAttemptTimestamp }

// GetUnschedulablePlugins implements fwk.QueuedEntityInfo.
func (q *QueuedPodInfo) GetUnschedulablePlugins() sets.Set[string] { return q.UnschedulablePlugins }

// GetPendingPlugins implements fwk.QueuedEntityInfo.
func (q *QueuedPodInfo) GetPendingPlugins() sets.Set[string] { return q.PendingPlugins }

// GetGatingPlugin implements fwk.QueuedEntityInfo.
func (q *QueuedPodInfo) GetGatingPlugin() string { return q.GatingPlugin }

// GetGatingPluginEvents implements fwk.QueuedEntityInfo.
func (q *QueuedPodInfo) GetGatingPluginEvents() []fwk.ClusterEvent { return q.GatingPluginEvents }
