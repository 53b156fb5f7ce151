// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/queue"
	"github.com/rouse-scheduler/rouse/runtime"
	"github.com/rouse-scheduler/rouse/scheduler"
)

var (
	_ scheduler.Observer = &tracker{}
	_ queue.Observer     = &tracker{}
)

// tracker knows what became of every pod: it watches the changes of the cluster, the scheduler and the queue, and
// turns them into the trace. It is safe for concurrent use.
type tracker struct {
	scheduler.NopObserver
	queue.NopQueueObserver

	now func() Time
	// emit takes trace entries; nil if they are not wanted.
	emit func(TraceEntry)

	mu     sync.Mutex
	pods   map[types.UID]*podRecord
	byName map[string]*podRecord // the latest pod of each name
	// nominated has the pod that was nominated last for each node.
	nominated map[string]*podRecord
	latest    *podRecord // the last pod that was tried
	failed    *podRecord // the last pod whose attempt failed
	summary   Summary
	bound     int
	pending   int
	// changes counts what happened to the cluster besides statuses of pods. Attempts that fail alike while it stands
	// still will go on doing so.
	changes int
}

// podRecord is what became of one pod.
type podRecord struct {
	PodState
	order   int // of creation
	profile string
	// queued is where the queue has the pod.
	queued queue.Pool
	// gone tells that the pod is deleted or finished, terminating that it is about to be, preempted that it has to go for
	// another pod, which the trace says already.
	gone, terminating, preempted bool
	// failure is what the attempt came to that is not given back to the queue yet; nil outside that moment.
	failure *TraceEntry
	// outcome, epoch and repeats say how often in a row the pod failed alike while nothing changed.
	outcome string
	epoch   int
	repeats int
	// instant is when the pod was tried last, tries how often at that very instant.
	instant Time
	tries   int
	// skipped has the event and plugin of trace entries that need no repetition.
	skipped sets.Set[string]
}

func newTracker(now func() Time, emit func(TraceEntry)) *tracker {
	return &tracker{now: now, emit: emit, pods: make(map[types.UID]*podRecord), byName: make(map[string]*podRecord), nominated: make(map[string]*podRecord)}
}

func (r *podRecord) key() string { return r.Namespace + "/" + r.Name }

// entry begins a trace entry; the rest is up to the caller.
func (t *tracker) entry(r *podRecord, what What) TraceEntry {
	return TraceEntry{At: t.now(), Pod: r.key(), What: what}
}

func (t *tracker) trace(entry TraceEntry) {
	if t.emit != nil {
		t.emit(entry)
	}
}

// changed is told about every change before the informers are.
func (t *tracker) changed(c change) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !c.minor {
		t.changes++
	}
	previous, _ := c.previous.(*v1.Pod)
	current, _ := c.current.(*v1.Pod)
	switch {
	case previous == nil && current == nil:
	case previous == nil:
		t.podCreated(current)
	case current == nil:
		t.podDeleted(previous)
	default:
		t.podUpdated(previous, current)
	}
}

func (t *tracker) podCreated(pod *v1.Pod) {
	if !unfinishedPod(pod) {
		return
	}
	r := &podRecord{
		PodState: PodState{Namespace: pod.Namespace, Name: pod.Name, Node: pod.Spec.NodeName, RejectedBy: []string{}},
		order:    len(t.pods), profile: pod.Spec.SchedulerName,
		terminating: pod.DeletionTimestamp != nil,
	}
	t.pods[pod.UID] = r
	t.byName[r.key()] = r
	if r.Node == "" {
		t.pending++
	} else {
		t.bound++
	}
}

func (t *tracker) podUpdated(previous, current *v1.Pod) {
	r := t.pods[current.UID]
	if r == nil || r.gone {
		return
	}
	if node := current.Status.NominatedNodeName; node != "" && node != previous.Status.NominatedNodeName {
		t.nominated[node] = r
	}
	if message, preempted := preemptedBy(current); preempted && !r.terminating && current.DeletionTimestamp != nil {
		t.podPreempted(r, message)
	}
	r.terminating = current.DeletionTimestamp != nil
	if previous.Spec.NodeName == "" && current.Spec.NodeName != "" {
		r.Node, r.BoundAt = current.Spec.NodeName, t.now().String()
		r.RejectedBy, r.Message = []string{}, ""
		t.pending--
		t.bound++
		entry := t.entry(r, WhatBound)
		entry.Node = r.Node
		t.trace(entry)
	}
	if !unfinishedPod(current) {
		t.podGone(r, WhatDeleted, "the pod finished")
	}
}

