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

	"github.com/rouse-scheduler/rouse/queue"
	"github.com/rouse-scheduler/rouse/runtime"
	"github.com/rouse-scheduler/rouse/scheduler"
	"github.com/rouse-scheduler/rouse/simulate"
)

// NoSuchPodError says that a pod is not in a cluster.
type NoSuchPodError struct {
	Namespace, Name string
	At              string
	// Pods are those that there are, as namespace/name; in a cluster only those of the namespace, and of the name.
	Pods []string
}

// Error implements error.
func (e *NoSuchPodError) Error() string {
	return fmt.Sprintf("there is no pod %s/%s at %s", e.Namespace, e.Name, e.At)
}

// sight is what can be seen of a pod at one moment, be it in a simulation or in a cluster.
type sight struct {
	ctx       context.Context
	scheduler *scheduler.Scheduler
	at        string
	// write writes times of the scheduler's clock.
	write func(time.Time) string
	state simulate.PodState
	// pod is nil if it is gone.
	pod *v1.Pod
	// queued is where the queue has the pod; the pool is none if it does not.
	queued queue.PodStatus
	memory memory
	// ask returns the plugins of the pod's profile to be asked about the pod, and the nodes as these see them.
	ask func() (*runtime.Framework, []fwk.NodeInfo, error)
}

// explain explains the pod, with at most so many of the closest nodes.
func (s *sight) explain(nodes int) *Explanation {
	view := &Explanation{
		Namespace: s.state.Namespace, Name: s.state.Name, At: s.at,
		Pool: s.state.Pool, Node: s.state.Node, Permission: []string{},
		Attempts: s.state.Attempts, Message: s.state.Message, WokenBy: s.state.WokenBy,
		PreemptedFor: []string{}, RejectedBy: []Rejection{}, Wakes: []Wake{}, Heard: append([]Heard{}, s.memory.heard...),
		Everywhere: []Obstacle{}, Nodes: []NodeOutlook{},
	}
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
		view.Since = s.write(s.queued.Since)
	}
	if view.Pool == simulate.PoolActive {
		view.setPermission(profile, s.pod)
		return view
	}
	if !s.memory.heardSince.IsZero() {
		view.HeardSince = s.write(s.memory.heardSince)
	}
	s.setWait(view, profile, nodes)
	return view
}

// setPreemption says for which node the pod is nominated, or for which pods it has to go.
func (s *sight) setPreemption(view *Explanation) {
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

// setPermission says for which plugins' permission a pod waits that has a node, if it does.
func (e *Explanation) setPermission(profile *runtime.Framework, pod *v1.Pod) {
	waiting := profile.GetWaitingPod(pod.UID)
	if waiting == nil {
		return
	}
	e.Node = waiting.GetPod().Spec.NodeName
	e.Permission = sets.List(sets.New(waiting.GetPendingPlugins()...))
}

// setWait says why a pod waits, what ends that, and what is in the way.
func (s *sight) setWait(view *Explanation, profile *runtime.Framework, nodes int) {
	asked, infos, err := s.ask()
	if s.queued.GatingPlugin != "" {
		view.RejectedBy = append(view.RejectedBy, s.gate(asked))
	}
	if failed := s.memory.failed; failed != nil {
		view.RejectedAt = s.write(failed.at)
		view.RejectedBy = append(view.RejectedBy, failed.rejections...)
		view.PostFilter = failed.postFilter
	}
	s.setWakes(view, profile)
	if err != nil {
		view.NotAsked = err.Error()
		return
	}
	s.setNodes(view, asked, infos, nodes)
}

// gate asks the plugin that gates the pod once more why it does, if it can be asked.
func (s *sight) gate(asked *runtime.Framework) Rejection {
	gate := Rejection{Plugin: s.queued.GatingPlugin, Gate: true, Reasons: []ReasonCount{}}
	if asked == nil {
		return gate
	}
	for _, plugin := range asked.PreEnqueuePlugins() {
		if plugin.Name() != gate.Plugin {
			continue
		}
		for _, reason := range plugin.PreEnqueue(s.ctx, s.pod).Reasons() {
			gate.Reasons = append(gate.Reasons, ReasonCount{Reason: reason})
		}
	}
	return gate
}

// setWakes says what ends the wait.
func (s *sight) setWakes(view *Explanation, profile *runtime.Framework) {
	if view.Pool == simulate.PoolBackoff {
		view.TriedAgainAt = s.write(s.queued.BackoffExpiration)
		return
	}
	if !s.queued.UnschedulableTimeoutAt.IsZero() && view.Pool != simulate.PoolGated {
		view.TriedAgainAt = s.write(s.queued.UnschedulableTimeoutAt)
	}
	rejectors := sets.New(s.queued.UnschedulablePlugins...).Insert(s.queued.PendingPlugins...)
	events := NewEvents(profile).Profiles[0]
	for _, plugin := range sets.List(rejectors) {
		view.Wakes = append(view.Wakes, Wake{Plugin: plugin, Events: events.PluginEvents(plugin)})
	}
}
