// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/clock"

	"github.com/rouse-scheduler/rouse/framework"
)

var (
	_ fwk.PodNominator = &Queue{}
	_ fwk.PodActivator = &Queue{}
)

// ErrClosed is what [Queue.Pop] returns once the queue is closed and has no pod left to pop.
var ErrClosed = errors.New("the scheduling queue is closed")

// defaultMaxBatch has Pop wait for some dozens of microseconds.
const defaultMaxBatch = 64

// Queue is the scheduling queue (kube-scheduler: PriorityQueue). Its methods are safe for concurrent use.
type Queue struct {
	// These never change.
	ctx                context.Context
	logger             klog.Logger
	clock              clock.PassiveClock
	less               fwk.LessFunc // another one while q.comparing calls its argument
	withLess           func(do func(less fwk.LessFunc))
	profiles           map[string]Profile
	preEnqueue         map[string]*preEnqueuePlugins // by profile
	initialBackoff     time.Duration
	maxBackoff         time.Duration
	maxInUnschedulable time.Duration
	popFromBackoff     bool
	observer           Observer
	batchObserver      BatchObserver // the same, or nil
	maxBatch           int           // how many pods become poppable at once when many are requeued, while Pop waits

	// Nominator knows the nominated pods; the queue keeps it up to date. It has its own lock.
	*Nominator

	// Locks are taken in this order: mu, readyMu, the lock of the nominator.

	// mu is held over everything that changes the queue, except for Pop, TryPop and Done, which must not wait for it:
	// hints and PreEnqueue plugins run under it. It guards the following fields, and pods that wait for an event.
	mu            sync.Mutex
	unschedulable unschedulablePods
	events        eventIndex
	order         uint64 // the order of the last pod that came into a pool
	eventCount    int64
	lastEvent     EventCost
	allEvents     EventCost
	// becamePoppable is set until mu is released, which is when those that wait in Pop are woken, so that they take the best
	// pod and not the first.
	becamePoppable bool
	// search, moves and hintSubject are memory for one call after another, so that an event costs no allocation.
	search      wakeSearch
	moves       []PodMove
	hintSubject hintSubject
	hintPods    iter.Seq[*v1.Pod]
	// prefetched has no meaning; without a result, prefetch would be optimized away.
	prefetched int
	// gatingReason is what the last PreEnqueue plugin said that was called; mu guards it.
	gatingReason string

	// readyMu is held for moments only. It guards the following fields, and pods of the heaps. A pod can be popped as
	// soon as readyMu is free, unless it was taken out of its heap.
	readyMu     sync.Mutex
	ready       *sync.Cond // a pod became poppable, or the queue was closed
	pods        map[types.NamespacedName]*queuedPod
	active      podHeap
	backoff     podHeap // of pods that can be popped before their backoff ends
	fullBackoff podHeap // of pods that can't
	inFlight    inFlight
	cycles      int64
	closed      bool
}

// New returns an empty queue. Plugins get the context when they are run; it does not end the queue. An error says which
// options are wrong.
func New(ctx context.Context, options Options) (*Queue, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("creating the scheduling queue: %w", err)
	}
	q := &Queue{
		ctx:                ctx,
		logger:             options.Logger,
		clock:              options.Clock,
		less:               options.Less,
		withLess:           options.WithLess,
		profiles:           options.Profiles,
		initialBackoff:     options.InitialBackoff,
		maxBackoff:         options.MaxBackoff,
		maxInUnschedulable: options.MaxInUnschedulable,
		popFromBackoff:     !options.DisablePopFromBackoff,
		preEnqueue:         preEnqueueByProfile(options.Profiles),
		Nominator:          options.Nominator,
		events:             newEventIndex(options.Profiles),
		pods:               map[types.NamespacedName]*queuedPod{},
		fullBackoff:        newPodHeap(fullBackoffLess),
		inFlight:           newInFlight(options.MaxInFlightEvents, options.Observer),
	}
	q.maxBatch = defaultMaxBatch
	q.observe(options.Observer)
	q.hintPods = q.hintSubject.all
	q.active, q.backoff = newPodHeap(q.activeLess), newPodHeap(q.backoffLess)
	if q.withLess != nil {
		q.active.comparing, q.backoff.comparing = q.comparing, q.comparing
	}
	q.unschedulable.index = requeueIndex{
		groups:       map[rejector][]*classGroup{},
		knownProfile: func(profile string) bool { _, ok := q.profiles[profile]; return ok },
		classOf:      q.classOf,
	}
	q.ready = sync.NewCond(&q.readyMu)
	return q, nil
}