func (t *tracker) podDeleted(pod *v1.Pod) {
	r := t.pods[pod.UID]
	if r == nil || r.gone {
		return
	}
	if message, preempted := preemptedBy(pod); preempted && !r.preempted {
		t.podPreempted(r, message)
		t.leave(r)
		return
	}
	t.podGone(r, WhatDeleted, "")
}

// podPreempted traces that a pod has to go, which it may take its time for, and for whom: the pod that was nominated for
// its node last.
func (t *tracker) podPreempted(r *podRecord, message string) {
	t.summary.Preempted++
	r.preempted = true
	entry := t.entry(r, WhatPreempted)
	entry.Node, entry.Message = r.Node, message
	if by := t.nominated[r.Node]; by != nil && by != r && !by.gone {
		entry.By = by.key()
	}
	t.trace(entry)
}

// leave notes that a pod is gone.
func (t *tracker) leave(r *podRecord) {
	r.gone = true
	if r.Node == "" {
		t.pending--
	} else {
		t.bound--
	}
}

func (t *tracker) podGone(r *podRecord, what What, message string) {
	t.leave(r)
	entry := t.entry(r, what)
	entry.Node, entry.Message = r.Node, message
	t.trace(entry)
}

// preemptedBy reports whether a pod was marked by preemption, and what the mark says.
func preemptedBy(pod *v1.Pod) (message string, preempted bool) {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == v1.DisruptionTarget && condition.Reason == v1.PodReasonPreemptionByScheduler {
			return condition.Message, true
		}
	}
	return "", false
}

// AttemptStarted implements scheduler.Observer.
func (t *tracker) AttemptStarted(pod *v1.Pod, attempt int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.summary.Attempts++
	r := t.pods[pod.UID]
	if r == nil {
		return
	}
	t.latest = r
	r.Attempts = attempt
	if now := t.now(); r.tries == 0 || r.instant != now {
		r.instant, r.tries = now, 0
	}
	r.tries++
	t.trace(t.entry(r, WhatAttempt))
}

// AttemptFailed implements scheduler.Observer. Where the queue puts the pod is known a moment later.
func (t *tracker) AttemptFailed(failure scheduler.Failure) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if failure.Attempt > 1 {
		t.summary.Wasted++
	}
	t.traceFailure()
	r := t.pods[failure.Pod.UID]
	if r == nil {
		return
	}
	r.RejectedBy = rejectors(failure)
	r.Message = failureMessage(failure.Status)
	if r.outcome != r.Message || r.epoch != t.changes {
		r.outcome, r.epoch, r.repeats = r.Message, t.changes, 0
	}
	r.repeats++
	entry := t.entry(r, WhatRejected)
	entry.Plugin, entry.Node, entry.Message = strings.Join(r.RejectedBy, ","), failure.Node, r.Message
	r.failure, t.failed = &entry, r
}

// flush traces the failure of a pod that did not go back to the queue.
func (t *tracker) flush() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.traceFailure()
}

func (t *tracker) traceFailure() {
	if t.failed != nil && t.failed.failure != nil {
		t.trace(*t.failed.failure)
		t.failed.failure = nil
	}
	t.failed = nil
}

func rejectors(failure scheduler.Failure) []string {
	if failure.Diagnosis == nil {
		return []string{}
	}
	return sets.List(failure.Diagnosis.UnschedulablePlugins.Union(failure.Diagnosis.PendingPlugins))
}

func failureMessage(status *fwk.Status) string {
	if err := status.AsError(); err != nil {
		return err.Error()
	}
	return status.Message()
}

// PodMoved implements queue.Observer.
func (t *tracker) PodMoved(move queue.PodMove) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.pods[move.Pod.Pod.UID]
	if r == nil {
		return
	}
	r.queued = move.To
	r.skipped = nil
	if move.To == queue.PoolGated {
		t.podGated(r, move)
		return
	}
	if move.From == queue.PoolGated {
		r.RejectedBy, r.Message = []string{}, ""
	}
	if r.failure != nil && move.Cause == queue.CauseAttemptFailed {
		entry := *r.failure
		r.failure = nil
		entry.Queue = queueOf(move.To)
		t.trace(entry)
		return
	}
	if woken(move) {
		t.summary.Wakeups++
		entry := t.entry(r, WhatWoken)
		entry.Event, entry.Plugin, entry.Queue = move.Cause, move.Plugin, queueOf(move.To)
		r.WokenBy = move.Cause
		t.trace(entry)
	}
}

