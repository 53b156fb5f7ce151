// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

// askGates runs the PreEnqueue plugins of a pod's profile until one rejects it, the one that gates the pod so far
// first, and keeps the outcome in the pod. It returns the name of the plugin that gates the pod if that is the news of
// it having rejected the pod. It needs mu.
func (q *Queue) askGates(pod *queuedPod) (newRejector string) {
	gate := q.observedGate(pod)
	if gate == nil {
		pod.GatingPlugin, pod.GatingPluginEvents = "", nil
		return ""
	}
	name := gate.Name()
	if !pod.rejectedBy(name) {
		newRejector = name
	}
	if pod.UnschedulablePlugins == nil {
		pod.UnschedulablePlugins = sets.New[string]()
	}
	pod.UnschedulablePlugins.Insert(name)
	pod.GatingPlugin, pod.GatingPluginEvents = name, q.registered[name]
	pod.WasFlushedFromUnschedulable = false
	return newRejector
}

// observedGate is closedGate, and tells the observer.
func (q *Queue) observedGate(pod *queuedPod) fwk.PreEnqueuePlugin {
	profile := pod.profile()
	if q.observer == nil || len(q.profiles[profile].PreEnqueue) == 0 {
		return q.closedGate(pod)
	}
	started := q.clock.Now()
	gate := q.closedGate(pod)
	rejector := ""
	if gate != nil {
		rejector = gate.Name()
	}
	q.observer.GatesAsked(profile, rejector, q.clock.Since(started))
	return gate
}

// closedGate returns the plugin that rejects the pod, nil if none does.
func (q *Queue) closedGate(pod *queuedPod) fwk.PreEnqueuePlugin {
	gates := q.profiles[pod.profile()].PreEnqueue
	for _, gate := range gates {
		if gate.Name() == pod.GatingPlugin && q.gates(gate, pod.Pod) {
			return gate
		}
	}
	for _, gate := range gates {
		if gate.Name() != pod.GatingPlugin && q.gates(gate, pod.Pod) {
			return gate
		}
	}
	return nil
}

// gates tells whether a plugin rejects a pod. A plugin that fails does.
func (q *Queue) gates(gate fwk.PreEnqueuePlugin, pod *v1.Pod) bool {
	var status *fwk.Status
	var err error
	func() {
		defer recoverAsError(&err)
		status = gate.PreEnqueue(q.ctx, pod)
	}()
	if status.Code() == fwk.Error {
		err = errors.Join(err, status.AsError())
	}
	if err != nil {
		q.logger.Error(fmt.Errorf("running PreEnqueue plugin %q: %w", gate.Name(), err),
			"A gate failed; the pod waits until an event or the longest wait has it asked again", "pod", klog.KObj(pod))
		return true
	}
	return !status.IsSuccess()
}