// observe has an observer told, which may be nil.
func (q *Queue) observe(observer Observer) {
	q.observer, q.inFlight.observer = observer, observer
	q.batchObserver, _ = observer.(BatchObserver)
}

// unlock releases mu, and tells those who wait in Pop if there is something to pop.
func (q *Queue) unlock() {
	poppable := q.becamePoppable
	q.becamePoppable = false
	q.mu.Unlock()
	if poppable {
		q.ready.Broadcast()
	}
}

// Add puts a new pod into the queue, in place of one of the same name. It becomes active unless a PreEnqueue plugin
// gates it. Its nomination, if its status has one, is known before it can be popped.
func (q *Queue) Add(pod *v1.Pod) {
	info := framework.NewQueuedPodInfo(pod, q.clock.Now())
	q.mu.Lock()
	defer q.unlock()
	q.add(info)
}

func (q *Queue) newQueuedPod(info *framework.QueuedPodInfo, pool Pool) *queuedPod {
	pod := &queuedPod{QueuedPodInfo: info, pool: pool, heapIndex: -1}
	pod.preEnqueue = q.preEnqueue[pod.profile()]
	return pod
}

func (q *Queue) add(info *framework.QueuedPodInfo) {
	if replaced := q.remove(info.Pod); replaced != nil {
		q.DeleteNominatedPodIfExists(replaced.Pod)
	}
	q.setGone(info.Pod, false)
	q.AddNominatedPod(q.logger, info.PodInfo, nil)
	q.place(q.newQueuedPod(info, PoolNone), CauseAdded, decision{strategy: Immediately})
}

// Update takes over a newer version of an unscheduled pod. If the pod waits for an event, the update is one: the hints
// of the plugins that rejected it are asked. If it is in flight, they are asked when it is given back. An unknown pod,
// or one that replaces another of the same name, is added.
func (q *Queue) Update(oldPod, newPod *v1.Pod) {
	if oldPod == nil {
		oldPod = newPod
	}
	updates := framework.PodEvents(oldPod, newPod, true)
	version := framework.NewQueuedPodInfo(newPod, q.clock.Now())
	q.mu.Lock()
	defer q.unlock()
	if q.updateReady(oldPod, version, updates) {
		return
	}
	pod := q.waitingPod(newPod.Namespace, newPod.Name)
	if pod == nil || pod.Pod.UID != newPod.UID {
		q.DeleteNominatedPodIfExists(oldPod)
		q.add(version)
		return
	}
	q.unschedulable.index.remove(pod)
	q.replaceVersion(pod, version)
	q.unschedulable.index.add(pod)
	q.UpdateNominatedPod(q.logger, oldPod, version.PodInfo)
	for _, event := range updates {
		pool := q.applyUpdate(pod, q.events.newEvent(event, oldPod, newPod))
		if pool == PoolActive || pool == PoolBackoff && q.popFromBackoff {
			return // it may be popped already
		}
	}
}

// applyUpdate places a waiting pod by the decision on one of several updates, unless it would stay where it is, and returns
// its pool.
func (q *Queue) applyUpdate(pod *queuedPod, event clusterEvent) Pool {
	decided := q.decide(pod, &event)
	if decided.strategy == Skip || decided.strategy == AfterBackoff && pod.pool == PoolBackoff {
		return pod.pool
	}
	if pod.pool != PoolBackoff && event.allowsEarlyPop() {
		pod.poppedEarly = false
	}
	if pod.pool == PoolBackoff {
		q.readyMu.Lock()
		q.removeFromHeap(pod)
		q.readyMu.Unlock()
	}
	return q.place(pod, event.label(), decided)
}

// updateReady updates a pod that is in flight or can be popped, without giving it a chance to change from one to the
// other meanwhile, and reports whether there was one. It needs mu.
func (q *Queue) updateReady(oldPod *v1.Pod, version *framework.QueuedPodInfo, updates []fwk.ClusterEvent) bool {
	newPod := version.Pod
	q.readyMu.Lock()
	defer q.readyMu.Unlock()
	if entry := q.inFlight.pods[newPod.UID]; entry != nil {
		entry.latest = version.PodInfo
		for _, event := range updates {
			if !entry.doneWithEvents {
				q.inFlight.record(q.events.newEvent(event, oldPod, newPod), newPod.UID)
			}
		}
		return true
	}
	pod := q.pods[podKey(newPod.Namespace, newPod.Name)]
	if pod == nil || pod.pool.waits() || pod.Pod.UID != newPod.UID {
		return false
	}
	q.replaceVersion(pod, version)
	if pod.pool == PoolActive {
		q.active.fix(pod)
	} else {
		q.backoffHeap(pod).fix(pod)
	}
	q.UpdateNominatedPod(q.logger, oldPod, version.PodInfo)
	return true
}

