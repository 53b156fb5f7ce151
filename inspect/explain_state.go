// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/queue"
	"github.com/rouse-scheduler/rouse/runtime"
	"github.com/rouse-scheduler/rouse/simulate"
)

// NoSuchPodError says that a pod is not in a cluster.
type NoSuchPodError struct {
	Namespace, Name string
	At              simulate.Time
	// Pods are those that there are, as namespace/name.
	Pods []string
}

// Error implements error.
func (e *NoSuchPodError) Error() string {
	return fmt.Sprintf("there is no pod %s/%s at %v", e.Namespace, e.Name, e.At)
}

// Explain explains the pod as it is now, with at most so many of the closest nodes. The error is a [*NoSuchPodError] if
// there is no such pod.
func (e *Explainer) Explain(nodes int) (*Explanation, error) {
	state, found := e.cluster.Pod(e.namespace, e.name)
	if !found {
		return nil, e.noSuchPod()
	}
	e.mu.Lock()
	failed, heard := e.failed, slices.Clone(e.heard)
	e.mu.Unlock()
	view := &Explanation{
		Namespace: e.namespace, Name: e.name, At: e.cluster.Now(),
		Pool: state.Pool, Node: state.Node, Permission: []string{},
		Attempts: state.Attempts, Message: state.Message, WokenBy: state.WokenBy,
		RejectedBy: []Rejection{}, Wakes: []Wake{}, Heard: append([]Heard{}, heard...),
		Everywhere: []Obstacle{}, Nodes: []NodeOutlook{},
	}
	if state.Pool == simulate.PoolBound {
		view.Since = state.BoundAt
	}
	pod := e.latest()
	if pod == nil { // it is gone
		return view, nil
	}
	view.SchedulerName = pod.Spec.SchedulerName
	profile := e.cluster.Scheduler().Profiles()[pod.Spec.SchedulerName]
	if profile == nil || state.Pool == simulate.PoolBound || state.Pool == simulate.PoolDeleted {
		return view, nil
	}
	status, queued := e.cluster.Scheduler().Queue().Lookup(e.namespace, e.name)
	if queued {
		view.Since = e.timeOf(status.Since)
	}
	if state.Pool == simulate.PoolActive {
		view.setPermission(profile, pod)
		return view, nil
	}
	if status.GatingPlugin != "" {
		view.RejectedBy = append(view.RejectedBy, e.gate(profile, pod, status.GatingPlugin))
	}
	if failed != nil {
		view.RejectedAt = failed.at.String()
		view.RejectedBy = append(view.RejectedBy, rejectionsOf(failed)...)
		if failed.Diagnosis != nil {
			view.PostFilter = failed.Diagnosis.PostFilterMsg
		}
	}
	e.setWait(view, profile, status)
	return view, e.setNodes(view, profile, pod, nodes)
}

// timeOf turns a time of the clock into virtual time.
func (e *Explainer) timeOf(t time.Time) string {
	return (e.cluster.Now() - simulate.Time(e.cluster.Clock().Since(t))).String()
}

// latest returns the pod as the scheduler knows it, nil if it is gone.
func (e *Explainer) latest() *v1.Pod {
	for _, profile := range e.cluster.Scheduler().Profiles() {
		pod, err := profile.SharedInformerFactory().Core().V1().Pods().Lister().Pods(e.namespace).Get(e.name)
		if err == nil {
			return pod
		}
		break
	}
	return nil
}

func (e *Explainer) noSuchPod() error {
	missing := &NoSuchPodError{Namespace: e.namespace, Name: e.name, At: e.cluster.Now()}
	for _, pod := range e.cluster.Report().Pods {
		missing.Pods = append(missing.Pods, pod.Namespace+"/"+pod.Name)
	}
	return missing
}

// setPermission says for which plugins' permission a pod waits that has a node, if it does.
func (e *Explanation) setPermission(profile *runtime.Framework, pod *v1.Pod) {
	waiting := profile.GetWaitingPod(pod.UID)
	if waiting == nil {
		return
	}
	e.Node = waiting.GetPod().Spec.NodeName
	e.Permission = slices.Sorted(slices.Values(waiting.GetPendingPlugins()))
}

