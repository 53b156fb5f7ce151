// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"
)

// Move tells the queue that something happened in the cluster, and wakes the unschedulable and gated pods that it may
// help (kube-scheduler: MoveAllToActiveOrBackoffQueue). oldObj and newObj are the versions of the object before and after,
// nil where there is none. A pod wakes if a plugin that rejected it registered the event and its queueing hint asks for the
// pod; it moves to the active or backoff pool. preCheck limits that to some pods; nil means all. A wildcard event wakes
// every pod, or the one that newObj is, without running hints.
//
// An event that no plugin of any profile registered costs one map lookup. Others are also kept for the pods in flight,
// whatever preCheck says.
func (q *Queue) Move(event fwk.ClusterEvent, oldObj, newObj any, preCheck func(*v1.Pod) bool) {
	q.mu.Lock()
	defer q.unlock()
	if !q.events.pluginsFor(event).isEmpty() {
		q.move(q.events.newEvent(event, oldObj, newObj), preCheck)
	}
}

// MoveAfterFailure is [Queue.Move] for what happened only because an attempt failed: what the pod had taken is free again.
// Pods that it wakes are not popped early if they were before, because pods whose failures wake each other would be tried
// as often as a processor can, forever.
func (q *Queue) MoveAfterFailure(event fwk.ClusterEvent, oldObj, newObj any, preCheck func(*v1.Pod) bool) {
	q.mu.Lock()
	defer q.unlock()
	if !q.events.pluginsFor(event).isEmpty() {
		failure := q.events.newEvent(event, oldObj, newObj)
		failure.ofFailure = true
		q.move(failure, preCheck)
	}
}

func (q *Queue) move(event clusterEvent, preCheck func(*v1.Pod) bool) {
	s := &q.search
	*s = wakeSearch{queue: q, event: event, preCheck: preCheck, woken: s.woken[:0]}
	s.run()
	s.cost.Woken = len(s.woken)
	if event.allowsEarlyPop() {
		for _, pod := range s.woken {
			pod.poppedEarly = false
		}
	}
	q.wake(s.woken, event.label())
	q.count(s.cost)
	q.record(event, "")
	clear(s.woken)
	*s = wakeSearch{woken: s.woken}
}

// record keeps an event for the pods in flight, or for one of them. It needs mu.
func (q *Queue) record(event clusterEvent, onlyFor types.UID) {
	q.readyMu.Lock()
	defer q.readyMu.Unlock()
	q.inFlight.record(event, onlyFor)
}

// wake moves waiting pods to the pools that their decision fields name, those that have waited the longest first.
func (q *Queue) wake(pods []*queuedPod, cause string) {
	pods = q.unschedulable.inOrder(pods)
	q.unschedulable.index.dropClasses(pods)
	q.placeAll(pods, cause)
}

// wakeSearch finds the waiting pods that one event wakes. It records the decision in each, and wakes none itself.
type wakeSearch struct {
	queue    *Queue
	event    clusterEvent
	preCheck func(*v1.Pod) bool
	// woken has the pods for which a decision was recorded.
	woken []*queuedPod
	cost  EventCost
}

func (s *wakeSearch) run() {
	if s.event.interested.wildcard {
		s.considerWildcard()
		return
	}
	for _, waiting := range s.event.interested.profiles {
		for _, plugin := range waiting.plugins {
			for _, hint := range plugin.hints {
				s.considerRejected(rejector{waiting.profile, plugin.plugin}, hint)
			}
		}
	}
	for _, orphan := range s.queue.unschedulable.index.orphans.members {
		s.considerPod(orphan.pod)
	}
}

// considerWildcard looks at every pod, or at the one that the event names.
func (s *wakeSearch) considerWildcard() {
	if newObj, ok := s.event.newObj.(*v1.Pod); ok && newObj != nil {
		if pod := s.queue.waitingPod(newObj.Namespace, newObj.Name); pod != nil {
			s.considerPod(pod)
		}
		return
	}
	for pod := range s.queue.unschedulable.byAge.all {
		s.considerPod(pod)
	}
}

// considerPod runs all hints that concern one pod.
func (s *wakeSearch) considerPod(pod *queuedPod) {
	s.note(pod, s.queue.decide(pod, &s.event))
	s.cost.Pods++
}

// considerRejected runs one hint of a plugin for the pods that the plugin rejected: once for each class, or for the pods
// that its PreQueueingHintFn names.
func (s *wakeSearch) considerRejected(rejectedBy rejector, hint registeredHint) {
	groups := s.queue.unschedulable.index.groups[rejectedBy]
	if len(groups) == 0 {
		return
	}
	if narrowed, ok := s.queue.runPreQueueingHint(rejectedBy.plugin, hint, &s.event); ok {
		for _, name := range narrowed.Pods {
			s.runForPod(rejectedBy, hint, name)
		}
		return
	}
	for _, group := range groups {
		if !s.event.interested.canUngate(group.gatingPlugin) {
			continue
		}
		for _, class := range group.classes {
			s.runForClass(rejectedBy.plugin, hint, class)
		}
	}
}

// runForClass runs a hint once for all pods of a class. An event about the waiting pod itself concerns one pod only, so
// that the hint is run for each.
func (s *wakeSearch) runForClass(plugin string, hint registeredHint, class *hintClass) {
	if class.final() {
		return
	}
	s.cost.Classes++
	if s.event.kind.Resource == fwk.TargetPod {
		for _, member := range class.members {
			if s.queue.runHint(plugin, hint.hint, &s.event, member.pod, nil) {
				s.note(member.pod, member.decision(plugin))
			}
			s.cost.Pods++
		}
		return
	}
	if !s.queue.runHint(plugin, hint.hint, &s.event, class.members[0].pod, class) {
		s.cost.Pods++
		return
	}
	for _, member := range class.members {
		s.note(member.pod, member.decision(plugin))
	}
	s.cost.Pods += len(class.members)
}

// runForPod runs a hint for a pod by name.
func (s *wakeSearch) runForPod(rejectedBy rejector, hint registeredHint, name types.NamespacedName) {
	pod := s.queue.waitingPod(name.Namespace, name.Name)
	if pod == nil || pod.profile() != rejectedBy.profile || !pod.rejectedBy(rejectedBy.plugin) ||
		!s.event.interested.canUngate(pod.GatingPlugin) || pod.decision.final(pod) {
		return
	}
	s.cost.Classes++
	s.cost.Pods++
	if s.queue.runHint(rejectedBy.plugin, hint.hint, &s.event, pod, nil) {
		s.note(pod, decisionOf(pod, rejectedBy.plugin))
	}
}

// note records what the event does to a pod, unless a better decision is already recorded.
func (s *wakeSearch) note(pod *queuedPod, found decision) {
	if found.strategy <= pod.decision.strategy || s.preCheck != nil && !s.preCheck(pod.Pod) {
		return
	}
	if pod.decision.strategy == Skip {
		s.woken = append(s.woken, pod)
	}
	pod.decision = found
}