// replaceVersion gives a pod what a record of a newer version of it says about the version, and keeps its history.
// Whoever has the old version keeps that.
func (q *Queue) replaceVersion(pod *queuedPod, version *framework.QueuedPodInfo) {
	pod.PodInfo = version.PodInfo
	pod.preEnqueue = q.preEnqueue[pod.profile()]
}

// Delete takes a pod out of the queue, if it is there, and withdraws its nomination. A pod in flight stays in flight, but does
// not come back.
func (q *Queue) Delete(pod *v1.Pod) {
	q.mu.Lock()
	defer q.unlock()
	q.DeleteNominatedPodIfExists(pod)
	q.remove(pod)
	q.setGone(pod, true)
}

// setGone notes whether a pod is to come back, if it is in flight. It needs mu.
func (q *Queue) setGone(pod *v1.Pod, gone bool) {
	q.readyMu.Lock()
	defer q.readyMu.Unlock()
	if entry := q.inFlight.pods[pod.UID]; entry != nil {
		entry.gone = gone
	}
}

// remove takes the pod that has the name of the given one out of the queue and returns it, nil if there is none. It
// needs mu.
func (q *Queue) remove(named *v1.Pod) *queuedPod {
	q.readyMu.Lock()
	defer q.readyMu.Unlock()
	pod := q.pods[podKey(named.Namespace, named.Name)]
	if pod == nil {
		return nil
	}
	delete(q.pods, pod.key())
	if pod.pool.waits() {
		q.unschedulable.remove(pod)
	} else {
		q.removeFromHeap(pod)
	}
	q.observeMove(PodMove{Pod: pod.QueuedPodInfo, From: pod.pool, To: PoolNone, Cause: CauseDeleted})
	pod.pool = PoolNone
	return pod
}

// waitingPod returns the pod of a name if it waits for an event, nil otherwise. It needs mu.
func (q *Queue) waitingPod(namespace, name string) *queuedPod {
	q.readyMu.Lock()
	defer q.readyMu.Unlock()
	if pod := q.pods[podKey(namespace, name)]; pod != nil && pod.pool.waits() {
		return pod
	}
	return nil
}

// AddUnschedulable gives back a popped pod whose attempt failed (kube-scheduler: AddUnschedulablePodIfNotPresent). If it was
// updated meanwhile the queue goes on with the version of the last update, as that can be newer than the one in info. Its
// UnschedulablePlugins and PendingPlugins say which plugins rejected it; without any, the failure was an error and it is
// tried again after a backoff. Otherwise it waits for an event that wakes it, unless one happened while it was in
// flight. A pod that was deleted in mid-attempt ([Queue.Delete]) is not taken. The pod is no longer in flight afterwards, whatever the outcome, and info belongs to the queue unless there is
// an error: the pod is in the queue already.
func (q *Queue) AddUnschedulable(info *framework.QueuedPodInfo) error {
	q.mu.Lock()
	defer q.unlock()
	if pool := q.poolOf(info.Pod); pool != PoolNone {
		q.Done(info.Pod.UID)
		return fmt.Errorf("giving back a pod after a failed attempt: pod %v is already present in the %s queue", klog.KObj(info.Pod), pool)
	}
	pod := q.newQueuedPod(info, PoolInFlight)
	if pod.rejected() {
		info.UnschedulableCount++
		info.ConsecutiveErrorsCount = 0
	} else {
		info.ConsecutiveErrorsCount++
	}
	info.Timestamp = q.clock.Now()
	info.BackoffExpiration, info.FlushTimestamp = time.Time{}, time.Time{}
	info.WasFlushedFromUnschedulable = false
	decided, gone := q.decideAfterAttempt(pod)
	q.Done(info.Pod.UID) // before the pod can be popped again
	if gone {
		return nil
	}
	q.place(pod, CauseAttemptFailed, decided)
	return nil
}

// poolOf needs mu, without which the answer does not last.
func (q *Queue) poolOf(pod *v1.Pod) Pool {
	q.readyMu.Lock()
	defer q.readyMu.Unlock()
	if queued := q.pods[podKey(pod.Namespace, pod.Name)]; queued != nil {
		return queued.pool
	}
	return PoolNone
}
