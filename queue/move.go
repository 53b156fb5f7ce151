// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"
)

// Move tells the queue that something happened in the cluster: event is what, oldObj and newObj are the versions of the
// object before and after, nil where there is none. Of the pods that wait for an event, those move to the active or
// backoff pool for which a plugin that rejected them wants it, by its queueing hint. preCheck limits that to some pods;
// nil means all. A wildcard event moves every pod, or the one that newObj is, without asking anyone.
//
// An event that no plugin of any profile registered costs a look into a map. Others are also kept for the pods in
// flight, whatever preCheck says.
func (q *Queue) Move(event fwk.ClusterEvent, oldObj, newObj any, preCheck func(*v1.Pod) bool) {
	q.mu.Lock()
	defer q.unlock()
	if !q.events.interest(event).none() {
		q.move(q.events.occurrence(event, oldObj, newObj), preCheck)
	}
}

func (q *Queue) move(what occurrence, preCheck func(*v1.Pod) bool) {
	s := &q.sweep
	*s = sweep{queue: q, what: what, preCheck: preCheck, woken: s.woken[:0]}
	s.search()
	s.cost.Woken = len(s.woken)
	q.wake(s.woken, what.label())
	q.count(s.cost)
	q.record(what, "")
	clear(s.woken)
	*s = sweep{woken: s.woken}
}

// record keeps an event for the pods in flight, or for one of them. It needs mu.
func (q *Queue) record(what occurrence, onlyFor types.UID) {
	q.readyMu.Lock()
	defer q.readyMu.Unlock()
	q.inFlight.record(what, onlyFor)
}

// wake requeues pods by what their wake fields say, those first that have waited the longest in their pool.
func (q *Queue) wake(pods []*queuedPod, cause string) {
	pods = q.unschedulable.inOrder(pods)
	q.unschedulable.index.dropClasses(pods)
	q.requeueAll(pods, cause)
}

// sweep finds the waiting pods that one event wakes.
type sweep struct {
	queue    *Queue
	what     occurrence
	preCheck func(*v1.Pod) bool
	// woken has the pods whose wake field says what becomes of them.
	woken []*queuedPod
	cost  EventCost
}

func (s *sweep) search() {
	if s.what.interest.wildcard {
		s.searchWildcard()
		return
	}
	for _, waiting := range s.what.interest.profiles {
		for _, plugin := range waiting.plugins {
			for _, hint := range plugin.hints {
				s.searchRejected(rejector{waiting.profile, plugin.plugin}, hint)
			}
		}
	}
	for _, stray := range s.queue.unschedulable.index.strays.members {
		s.judge(stray.pod)
	}
}

// searchWildcard looks at every pod, which is what a wildcard is for, or at the one that it is for.
func (s *sweep) searchWildcard() {
	if newObj, ok := s.what.newObj.(*v1.Pod); ok && newObj != nil {
		if pod := s.queue.waiting(newObj.Namespace, newObj.Name); pod != nil {
			s.judge(pod)
		}
		return
	}
	for pod := range s.queue.unschedulable.longest.all {
		s.judge(pod)
	}
}

// judge asks whom there is to ask about one pod.
func (s *sweep) judge(pod *queuedPod) {
	s.wakeUp(pod, s.queue.judge(pod, &s.what))
	s.cost.Pods++
}

// searchRejected asks one hint of a plugin about the pods that the plugin rejected, class by class, or only about the
// pods that the hint is narrowed to.
func (s *sweep) searchRejected(rejectedBy rejector, hint registeredHint) {
	groups := s.queue.unschedulable.index.groups[rejectedBy]
	if len(groups) == 0 {
		return
	}
	if narrowed, ok := s.queue.narrow(rejectedBy.plugin, hint, &s.what); ok {
		for _, name := range narrowed.Pods {
			s.askAboutPod(rejectedBy, hint, name)
		}
		return
	}
	for _, group := range groups {
		if !s.what.interest.liftsGate(group.gatingPlugin) {
			continue
		}
		for _, class := range group.classes {
			s.askAboutClass(rejectedBy.plugin, hint, class)
		}
	}
}

// askAboutClass asks a hint once for all pods of a class. An event that is about the waiting pod itself means something
// else to every pod, alike as they may be.
func (s *sweep) askAboutClass(plugin string, hint registeredHint, class *hintClass) {
	if class.settled() {
		return
	}
	s.cost.Classes++
	if s.what.event.Resource == fwk.TargetPod {
		for _, member := range class.members {
			if s.queue.ask(plugin, hint.hint, &s.what, member.pod, nil) {
				s.wakeUp(member.pod, member.worth(plugin))
			}
			s.cost.Pods++
		}
		return
	}
	if !s.queue.ask(plugin, hint.hint, &s.what, class.members[0].pod, class) {
		s.cost.Pods++
		return
	}
	for _, member := range class.members {
		s.wakeUp(member.pod, member.worth(plugin))
	}
	s.cost.Pods += len(class.members)
}

// askAboutPod asks a hint for a pod by name.
func (s *sweep) askAboutPod(rejectedBy rejector, hint registeredHint, name types.NamespacedName) {
	pod := s.queue.waiting(name.Namespace, name.Name)
	if pod == nil || pod.profile() != rejectedBy.profile || !pod.rejectedBy(rejectedBy.plugin) ||
		!s.what.interest.liftsGate(pod.GatingPlugin) || pod.wake.final(pod) {
		return
	}
	s.cost.Classes++
	s.cost.Pods++
	if s.queue.ask(rejectedBy.plugin, hint.hint, &s.what, pod, nil) {
		s.wakeUp(pod, worth(pod, rejectedBy.plugin))
	}
}

// wakeUp notes what the event is worth to a pod, unless something better is noted already.
func (s *sweep) wakeUp(pod *queuedPod, verdict verdict) {
	if verdict.strategy <= pod.wake.strategy || s.preCheck != nil && !s.preCheck(pod.Pod) {
		return
	}
	if pod.wake.strategy == Skip {
		s.woken = append(s.woken, pod)
	}
	pod.wake = verdict
}
