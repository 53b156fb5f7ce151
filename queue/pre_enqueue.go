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

// preEnqueuePlugins are the PreEnqueue plugins of a profile, in the order in which they are asked.
type preEnqueuePlugins struct {
	profile string
	plugins []preEnqueuePlugin
}

type preEnqueuePlugin struct {
	name   string
	plugin fwk.PreEnqueuePlugin
	// events are those that the plugin is registered for in any profile.
	events []fwk.ClusterEvent
}

// preEnqueueByProfile returns the PreEnqueue plugins of the profiles that have any, by profile.
func preEnqueueByProfile(profiles map[string]Profile) map[string]*preEnqueuePlugins {
	events := framework.EventMap{}
	for _, profile := range profiles {
		events.Merge(profile.Events)
	}
	all := map[string]*preEnqueuePlugins{}
	for name, profile := range profiles {
		for _, plugin := range profile.PreEnqueue {
			if all[name] == nil {
				all[name] = &preEnqueuePlugins{profile: name}
			}
			all[name].plugins = append(all[name].plugins, preEnqueuePlugin{plugin.Name(), plugin, registeredEvents(events, plugin.Name())})
		}
	}
	return all
}

// registeredEvents returns the events that a plugin is registered for, by resource and action.
func registeredEvents(events framework.EventMap, plugin string) []fwk.ClusterEvent {
	return slices.DeleteFunc(events.Events(), func(event fwk.ClusterEvent) bool { return !events[event].Has(plugin) })
}

// runPreEnqueuePlugins runs the PreEnqueue plugins of a pod's profile until one rejects it, the one that gates the pod so far
// first, and keeps the result in the pod. It returns the name of the plugin that now gates the pod if it is not among
// its rejectors yet. Time is when these plugins can begin, and is set to when they ended. It needs mu.
func (q *Queue) runPreEnqueuePlugins(pod *queuedPod, time *time.Time) (newRejector string) {
	gating := q.findGatingPlugin(pod, time)
	if gating == nil {
		if pod.Gated() {
			pod.GatingPlugin, pod.GatingPluginEvents = "", nil
		}
		return ""
	}
	if !pod.rejectedBy(gating.name) {
		newRejector = gating.name
	}
	if pod.UnschedulablePlugins == nil {
		pod.UnschedulablePlugins = sets.New[string]()
	}
	pod.UnschedulablePlugins.Insert(gating.name)
	pod.GatingPlugin, pod.GatingPluginEvents = gating.name, gating.events
	pod.WasFlushedFromUnschedulable = false
	return newRejector
}

// findGatingPlugin is firstRejecting, and tells the observer.
func (q *Queue) findGatingPlugin(pod *queuedPod, time *time.Time) *preEnqueuePlugin {
	if pod.preEnqueue == nil {
		return nil
	}
	gating := q.firstRejecting(pod)
	if q.observer == nil {
		return gating
	}
	rejector := ""
	if gating != nil {
		rejector = gating.name
	}
	now := q.clock.Now()
	q.observer.PreEnqueueRan(pod.preEnqueue.profile, rejector, now.Sub(*time))
	*time = now
	return gating
}

// firstRejecting returns the plugin that rejects the pod, nil if none does. There must be some that could.
func (q *Queue) firstRejecting(pod *queuedPod) *preEnqueuePlugin {
	plugins := pod.preEnqueue.plugins
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

// rejects reports whether a plugin rejects a pod. A plugin that fails does.
func (q *Queue) rejects(candidate *preEnqueuePlugin, pod *v1.Pod) bool {
	status, err := q.callPreEnqueue(candidate.plugin, pod)
	if status.Code() == fwk.Error {
		err = errors.Join(err, status.AsError())
	}
	q.gatingReason = status.Message()
	if err != nil {
		q.gatingReason = err.Error()
		q.logger.Error(fmt.Errorf("running PreEnqueue plugin %q: %w", candidate.name, err),
			"A PreEnqueue plugin failed; the pod is gated until an event or the unschedulable timeout has the plugin run again", "pod", klog.KObj(pod))
		return true
	}
	return !status.IsSuccess()
}

func (q *Queue) callPreEnqueue(plugin fwk.PreEnqueuePlugin, pod *v1.Pod) (status *fwk.Status, err error) {
	defer recoverAsError(&err)
	return plugin.PreEnqueue(q.ctx, pod), nil
}
