// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"container/list"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/rouse-scheduler/rouse/framework"
)

// inFlight knows the pods that were popped and are neither given back nor done, and what happened meanwhile
// (kube-scheduler: inFlightEvents): one log of events for all of them, in which every pod remembers the end as of when
// it was popped. Events that no pod needs any more are unlinked. Queue.readyMu guards it; events are added and read with
// Queue.mu held as well.
type inFlight struct {
	pods map[types.UID]*inFlightPod
	// oldestFirst has the pods that still need the log, as *inFlightPod.
	oldestFirst *list.List
	// before and last span the log: events that some pod needs come after before, up to last.
	before, last *recordedEvent
	length       int
	// bytes is about how much memory the events and their objects take.
	bytes int
	// limit is how many events the log holds at most.
	limit int
	// doneWithEvents is how many of the pods need no events any more.
	doneWithEvents int
	// observer may be nil.
	observer Observer
}

// inFlightPod is a pod in flight.
type inFlightPod struct {
	key      types.NamespacedName
	attempts int
	since    time.Time
	// poppedEarly is the field of the queued pod.
	poppedEarly bool
	// before is the last event from before the pod was popped; nil if the log overflowed since, or the pod needs no events
	// any more.
	before *recordedEvent
	// element is the place in oldestFirst; nil where before is.
	element *list.Element
	// doneWithEvents is set if the pod needs no events any more.
	doneWithEvents bool
	// gone is set if the pod was taken out of the queue's care since it was popped, because it was deleted or has a node.
	gone bool
	// latest is the version of the last update since the pod was popped; nil if there was none.
	latest *framework.PodInfo
}

// recordedEvent is an event of the log.
type recordedEvent struct {
	clusterEvent
	// onlyFor is the pod that the event is about, if it concerns no other: an update of a pod in flight, or a request
	// to activate it.
	onlyFor types.UID
	bytes   int
	next    *recordedEvent
}

// maxInFlightBytes bounds the memory that events in the log keep, since their objects may be gone otherwise.
const maxInFlightBytes = 12 << 20

// eventSize is what an event takes without its objects.
const eventSize = 256

func newInFlight(limit int, observer Observer) inFlight {
	start := &recordedEvent{}
	return inFlight{
		pods:        map[types.UID]*inFlightPod{},
		oldestFirst: list.New(),
		before:      start,
		last:        start,
		limit:       limit,
		observer:    observer,
	}
}

func (f *inFlight) has(uid types.UID) bool { return f.pods[uid] != nil }

func (f *inFlight) add(pod *queuedPod, now time.Time) {
	entry := &inFlightPod{key: pod.key(), attempts: pod.Attempts, since: now, poppedEarly: pod.poppedEarly, before: f.last}
	entry.element = f.oldestFirst.PushBack(entry)
	f.pods[pod.Pod.UID] = entry
	f.observe(CausePopped, 1)
}

// record adds an event, if any pod in flight may need it. When the log is full, it is no longer kept for the oldest pods:
// they are tried again after their backoff, whatever happened.
func (f *inFlight) record(event clusterEvent, onlyFor types.UID) {
	if f.oldestFirst.Len() == 0 {
		return
	}
	bytes := eventSize + objectSize(event.oldObj) + objectSize(event.newObj)
	f.last.next = &recordedEvent{clusterEvent: event, onlyFor: onlyFor, bytes: bytes}
	f.last = f.last.next
	f.length++
	f.bytes += bytes
	f.observe(event.label(), 1)
	for f.length > f.limit || f.bytes > maxInFlightBytes {
		f.evictOldest()
	}
}

// evictOldest no longer keeps the log for the oldest pods, and forgets the events that no other pod needs.
func (f *inFlight) evictOldest() {
	full := f.before
	for front := f.oldestFirst.Front(); front != nil && front.Value.(*inFlightPod).before == full; front = f.oldestFirst.Front() {
		pod := f.oldestFirst.Remove(front).(*inFlightPod)
		pod.before, pod.element = nil, nil
	}
	f.trim()
}

// done forgets a pod and the events that only it needed.
func (f *inFlight) done(uid types.UID) {
	pod := f.pods[uid]
	if pod == nil {
		return
	}
	f.endEvents(pod)
	delete(f.pods, uid)
	f.doneWithEvents--
}

// endEvents forgets the events that only a pod needed, which stays in flight.
func (f *inFlight) endEvents(pod *inFlightPod) {
	if pod == nil || pod.doneWithEvents {
		return
	}
	pod.doneWithEvents = true
	f.doneWithEvents++
	f.observe(CausePopped, -1)
	if pod.element != nil {
		f.oldestFirst.Remove(pod.element)
		pod.before, pod.element = nil, nil
		f.trim()
	}
}

// doneAll forgets everything.
func (f *inFlight) doneAll() {
	for uid := range f.pods {
		f.done(uid)
	}
}

// trim unlinks the events from before the oldest pod was popped.
func (f *inFlight) trim() {
	keepAfter := f.last
	if front := f.oldestFirst.Front(); front != nil {
		keepAfter = front.Value.(*inFlightPod).before
	}
	for f.before != keepAfter {
		f.before = f.before.next
		f.length--
		f.bytes -= f.before.bytes
		f.observe(f.before.label(), -1)
	}
	if f.oldestFirst.Len() == 0 {
		f.before = &recordedEvent{} // lets go of the objects of the last event
		f.last = f.before
	}
}

func (f *inFlight) observe(event string, delta int) {
	if f.observer != nil {
		f.observer.InFlightEvents(event, delta)
	}
}
