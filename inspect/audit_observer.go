// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"maps"
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
	_ queue.Observer     = &Auditor{}
	_ scheduler.Observer = &Auditor{}
	_ simulate.Watcher   = &Auditor{}
)

// Auditor judges the decisions of a simulation while it runs:
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
	scheduler.NopObserver
	queue.NopQueueObserver

	ctx     context.Context
	cluster *simulate.Cluster
	truth   *truth
	ledger  ledger
	// turned are the sleepers that came to fit since time passed last.
	turned []*sleeper
	// unjudged counts the pods that fitted when they fell asleep.
	unjudged int
	fault    error
	failures *failures

	// mu guards the following fields: plugins may have goroutines that use the queue.
	mu     sync.Mutex
	asleep map[types.UID]*sleeper
	news   news
}

// news is what happened since the auditor looked last.
type news struct {
	// fallen are the pods that fell asleep, and woken those that were woken.
	fallen []*sleeper
	woken  []waking
	said   map[*sleeper]answers
	// released is a pod that had got a node and lost it; nil if there is none.
	released *v1.Pod
}

// sleeper is a pod that waits for an event, from one attempt to the next.
type sleeper struct {
	pod       *v1.Pod
	rejectors []string
	// class is as of the latest version of the pod, and known what was true when the auditor looked last.
	class *class
	known *judgement
	// unjudged tells that Filter was not what rejected the pod.
	unjudged bool
	// let has the events that rejectors let pass when they stopped rejecting a node, which another plugin may still reject.
	let map[string][]Blame
	// turn is how the pod came to fit at this instant; nil if it did not.
	turn *turn
	// missed are the indexes of the wake-ups that the pod missed in this sleep.
	missed []int
}

// waking is a sleeper that was woken.
type waking struct {
	*sleeper
	at            simulate.Time
	event, plugin string
}

// turn is the change that made a sleeper fit, or have room made for it.
type turn struct {
	events []fwk.ClusterEvent
	change string
	blame  []Blame
	// hadRoom tells that preemption could have helped before.
	hadRoom bool
}

// answers are what the hints of plugins said about a pod, by event and plugin.
type answers map[rowKey]fwk.QueueingHint

// add enters an answer. A plugin that was asked more than once, because it registered the event more than once, wants the
// pod back if any answer says so.
func (a answers) add(key rowKey, hint fwk.QueueingHint) {
	if before, asked := a[key]; !asked || before == fwk.QueueSkip {
		a[key] = hint
	}
}

// NewAuditor returns an auditor for one simulation. Plugins are given the context when they are asked for the truth.
func NewAuditor(ctx context.Context) *Auditor {
	return &Auditor{ctx: ctx, ledger: newLedger(), asleep: map[types.UID]*sleeper{}, failures: newFailures()}
}

// Observe makes the auditor the observer of the scheduler and of the queue.
func (a *Auditor) Observe(options *simulate.Options) {
	options.QueueObserver, options.SchedulerObserver = a, a
}

// Watch begins the audit of a cluster that was made with the options given to [Auditor.Observe]. It must be called
// before anything happens in the cluster.
func (a *Auditor) Watch(cluster *simulate.Cluster) {
	a.cluster, a.truth = cluster, newTruth(a.ctx, cluster)
	a.truth.failures = a.failures
	cluster.Watch(a)
}

// PodMoved implements queue.Observer.
func (a *Auditor) PodMoved(move queue.PodMove) {
	a.mu.Lock()
	defer a.mu.Unlock()
	pod := move.Pod.Pod
	if known := a.asleep[pod.UID]; known != nil && move.From == queue.PoolUnschedulable {
		delete(a.asleep, pod.UID)
		a.news.woken = append(a.news.woken, waking{known, a.cluster.Now(), move.Cause, move.Plugin})
	}
	if move.To == queue.PoolUnschedulable {
		fallen := &sleeper{pod: pod, rejectors: sets.List(move.Pod.RejectorPlugins())}
		a.asleep[pod.UID] = fallen
		a.news.fallen = append(a.news.fallen, fallen)
	}
}

// HintEvaluated implements queue.Observer. Answers about events in the past of a pod, which are asked for when its
// attempt failed, are no decisions about a pod that waits.
func (a *Auditor) HintEvaluated(result queue.HintResult) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for pod := range result.Pods {
		if result.Err != nil {
			a.failures.addHint(a.cluster.Now(), pod, result)
			continue
		}
		waiting := a.asleep[pod.UID]
		if waiting == nil {
			continue
		}
		if a.news.said == nil {
			a.news.said = map[*sleeper]answers{}
		}
		if a.news.said[waiting] == nil {
			a.news.said[waiting] = answers{}
		}
		a.news.said[waiting].add(rowKey{result.Event, result.Plugin}, result.Hint)
	}
}

// AttemptFailed implements scheduler.Observer. A pod that had got a node makes room again, which is announced as the
// deletion of a pod there.
func (a *Auditor) AttemptFailed(failure scheduler.Failure) {
	a.noteFailedAttempt(failure)
	if failure.Node != "" {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.news.released = failure.Pod
	}
}

// take returns the news, which are none then.
func (a *Auditor) take() news {
	a.mu.Lock()
	defer a.mu.Unlock()
	taken := a.news
	a.news = news{}
	return taken
}

// sleepers returns the pods that sleep, in no particular order.
func (a *Auditor) sleepers() []*sleeper {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Collect(maps.Values(a.asleep))
}

// sleeps tells whether a pod still sleeps as it did.
func (a *Auditor) sleeps(s *sleeper) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asleep[s.pod.UID] == s
}
