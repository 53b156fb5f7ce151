// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	clientcache "k8s.io/client-go/tools/cache"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

func assigned(pod *v1.Pod) bool { return pod.Spec.NodeName != "" }

// responsible reports whether a profile of this scheduler is named by the pod.
func (s *Scheduler) responsible(pod *v1.Pod) bool {
	_, ok := s.profiles[pod.Spec.SchedulerName]
	return ok
}

func (s *Scheduler) podAdded(object any) {
	pod, ok := storedPodOf(object)
	switch {
	case !ok:
	case assigned(pod.Pod):
		s.addToCache(pod)
	case s.responsible(pod.Pod):
		defer s.startTimer(fwk.ClusterEvent{Resource: fwk.UnscheduledPod, ActionType: fwk.Add})()
		s.queue.Add(pod.Pod)
	}
}

func (s *Scheduler) podUpdated(old, new any) {
	before, okOld := storedPodOf(old)
	after, okNew := storedPodOf(new)
	oldPod, newPod := before.Pod, after.Pod
	switch {
	case !okOld || !okNew:
	case oldPod.UID != newPod.UID:
		// The deletion was missed, and another pod has the name now.
		s.podDeleted(oldPod)
		s.podAdded(new)
	case assigned(oldPod):
		s.updateInCache(oldPod, after)
	case assigned(newPod):
		s.addToCache(after)
		if s.responsible(oldPod) {
			handled := s.startTimer(fwk.ClusterEvent{Resource: fwk.UnscheduledPod, ActionType: fwk.Delete})
			s.queue.Delete(oldPod)
			handled()
		}
		if nominated := oldPod.Status.NominatedNodeName; nominated != "" && nominated != newPod.Spec.NodeName {
			s.nominationGone(oldPod)
		}
	case s.responsible(oldPod):
		s.updateInQueue(oldPod, newPod)
	}
}

func (s *Scheduler) podDeleted(object any) {
	switch object := fullPod(object).(type) {
	case *v1.Pod:
		if assigned(object) {
			s.removeFromCache(object)
		} else if s.responsible(object) {
			s.removeFromQueue(object)
		}
	case clientcache.DeletedFinalStateUnknown:
		// The last state was missed: the pod may have been bound since, or not.
		pod, ok := object.Obj.(*v1.Pod)
		if !ok {
			s.options.Logger.Error(nil, "Cannot convert the deleted object to a pod", "object", object.Obj)
			return
		}
		if !s.isAssumed(pod) { // otherwise it must be taken out of its binding cycle, not only out of the cache
			s.removeFromCache(pod)
		}
		if s.responsible(pod) {
			s.removeFromQueue(pod)
		}
	default:
		s.options.Logger.Error(nil, "Cannot convert the deleted object to a pod", "object", object)
	}
}

func (s *Scheduler) addToCache(pod storedPod) {
	event := fwk.ClusterEvent{Resource: fwk.AssignedPod, ActionType: fwk.Add}
	defer s.startTimer(event)()
	var assumed *v1.Pod
	if s.isAssumed(pod.Pod) {
		assumed, _ = s.cache.Pod(pod.Pod) // which fails only for pods that are not there
	}
	add := s.cache.AddPod
	if pod.compact != nil {
		add = func(*v1.Pod) error { return s.cache.AddCompactPod(pod.compact) }
	}
	if err := add(pod.Pod); err != nil {
		s.options.Logger.Error(err, "Scheduler cache AddPod failed", "pod", klog.KObj(pod.Pod))
	}
	s.queue.Move(event, nil, pod.Pod, nil)
	if assumed != nil {
		s.corrected(assumed, pod.Pod)
	}
}

// corrected announces how a bound pod differs from what was assumed of it: another client has bound it to another node, or it
// was changed while it was being bound.
func (s *Scheduler) corrected(assumed, bound *v1.Pod) {
	if assumed.Spec.NodeName != bound.Spec.NodeName {
		s.queue.Move(assignedPodDeleted(), assumed, nil, nil)
		return
	}
	for _, event := range framework.PodEvents(assumed, bound, false) {
		if event.ActionType != fwk.Update { // which every binding is
			s.queue.Move(event, assumed, bound, nil)
		}
	}
}

// updateInCache takes over a new version of a pod with a node. The observer is told of the update as a whole in
// addition to the events that it consists of.
func (s *Scheduler) updateInCache(oldPod *v1.Pod, newPod storedPod) {
	defer s.startTimer(fwk.ClusterEvent{Resource: fwk.AssignedPod, ActionType: fwk.Update})()
	update := s.cache.UpdatePod
	if newPod.compact != nil {
		update = func(oldPod, _ *v1.Pod) error { return s.cache.UpdateCompactPod(oldPod, newPod.compact) }
	}
	if err := update(oldPod, newPod.Pod); err != nil {
		s.options.Logger.Error(err, "Scheduler cache UpdatePod failed", "pod", klog.KObj(newPod.Pod))
	}
	for _, event := range framework.PodEvents(oldPod, newPod.Pod, false) {
		handled := s.startTimer(event)
		s.queue.Move(event, oldPod, newPod.Pod, nil)
		handled()
	}
}