func (t *tracker) podGated(r *podRecord, move queue.PodMove) {
	r.failure = nil
	r.RejectedBy = []string{move.Pod.GatingPlugin}
	r.Message = fmt.Sprintf("plugin %s does not let the pod be tried yet", move.Pod.GatingPlugin)
	entry := t.entry(r, WhatRejected)
	entry.Plugin, entry.Message = move.Pod.GatingPlugin, r.Message
	if move.Reason != "" {
		entry.Message += ": " + move.Reason
	}
	t.trace(entry)
}

// woken reports whether a pod that was waiting for an event, or for its backoff, is tried sooner because of one.
func woken(move queue.PodMove) bool {
	switch move.From {
	case queue.PoolUnschedulable, queue.PoolGated:
		return move.To == queue.PoolActive || move.To == queue.PoolBackoff
	case queue.PoolBackoff:
		return move.To == queue.PoolActive && move.Cause != queue.CauseBackoffComplete && move.Cause != queue.CausePopFromBackoff
	}
	return false
}

// queueOf returns the pool, if it is one whose pods are tried again without an event.
func queueOf(pool queue.Pool) Pool {
	switch pool {
	case queue.PoolActive:
		return PoolActive
	case queue.PoolBackoff:
		return PoolBackoff
	}
	return ""
}

// HintEvaluated implements queue.Observer.
func (t *tracker) HintEvaluated(result queue.HintResult) {
	if t.emit == nil || result.Hint != fwk.QueueSkip && result.Err == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for pod := range result.Pods {
		r := t.pods[pod.UID]
		if r == nil {
			continue
		}
		if result.Err != nil {
			entry := t.entry(r, WhatFailed)
			entry.Event, entry.Plugin, entry.Message = result.Event, result.Plugin, "the queueing hint failed: "+result.Err.Error()
			t.trace(entry)
			continue
		}
		again := result.Event + " " + result.Plugin
		if r.skipped.Has(again) {
			continue
		}
		if r.skipped == nil {
			r.skipped = sets.New[string]()
		}
		r.skipped.Insert(again)
		entry := t.entry(r, WhatSkipped)
		entry.Event, entry.Plugin = result.Event, result.Plugin
		t.trace(entry)
	}
}

// PluginFailed implements scheduler.Observer. Hints are left to HintEvaluated, which knows the event.
func (t *tracker) PluginFailed(failure runtime.PluginFailure) {
	if failure.Method == runtime.MethodQueueingHint {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	entry := TraceEntry{At: t.now(), What: WhatFailed, Plugin: failure.Plugin, Message: failure.Err.Error()}
	if failure.Pod != nil {
		entry.Pod = failure.Pod.Namespace + "/" + failure.Pod.Name
	}
	t.trace(entry)
}

// state returns what is known of a pod, apart from the records.
func (t *tracker) state(r *podRecord, responsible func(profile string) bool) PodState {
	state := r.PodState
	state.RejectedBy = slices.Clone(r.RejectedBy)
	switch {
	case r.gone:
		state.Pool = PoolDeleted
	case r.Node != "":
		state.Pool = PoolBound
	case r.terminating:
		state.Pool, state.Message = PoolDeleted, "the pod is being deleted"
	case r.queued == queue.PoolActive, r.queued == queue.PoolInFlight:
		state.Pool = PoolActive
	case r.queued == queue.PoolBackoff:
		state.Pool = PoolBackoff
	case r.queued == queue.PoolGated:
		state.Pool = PoolGated
	default:
		state.Pool = PoolUnschedulable
		if !responsible(r.profile) {
			state.Message = "no profile has the scheduler name " + r.profile
		}
	}
	return state
}

// sorted returns all records by namespace, name and age.
func (t *tracker) sorted() []*podRecord {
	records := make([]*podRecord, 0, len(t.pods))
	for _, r := range t.pods {
		records = append(records, r)
	}
	slices.SortFunc(records, func(a, b *podRecord) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.order, b.order))
	})
	return records
}
