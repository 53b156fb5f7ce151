// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/queue"
	"github.com/rouse-scheduler/rouse/scheduler"
	"github.com/rouse-scheduler/rouse/simulate"
)

var (
	_ queue.Observer     = &auditObserver{}
	_ scheduler.Observer = &auditObserver{}
	_ simulate.Watcher   = &auditObserver{}
)

// Auditor compares the decisions to wake pods with what the plugins say, while a simulation runs:
//
//	auditor := inspect.NewAuditor(ctx)
//	auditor.Observe(&options)
//	cluster, err := simulate.NewCluster(ctx, options)
//	...
//	auditor.Watch(cluster)
//	err = cluster.Replay(input)
//	...
//	audit := auditor.Audit()
//
// [RunAudit] does all that.
type Auditor struct {
	ctx       context.Context
	cluster   *simulate.Cluster
	evaluator *evaluator
	counts    decisionCounts
	// followed are the classes that have waiting pods to evaluate, and unclassed the pods whose class is to be determined
	// again.
	followed  []*podClass
	unclassed map[*waitingPod]bool
	// newlySchedulable are the waiting pods that became schedulable since virtual time advanced.
	newlySchedulable []*waitingPod
	// unevaluated counts the pods that were rejected by something after Filter.
	unevaluated int
	err         error
	failures    *failures

	// mu guards the following fields: plugins may have goroutines that use the queue.
	mu       sync.Mutex
	waiting  map[types.UID]*waitingPod
	observed observations
}

// observations are what the queue and the scheduler reported since the last change.
type observations struct {
	// added are the pods that began to wait, and woken those that were woken.
	added   []*waitingPod
	woken   []wokenPod
	answers map[*waitingPod]hintAnswers
	// released is a pod whose node was reserved and given back; nil if there is none.
	released *v1.Pod
}

// waitingPod is a pod that waits for an event, from one attempt to the next.
type waitingPod struct {
	pod       *v1.Pod
	rejectors []string
	// class is as of the latest version of the pod, and last what the auditor evaluated last.
	class *podClass
	last  *feasibility
	// unevaluated is true if something after Filter rejected the pod.
	unevaluated bool
	// missedOn has by node the rejectors that stopped rejecting it without having the pod woken, because another plugin still
	// rejected it.
	missedOn map[string][]MissedBy
	// unblockedBy is the change that made the pod schedulable at this instant; nil if none did.
	unblockedBy *unblockingChange
	// missed are the indexes of the wake-ups that the pod missed since its last attempt.
	missed []int
}

// wokenPod is a waiting pod that was woken.
type wokenPod struct {
	*waitingPod
	at            simulate.Time
	event, plugin string
}

// unblockingChange is a change that made a waiting pod schedulable, at once or by preemption.
type unblockingChange struct {
	events   []fwk.ClusterEvent
	change   string
	missedBy []MissedBy
	// couldPreempt reports whether preemption would have helped before.
	couldPreempt bool
}

// hintAnswers are what the hints of plugins said about a pod, by event and plugin.
type hintAnswers map[rowKey]fwk.QueueingHint

// add enters an answer. A plugin that was asked more than once, because it registered the event more than once, wants the
// pod back if any answer says so.
func (a hintAnswers) add(key rowKey, hint fwk.QueueingHint) {
	if before, answered := a[key]; !answered || before == fwk.QueueSkip {
		a[key] = hint
	}
}

// auditObserver is an auditor as the observer of a scheduler, so that its methods are not those of [Auditor].
type auditObserver struct {
	scheduler.NopObserver
	queue.NopQueueObserver
	*Auditor
}

// NewAuditor returns an auditor for one simulation. The context is passed to the plugins that it calls.
func NewAuditor(ctx context.Context) *Auditor {
	return &Auditor{ctx: ctx, counts: newDecisionCounts(), waiting: map[types.UID]*waitingPod{}, unclassed: map[*waitingPod]bool{}, failures: newFailures()}
}

