// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

// gates are the PreEnqueue plugins of a profile, in the order in which they are asked.
type gates struct {
	profile string
	plugins []gate
}

type gate struct {
	name   string
	plugin fwk.PreEnqueuePlugin
	// events are those that the plugin is registered for in any profile.
	events []fwk.ClusterEvent
}

// gatesOf returns the gates of the profiles that have any, by profile.
func gatesOf(profiles map[string]Profile) map[string]*gates {
	events := framework.EventMap{}
	for _, profile := range profiles {
		events.Merge(profile.Events)
	}
	all := map[string]*gates{}
	for name, profile := range profiles {
		for _, plugin := range profile.PreEnqueue {
			if all[name] == nil {
				all[name] = &gates{profile: name}
			}
			all[name].plugins = append(all[name].plugins, gate{plugin.Name(), plugin, registeredEvents(events, plugin.Name())})
		}
	}
	return all
}

// registeredEvents returns the events that a plugin is registered for, by resource and action.
func registeredEvents(events framework.EventMap, plugin string) []fwk.ClusterEvent {
	return slices.DeleteFunc(events.Events(), func(event fwk.ClusterEvent) bool { return !events[event].Has(plugin) })
}

// askGates runs the PreEnqueue plugins of a pod's profile until one rejects it, the one that gates the pod so far
// first, and keeps the outcome in the pod. It returns the name of the plugin that gates the pod if that is the news of
// it having rejected the pod. Time is when the last gates were done and these can begin, and is brought up to date. It
// needs mu.
func (q *Queue) askGates(pod *queuedPod, time *time.Time) (newRejector string) {
	closed := q.observedGate(pod, time)
	if closed == nil {
		if pod.Gated() {
			pod.GatingPlugin, pod.GatingPluginEvents = "", nil
		}
		return ""
	}
	if !pod.rejectedBy(closed.name) {
		newRejector = closed.name
	}
	if pod.UnschedulablePlugins == nil {
		pod.UnschedulablePlugins = sets.New[string]()
	}
	pod.UnschedulablePlugins.Insert(closed.name)
	pod.GatingPlugin, pod.GatingPluginEvents = closed.name, closed.events
	pod.WasFlushedFromUnschedulable = false
	return newRejector
}

// observedGate is closedGate, and tells the observer.
func (q *Queue) observedGate(pod *queuedPod, time *time.Time) *gate {
	if pod.gates == nil {
		return nil
	}
	closed := q.closedGate(pod)
	if q.observer == nil {
		return closed
	}
	rejector := ""
	if closed != nil {
		rejector = closed.name
	}
	now := q.clock.Now()
	q.observer.PreEnqueueRan(pod.gates.profile, rejector, now.Sub(*time))
	*time = now
	return closed
}

// closedGate returns the plugin that rejects the pod, nil if none does. There must be some that could.
func (q *Queue) closedGate(pod *queuedPod) *gate {
	plugins := pod.gates.plugins
	if pod.Gated() {
		for i := range plugins {
			if plugins[i].name == pod.GatingPlugin && q.rejects(&plugins[i], pod.Pod) {
				return &plugins[i]
			}
		}
	}
	for i := range plugins {
		if plugins[i].name != pod.GatingPlugin && q.rejects(&plugins[i], pod.Pod) {
			return &plugins[i]
		}
	}
	return nil
}

// rejects tells whether a plugin rejects a pod. A plugin that fails does.
func (q *Queue) rejects(gate *gate, pod *v1.Pod) bool {
	status, err := q.preEnqueue(gate.plugin, pod)
	if status.Code() == fwk.Error {
		err = errors.Join(err, status.AsError())
	}
	if err != nil {
		q.logger.Error(fmt.Errorf("running PreEnqueue plugin %q: %w", gate.name, err),
			"A gate failed; the pod waits until an event or the longest wait has it asked again", "pod", klog.KObj(pod))
		return true
	}
	return !status.IsSuccess()
}

func (q *Queue) preEnqueue(plugin fwk.PreEnqueuePlugin, pod *v1.Pod) (status *fwk.Status, err error) {
	defer recoverAsError(&err)
	return plugin.PreEnqueue(q.ctx, pod), nil
}