func (s *Scheduler) removeFromCache(pod *v1.Pod) {
	defer s.startTimer(assignedPodDeleted())()
	if err := s.cache.RemovePod(pod); err != nil {
		s.options.Logger.Error(err, "Scheduler cache RemovePod failed", "pod", klog.KObj(pod))
	}
	s.queue.Move(assignedPodDeleted(), pod, nil, nil)
}

func (s *Scheduler) updateInQueue(oldPod, newPod *v1.Pod) {
	if oldPod.ResourceVersion == newPod.ResourceVersion {
		return
	}
	defer s.startTimer(fwk.ClusterEvent{Resource: fwk.UnscheduledPod, ActionType: fwk.Update})()
	if s.isAssumed(newPod) {
		// Queueing it would schedule it a second time while it is being bound.
		if oldPod.DeletionTimestamp == nil && newPod.DeletionTimestamp != nil {
			s.assumedPodDeleted(newPod)
		}
		if nominated := oldPod.Status.NominatedNodeName; nominated != "" && nominated != newPod.Status.NominatedNodeName {
			s.nominationGone(oldPod)
		}
		return
	}
	queueing := s.clock.Now()
	s.queue.Update(oldPod, newPod)
	s.handledUpdate(oldPod, newPod, s.clock.Since(queueing))
	nominated := oldPod.Status.NominatedNodeName
	if nominated != "" && (nominated != newPod.Status.NominatedNodeName || requestsLess(oldPod, newPod)) {
		s.nominationGone(oldPod)
	}
}

// handledUpdate tells the observer, in addition to the update as a whole, of the specific events that the update of a waiting
// pod consists of, as events of an unscheduled pod.
func (s *Scheduler) handledUpdate(oldPod, newPod *v1.Pod, duration time.Duration) {
	for _, event := range framework.PodEvents(oldPod, newPod, false) {
		if event.ActionType != fwk.Update {
			s.options.Observers.Scheduler.EventHandled(event, duration)
		}
	}
}

// requestsLess reports whether a nominated pod may leave more of its node to other pods after an update.
func requestsLess(oldPod, newPod *v1.Pod) bool {
	return slices.ContainsFunc(framework.PodEvents(oldPod, newPod, false), func(event fwk.ClusterEvent) bool {
		return event.ActionType == fwk.UpdatePodScaleDown || event.ActionType == fwk.UpdatePodLabel
	})
}

func (s *Scheduler) removeFromQueue(pod *v1.Pod) {
	defer s.startTimer(fwk.ClusterEvent{Resource: fwk.UnscheduledPod, ActionType: fwk.Delete})()
	s.queue.Delete(pod)
	switch {
	case s.isAssumed(pod):
		s.assumedPodDeleted(pod)
	case pod.Status.NominatedNodeName != "":
		s.nominationGone(pod)
	}
}

// nominationGone announces that a node, or some of it, is no longer kept free for a pod, to those that had to respect it.
func (s *Scheduler) nominationGone(pod *v1.Pod) {
	priority := corev1helpers.PodPriority(pod)
	s.queue.Move(assignedPodDeleted(), pod, nil, func(waiting *v1.Pod) bool {
		return corev1helpers.PodPriority(waiting) <= priority
	})
}

// assumedPodDeleted frees at once what a pod took that is deleted while it is being bound. If it waits for permission
// it is refused, and the failing binding cycle cleans up.
func (s *Scheduler) assumedPodDeleted(pod *v1.Pod) {
	cached, err := s.cache.Pod(pod)
	if err != nil {
		return
	}
	profile, ok := s.profiles[pod.Spec.SchedulerName]
	if !ok {
		s.options.Logger.Error(nil, "No profile for a pod that is being bound", "pod", klog.KObj(pod),
			"schedulerName", pod.Spec.SchedulerName)
		return
	}
	if !profile.RejectWaitingPod(pod.UID) {
		if err := s.cache.RemoveAssumedPod(cached); err != nil {
			s.options.Logger.Error(err, "Scheduler cache RemoveAssumedPod failed", "pod", klog.KObj(pod))
		}
	}
	s.queue.Move(assignedPodDeleted(), cached, nil, nil)
}

func (s *Scheduler) isAssumed(pod *v1.Pod) bool {
	is, err := s.cache.IsAssumed(pod)
	if err != nil {
		s.options.Logger.Error(err, "Checking whether a pod is being bound failed", "pod", klog.KObj(pod))
	}
	return is
}

func assignedPodDeleted() fwk.ClusterEvent {
	return fwk.ClusterEvent{Resource: fwk.AssignedPod, ActionType: fwk.Delete}
}