// Observe makes the auditor the observer of the scheduler and of the queue.
func (a *Auditor) Observe(options *simulate.Options) {
	observer := &auditObserver{Auditor: a}
	options.Observers.Queue, options.Observers.Scheduler = observer, observer
}

// Watch begins the audit of a cluster that was made with the options given to [Auditor.Observe]. It must be called
// before anything happens in the cluster.
func (a *Auditor) Watch(cluster *simulate.Cluster) {
	a.cluster, a.evaluator = cluster, newEvaluator(a.ctx, cluster)
	a.evaluator.failures = a.failures
	cluster.Watch(&auditObserver{Auditor: a})
}

// PodMoved implements queue.Observer.
func (a *auditObserver) PodMoved(move queue.PodMove) {
	a.mu.Lock()
	defer a.mu.Unlock()
	pod := move.Pod.Pod
	if known := a.waiting[pod.UID]; known != nil && move.From == queue.PoolUnschedulable {
		delete(a.waiting, pod.UID)
		a.observed.woken = append(a.observed.woken, wokenPod{known, a.cluster.Now(), move.Cause, move.Plugin})
	}
	if move.To == queue.PoolUnschedulable {
		waiting := &waitingPod{pod: pod, rejectors: sets.List(move.Pod.RejectorPlugins())}
		a.waiting[pod.UID] = waiting
		a.observed.added = append(a.observed.added, waiting)
	}
}

// HintEvaluated implements queue.Observer. Answers about events in the past of a pod, which are asked for when its
// attempt failed, are no decisions about a pod that waits.
func (a *auditObserver) HintEvaluated(result queue.HintResult) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for pod := range result.Pods {
		if result.Err != nil {
			a.failures.addHint(a.cluster.Now(), pod, result)
			continue
		}
		waiting := a.waiting[pod.UID]
		if waiting == nil {
			continue
		}
		if a.observed.answers == nil {
			a.observed.answers = map[*waitingPod]hintAnswers{}
		}
		if a.observed.answers[waiting] == nil {
			a.observed.answers[waiting] = hintAnswers{}
		}
		a.observed.answers[waiting].add(rowKey{result.Event, result.Plugin}, result.Hint)
	}
}

// AttemptFailed implements scheduler.Observer. A pod that gives its reserved node back frees it, which is announced as the
// deletion of an assigned pod.
func (a *auditObserver) AttemptFailed(failure scheduler.Failure) {
	a.noteFailedAttempt(failure)
	if failure.Node != "" {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.observed.released = failure.Pod
	}
}

// takeObserved returns the observations and clears them. Pods that were woken are not followed any more.
func (a *Auditor) takeObserved() observations {
	a.mu.Lock()
	taken := a.observed
	a.observed = observations{}
	a.mu.Unlock()
	for _, woken := range taken.woken {
		a.unfollow(woken.waitingPod)
	}
	return taken
}

// follow has a waiting pod, which was evaluated, evaluated with its class from now on.
func (a *Auditor) follow(s *waitingPod) {
	c := s.class
	switch {
	case len(c.waiting) == 0:
		c.waiting, c.evaluated = map[*waitingPod]bool{}, s.last
		a.followed = append(a.followed, c)
	case c.evaluated != s.last:
		c.evaluated = nil
	}
	c.waiting[s] = true
}

// unfollow ends the evaluation of a waiting pod, and reports whether it was followed.
func (a *Auditor) unfollow(s *waitingPod) bool {
	if a.unclassed[s] {
		delete(a.unclassed, s)
		return true
	}
	c := s.class
	if c == nil || !c.waiting[s] {
		return false
	}
	if delete(c.waiting, s); len(c.waiting) == 0 {
		a.followed = slices.DeleteFunc(a.followed, func(other *podClass) bool { return other == c })
	}
	return true
}

// waitingPod returns the pod with a UID if it waits for an event, or nil.
func (a *Auditor) waitingPod(uid types.UID) *waitingPod {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.waiting[uid]
}

// stillWaiting reports whether a pod still waits since the same attempt.
func (a *Auditor) stillWaiting(s *waitingPod) bool { return a.waitingPod(s.pod.UID) == s }
