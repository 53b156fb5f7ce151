// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/queue"
	"github.com/rouse-scheduler/rouse/runtime"
	"github.com/rouse-scheduler/rouse/scheduler"
	"github.com/rouse-scheduler/rouse/simulate"
)

// NoSuchPodError is the error for a pod that does not exist.
type NoSuchPodError struct {
	Namespace, Name string
	At              string
	// Pods are the existing ones, as namespace/name; in a cluster only those of the namespace, and of the name.
	Pods []string
}

// Error implements error.
func (e *NoSuchPodError) Error() string {
	return fmt.Sprintf("there is no pod %s/%s at %s", e.Namespace, e.Name, e.At)
}

// podSnapshot is what is known of a pod at one moment, in a simulation or in a cluster.
type podSnapshot struct {
	ctx       context.Context
	scheduler *scheduler.Scheduler
	at        string
	// formatTime formats times of the scheduler's clock.
	formatTime func(time.Time) string
	state      simulate.PodState
	// pod is nil if it is gone.
	pod *v1.Pod
	// queued is where the queue has the pod; the pool is none if it does not.
	queued  queue.PodStatus
	history podHistory
	// buildProbe returns the plugins of the pod's profile that may be called about the pod, and the nodes of their snapshot.
	buildProbe func() (*runtime.Framework, []fwk.NodeInfo, error)
}

// explain explains the pod, with at most so many of the closest nodes.
func (s *podSnapshot) explain(nodes int) *Explanation {
	view := NewExplanation(s.state.Namespace, s.state.Name, s.at)
	view.Pool, view.Node, view.Attempts = s.state.Pool, s.state.Node, s.state.Attempts
	view.Message, view.WokenBy = s.state.Message, s.state.WokenBy
	view.RecentEvents = append(view.RecentEvents, s.history.events...)
	if view.Pool == simulate.PoolBound {
		view.Since = s.state.BoundAt
	}
	if s.pod == nil {
		return view
	}
	view.SchedulerName = s.pod.Spec.SchedulerName
	s.setPreemption(view)
	profile := s.scheduler.Profiles()[view.SchedulerName]
	if profile == nil || view.Pool == simulate.PoolBound || view.Pool == simulate.PoolDeleted {
		return view
	}
	if s.queued.Pool != queue.PoolNone {
		view.Since = s.formatTime(s.queued.Since)
	}
	if view.Pool == simulate.PoolActive {
		view.setPendingPermitPlugins(profile, s.pod)
		return view
	}
	if !s.history.eventsSince.IsZero() {
		view.RecentEventsSince = s.formatTime(s.history.eventsSince)
	}
	s.setWait(view, profile, nodes)
	return view
}

// setPreemption sets for which node the pod is nominated, or for which pods it is preempted.
func (s *podSnapshot) setPreemption(view *Explanation) {
	view.Terminating = s.pod.DeletionTimestamp != nil
	if view.Pool != simulate.PoolBound {
		view.NominatedNode = s.pod.Status.NominatedNodeName
		return
	}
	view.Preempted = slices.ContainsFunc(s.pod.Status.Conditions, func(condition v1.PodCondition) bool {
		return condition.Type == v1.DisruptionTarget && condition.Status == v1.ConditionTrue &&
			condition.Reason == v1.PodReasonPreemptionByScheduler
	})
	if !view.Preempted {
		return
	}
	for _, nominated := range s.scheduler.Queue().NominatedPodsForNode(s.pod.Spec.NodeName) {
		if corev1helpers.PodPriority(nominated.GetPod()) > corev1helpers.PodPriority(s.pod) {
			view.PreemptedFor = append(view.PreemptedFor, podName(nominated.GetPod()))
		}
	}
}

// setPendingPermitPlugins sets the Permit plugins that the pod waits for, and the node reserved for it, if it waits at Permit.
func (e *Explanation) setPendingPermitPlugins(profile *runtime.Framework, pod *v1.Pod) {
	waiting := profile.GetWaitingPod(pod.UID)
	if waiting == nil {
		return
	}
	e.Node = waiting.GetPod().Spec.NodeName
	e.PendingPermitPlugins = sets.List(sets.New(waiting.GetPendingPlugins()...))
}

// setWait sets why a pod waits, which events would wake it, and its blockers.
func (s *podSnapshot) setWait(view *Explanation, profile *runtime.Framework, nodes int) {
	built, infos, err := s.buildProbe()
	if s.queued.GatingPlugin != "" {
		view.RejectedBy = append(view.RejectedBy, s.preEnqueueRejection(built))
	}
	if failed := s.history.failed; failed != nil {
		view.RejectedAt = s.formatTime(failed.at)
		view.RejectedBy = append(view.RejectedBy, failed.rejections...)
		view.PostFilter = failed.postFilter
	}
	s.setRequeueEvents(view, profile)
	if err != nil {
		view.ProbeError = err.Error()
		return
	}
	for _, node := range infos {
		if node.Node().Name == view.NominatedNode {
			for _, other := range node.GetPods() {
				view.AddVictim(s.pod, other.GetPod())
			}
		}
	}
	s.setNodes(view, built, infos, nodes)
}

// AddVictim adds a pod on the nominated node to the victims if it is ending and less important than the pod, which is what
// preemption leaves.
func (e *Explanation) AddVictim(pod, other *v1.Pod) {
	if other.DeletionTimestamp != nil && corev1helpers.PodPriority(other) < corev1helpers.PodPriority(pod) {
		e.Victims = append(e.Victims, podName(other))
	}
}

// preEnqueueRejection calls the PreEnqueue plugin that rejects the pod once more for its reasons, if it can be called.
func (s *podSnapshot) preEnqueueRejection(built *runtime.Framework) Rejection {
	rejection := Rejection{Plugin: s.queued.GatingPlugin, PreEnqueue: true, Reasons: []ReasonCount{}}
	if built == nil {
		return rejection
	}
	for _, plugin := range built.PreEnqueuePlugins() {
		if plugin.Name() != rejection.Plugin {
			continue
		}
		for _, reason := range framework.ReasonsOf(withPlugin(plugin.PreEnqueue(s.ctx, s.pod), plugin.Name())) {
			rejection.Reasons = append(rejection.Reasons, ReasonCount{Reason: reason})
		}
	}
	return rejection
}

// setRequeueEvents sets the events that would wake the pod, and when it is tried again without one.
func (s *podSnapshot) setRequeueEvents(view *Explanation, profile *runtime.Framework) {
	if view.Pool == simulate.PoolBackoff {
		view.TriedAgainAt = s.formatTime(s.queued.BackoffExpiration)
		return
	}
	if !s.queued.UnschedulableTimeoutAt.IsZero() && view.Pool != simulate.PoolGated {
		view.TriedAgainAt = s.formatTime(s.queued.UnschedulableTimeoutAt)
	}
	rejectors := sets.New(s.queued.UnschedulablePlugins...).Insert(s.queued.PendingPlugins...)
	events := NewEvents(profile).Profiles[0]
	for _, plugin := range sets.List(rejectors) {
		view.RequeueEvents = append(view.RequeueEvents, PluginEvents{Plugin: plugin, Events: events.PluginEvents(plugin)})
	}
}
