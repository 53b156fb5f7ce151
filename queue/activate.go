// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/rouse-scheduler/rouse/framework"
)

// Activate has pods tried again at once, whatever they wait for, unless a PreEnqueue plugin gates them (kube-scheduler:
// Activate). A pod in flight is tried again after its backoff if it fails; other pods that are not in the queue are
// ignored. The keys of the map only order the pods.
func (q *Queue) Activate(logger klog.Logger, pods map[string]*v1.Pod) {
	q.mu.Lock()
	defer q.unlock()
	for _, key := range slices.Sorted(maps.Keys(pods)) {
		if pods[key] != nil {
			q.activate(logger, pods[key])
		}
	}
}

func (q *Queue) activate(logger klog.Logger, named *v1.Pod) {
	event := q.events.newEvent(framework.EventForceActivate(), nil, named)
	q.readyMu.Lock()
	pod := q.pods[podKey(named.Namespace, named.Name)]
	switch {
	case pod == nil && q.inFlight.has(named.UID):
		q.inFlight.record(event, named.UID)
	case pod == nil:
		logger.V(4).Info("A pod to be activated is not in the queue", "pod", klog.KObj(named))
	case pod.pool == PoolActive:
		pod = nil
	case pod.pool == PoolBackoff:
		q.removeFromHeap(pod)
	}
	q.readyMu.Unlock()
	if pod != nil {
		q.place(pod, event.label(), decision{strategy: Immediately})
	}
}
