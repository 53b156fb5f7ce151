// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/queue"
	"github.com/rouse-scheduler/rouse/scheduler"
	"github.com/rouse-scheduler/rouse/simulate"
)

var (
	_ queue.Observer     = &Explainer{}
	_ scheduler.Observer = &Explainer{}
	_ simulate.Watcher   = &Explainer{}
)

// Explainer explains what became of one pod in a simulation. It remembers what cannot be seen afterwards: what the last
// attempt came to, and what plugins said to events.
//
//	explainer := inspect.NewExplainer(ctx, "default", "web")
//	explainer.Observe(&options)
//	cluster, err := simulate.NewCluster(ctx, options)
//	...
//	explainer.Watch(cluster)
//	err = cluster.ReplayUntil(input, simulate.Time(25*time.Second))
//	...
//	explanation, err := explainer.Explain(inspect.DefaultNodes)
type Explainer struct {
	scheduler.NoObserver
	queue.NoQueueObserver

	ctx             context.Context
	namespace, name string
	cluster         *simulate.Cluster

	// mu guards the following fields: plugins may have goroutines that use the queue.
	mu     sync.Mutex
	pod    *v1.Pod // the latest of the name that was heard of
	failed *failedAttempt
	heard  []Heard
	// unnamed is how many of the last events are not known yet to have happened to which object.
	unnamed int
}

// failedAttempt is the last one of a pod.
type failedAttempt struct {
	scheduler.Failure
	at simulate.Time
}

// NewExplainer returns an explainer for the pod of a name, be it there yet or not. Plugins are given the context when
// they are asked about nodes.
func NewExplainer(ctx context.Context, namespace, name string) *Explainer {
	return &Explainer{ctx: ctx, namespace: namespace, name: name}
}

// Observe makes the explainer the observer of the scheduler and of the queue.
func (e *Explainer) Observe(options *simulate.Options) {
	options.QueueObserver, options.SchedulerObserver = e, e
}

// Watch follows a cluster that was made with the options given to [Explainer.Observe]. It must be called before anything
// happens in the cluster.
func (e *Explainer) Watch(cluster *simulate.Cluster) {
	e.cluster = cluster
	cluster.Watch(e)
}

// concerns tells whether a pod is the one to be explained. What was remembered of an earlier pod of the name is
// forgotten. It needs mu.
func (e *Explainer) concerns(pod *v1.Pod) bool {
	if pod.Namespace != e.namespace || pod.Name != e.name {
		return false
	}
	if e.pod == nil || e.pod.UID != pod.UID {
		e.failed, e.heard, e.unnamed = nil, nil, 0
	}
	e.pod = pod
	return true
}

// hear remembers an event. It needs mu.
func (e *Explainer) hear(heard Heard) {
	e.heard = append(e.heard, heard)
	e.heard = slices.Delete(e.heard, 0, max(0, len(e.heard)-maxHeard))
	e.unnamed = min(e.unnamed+1, len(e.heard))
}

// PodMoved implements queue.Observer. Only events for which no plugin is asked are of interest.
func (e *Explainer) PodMoved(move queue.PodMove) {
	e.mu.Lock()
	defer e.mu.Unlock()
	waited := move.From == queue.PoolUnschedulable || move.From == queue.PoolGated
	ready := move.To == queue.PoolActive || move.To == queue.PoolBackoff
	if waited && ready && move.Plugin == "" && e.concerns(move.Pod.Pod) {
		e.hear(Heard{At: e.cluster.Now(), Event: move.Cause, Answer: AnswerQueue})
		e.unnamed--
	}
}

// HintEvaluated implements queue.Observer.
func (e *Explainer) HintEvaluated(result queue.HintResult) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for pod := range result.Pods {
		if !e.concerns(pod) {
			continue
		}
		heard := Heard{At: e.cluster.Now(), Event: result.Event, Plugin: result.Plugin, Answer: AnswerQueue}
		switch {
		case result.Err != nil:
			heard.Answer, heard.Message = AnswerError, result.Err.Error()
		case result.Hint == fwk.QueueSkip:
			heard.Answer = AnswerSkip
		}
		e.hear(heard)
	}
}

// AttemptFailed implements scheduler.Observer.
func (e *Explainer) AttemptFailed(failure scheduler.Failure) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.concerns(failure.Pod) {
		e.failed = &failedAttempt{failure, e.cluster.Now()}
	}
}

// Changed implements simulate.Watcher: now it is known to what object the events happened.
func (e *Explainer) Changed(change simulate.Change) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := len(e.heard) - e.unnamed; i < len(e.heard); i++ {
		e.heard[i].Object = change.Object()
	}
	e.unnamed = 0
}

// Worked implements simulate.Watcher.
func (e *Explainer) Worked() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.unnamed = 0
}

// Settled implements simulate.Watcher.
func (e *Explainer) Settled() {}