// gate asks the plugin that gates a pod once more why it does.
func (e *Explainer) gate(profile *runtime.Framework, pod *v1.Pod, name string) Rejection {
	gate := Rejection{Plugin: name, Gate: true, Reasons: []ReasonCount{}}
	for _, plugin := range profile.PreEnqueuePlugins() {
		if plugin.Name() != name {
			continue
		}
		for _, reason := range plugin.PreEnqueue(e.ctx, pod).Reasons() {
			gate.Reasons = append(gate.Reasons, ReasonCount{Reason: reason})
		}
	}
	return gate
}

// rejectionsOf counts the verdicts of an attempt by plugin and reason, the plugin that rejected the pod most often first.
func rejectionsOf(failed *failedAttempt) []Rejection {
	if failed.Diagnosis == nil {
		return nil
	}
	byPlugin := map[string]*Rejection{}
	counts := map[string]map[string]int{}
	add := func(plugin string, reasons []string, nodes int) {
		if byPlugin[plugin] == nil {
			byPlugin[plugin] = &Rejection{Plugin: plugin, Reasons: []ReasonCount{}}
			counts[plugin] = map[string]int{}
		}
		byPlugin[plugin].Nodes += nodes
		for _, reason := range reasons {
			counts[plugin][reason] += nodes
		}
	}
	statuses := failed.Diagnosis.NodeToStatus
	statuses.ForEachExplicitNode(func(_ string, status *fwk.Status) { add(status.Plugin(), status.Reasons(), 1) })
	rejectors := failed.Diagnosis.UnschedulablePlugins.Union(failed.Diagnosis.PendingPlugins)
	var fit *framework.FitError
	if absent := statuses.AbsentNodesStatus(); absent != nil && errors.As(failed.Status.AsError(), &fit) && fit.NumAllNodes > statuses.Len() {
		add(whoLeftOut(absent, rejectors, byPlugin), absent.Reasons(), fit.NumAllNodes-statuses.Len())
	}
	for _, plugin := range sets.List(rejectors) {
		add(plugin, nil, 0)
	}
	for plugin, reasons := range counts {
		for _, reason := range slices.Sorted(maps.Keys(reasons)) {
			byPlugin[plugin].Reasons = append(byPlugin[plugin].Reasons, ReasonCount{reason, reasons[reason]})
		}
	}
	delete(byPlugin, "")
	rejections := make([]Rejection, 0, len(byPlugin))
	for _, rejection := range byPlugin {
		rejections = append(rejections, *rejection)
	}
	slices.SortFunc(rejections, func(a, b Rejection) int {
		return cmp.Or(cmp.Compare(b.Nodes, a.Nodes), strings.Compare(a.Plugin, b.Plugin))
	})
	return rejections
}

// whoLeftOut returns the plugin that rejected the nodes at which no Filter plugin looked: the one of the status, or a
// rejector that gave no verdict, which must have narrowed the nodes.
func whoLeftOut(status *fwk.Status, rejectors sets.Set[string], explicit map[string]*Rejection) string {
	if status.Plugin() != "" {
		return status.Plugin()
	}
	for _, plugin := range sets.List(rejectors) {
		if explicit[plugin] == nil {
			return plugin
		}
	}
	return ""
}

// setWait says what ends the wait of a pod.
func (e *Explainer) setWait(view *Explanation, profile *runtime.Framework, status queue.PodStatus) {
	if view.Pool == simulate.PoolBackoff {
		view.TriedAgainAt = e.timeOf(status.BackoffExpiration)
		return
	}
	if !status.LongestWait.IsZero() {
		view.TriedAgainAt = e.timeOf(status.LongestWait)
	}
	rejectors := sets.New(status.UnschedulablePlugins...).Insert(status.PendingPlugins...)
	events := NewEvents(profile).Profiles[0]
	for _, plugin := range sets.List(rejectors) {
		view.Wakes = append(view.Wakes, Wake{Plugin: plugin, Events: events.PluginEvents(plugin)})
	}
}
