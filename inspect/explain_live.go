// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/cache"
	"github.com/rouse-scheduler/rouse/queue"
	"github.com/rouse-scheduler/rouse/runtime"
	"github.com/rouse-scheduler/rouse/scheduler"
	"github.com/rouse-scheduler/rouse/simulate"
)

var (
	_ queue.BatchObserver = &liveObserver{}
	_ scheduler.Observer  = &liveObserver{}
)

// LiveExplainer explains any pod of a running scheduler, without stopping it:
//
//	explainer := inspect.NewLiveExplainer(ctx)
//	explainer.Observe(&options)
//	s, err := scheduler.New(ctx, options)
//	...
//	explainer.Watch(s)
//	...
//	explanation, err := explainer.Explain(ctx, "default", "web", inspect.DefaultNodes)
//
// It has a snapshot and instances of the plugins of its own, which are created for the first request, so that explaining does
// not delay scheduling: only the queue and the cache are locked, for as long as it takes to look one pod up and to copy what
// changed since the last request.
//
// Of every failed attempt it keeps a few numbers, for the last thousands of pods. Events are recorded for a pod from the first
// request for it.
//
// It is safe for concurrent use. Requests are answered one at a time.
type LiveExplainer struct {
	ctx       context.Context
	scheduler *scheduler.Scheduler
	histories podHistories

	// busy is full while a request is answered; it guards the following fields.
	busy     chan struct{}
	snapshot *cache.Snapshot
	profiles runtime.Profiles // nil until the first request
}

// liveObserver is an explainer as the observer of a scheduler, so that its methods are not those of [LiveExplainer].
type liveObserver struct {
	scheduler.NopObserver
	queue.NopQueueObserver
	*LiveExplainer
}

// NewLiveExplainer returns an explainer. Its plugins are built with the context.
func NewLiveExplainer(ctx context.Context) *LiveExplainer {
	return &LiveExplainer{ctx: ctx, busy: make(chan struct{}, 1), snapshot: &cache.Snapshot{}}
}

// Observe makes the explainer an observer of the scheduler and of the queue, in addition to the present ones.
func (e *LiveExplainer) Observe(options *scheduler.Options) {
	observer := &liveObserver{LiveExplainer: e}
	options.Observers.Scheduler = scheduler.JoinObservers(options.Observers.Scheduler, observer)
	options.Observers.Queue = queue.JoinObservers(options.Observers.Queue, observer)
}

// Watch sets the scheduler whose pods are explained, which was made with the options given to [LiveExplainer.Observe]. It must
// be called before the scheduler runs.
func (e *LiveExplainer) Watch(s *scheduler.Scheduler) { e.scheduler = s }

// Close closes the plugins. [LiveExplainer.Explain] must not be called any more.
func (e *LiveExplainer) Close() error { return e.profiles.Close() }

// Explain explains a pod as it is now, with at most so many of the closest nodes. The error is a [*NoSuchPodError] if
// there is no such pod, or that of the context, if it ends while other requests are answered. The scheduler does not watch
// pods that have finished: whether a pod that it does not know is one of them is asked of the API server.
func (e *LiveExplainer) Explain(ctx context.Context, namespace, name string, nodes int) (*Explanation, error) {
	select {
	case e.busy <- struct{}{}:
		defer func() { <-e.busy }()
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for earlier requests: %w", ctx.Err())
	}
	now := e.now()
	pod := podNow(e.scheduler, namespace, name)
	if pod == nil {
		return e.explainUnknown(ctx, namespace, name, now)
	}
	s := &podSnapshot{
		ctx: ctx, scheduler: e.scheduler, at: timeOfDay(now), formatTime: timeOfDay, pod: pod,
		buildProbe: func() (*runtime.Framework, []fwk.NodeInfo, error) { return e.buildProbe(pod.Spec.SchedulerName) },
	}
	s.queued, _ = e.scheduler.Queue().Lookup(namespace, name)
	s.state = stateOf(pod, &s.queued)
	switch {
	case s.queued.Pool != queue.PoolNone:
		s.history = e.histories.get(pod.UID, now)
		s.state.WokenBy = s.history.wokenBy()
	case s.state.Pool == simulate.PoolUnschedulable:
		s.state.Message = whyNotQueued(e.scheduler, pod)
	}
	return s.explain(nodes), nil
}

// now returns the time of the scheduler's clock.
func (e *LiveExplainer) now() time.Time { return e.framework().Clock().Now() }

// framework returns the first profile, for what all profiles share.
func (e *LiveExplainer) framework() *runtime.Framework {
	return e.scheduler.Profiles()[e.scheduler.Configuration().Profiles[0].SchedulerName]
}

// timeOfDay formats a time as the API does.
func timeOfDay(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// buildProbe returns the explainer's own plugins of a profile, and the nodes as they are now.
func (e *LiveExplainer) buildProbe(schedulerName string) (*runtime.Framework, []fwk.NodeInfo, error) {
	if e.profiles == nil {
		built, err := e.scheduler.BuildProfiles(e.ctx, e.snapshot)
		if err != nil {
			return nil, nil, fmt.Errorf("building the plugins for explanations: %w", err)
		}
		e.profiles = built
	}
	if err := e.scheduler.Cache().UpdateSnapshot(e.snapshot); err != nil {
		return nil, nil, fmt.Errorf("reading the nodes: %w", err)
	}
	nodes, err := e.snapshot.List()
	return e.profiles[schedulerName], nodes, err
}

// stateOf returns the state of a pod.
func stateOf(pod *v1.Pod, queued *queue.PodStatus) simulate.PodState {
	state := simulate.PodState{
		Namespace: pod.Namespace, Name: pod.Name, Node: pod.Spec.NodeName, Pool: simulate.PoolUnschedulable, Attempts: queued.Attempts,
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == v1.PodScheduled && condition.Status == v1.ConditionFalse {
			state.Message = condition.Message
		}
	}
	switch {
	case state.Node != "":
		state.Pool = simulate.PoolBound
		if start := pod.Status.StartTime; start != nil {
			state.BoundAt = timeOfDay(start.Time)
		}
	case pod.DeletionTimestamp != nil:
		state.Pool, state.Message = simulate.PoolDeleted, "the pod is being deleted"
	case queued.Pool == queue.PoolActive, queued.Pool == queue.PoolInFlight:
		state.Pool = simulate.PoolActive
	case queued.Pool == queue.PoolBackoff:
		state.Pool = simulate.PoolBackoff
	case queued.Pool == queue.PoolGated:
		state.Pool = simulate.PoolGated
		state.Message = fmt.Sprintf("plugin %s does not let the pod be tried yet", queued.GatingPlugin)
	}
	return state
}

// whyNotQueued says why the queue does not have a pod that has no node.
func whyNotQueued(s *scheduler.Scheduler, pod *v1.Pod) string {
	if s.Profiles()[pod.Spec.SchedulerName] == nil {
		return "no profile has the scheduler name " + pod.Spec.SchedulerName
	}
	return "the pod was created or bound just now; try again"
}

// maxSuggestions is how many pods of a namespace are suggested in place of one that does not exist.
const maxSuggestions = 1000

// explainUnknown explains a pod that the scheduler does not know.
func (e *LiveExplainer) explainUnknown(ctx context.Context, namespace, name string, now time.Time) (*Explanation, error) {
	switch pod, err := finishedPod(ctx, e.framework().ClientSet(), namespace, name); {
	case err != nil:
		return nil, fmt.Errorf("%w, unless it has finished: %w", e.noSuchPod(namespace, name, now), err)
	case pod != nil:
		return explainFinished(pod, timeOfDay(now)), nil
	}
	return nil, e.noSuchPod(namespace, name, now)
}

// noSuchPod returns the error for a pod that does not exist, with those that may have been meant.
func (e *LiveExplainer) noSuchPod(namespace, name string, now time.Time) error {
	missing := &NoSuchPodError{Namespace: namespace, Name: name, At: timeOfDay(now)}
	all, err := podsOf(e.scheduler).List(labels.Everything())
	if err != nil {
		return fmt.Errorf("%w, and the others cannot be listed: %w", missing, err)
	}
	for _, pod := range all {
		if pod.Namespace == namespace && len(missing.Pods) < maxSuggestions || pod.Name == name {
			missing.Pods = append(missing.Pods, podName(pod))
		}
	}
	return missing
}

// AttemptFailed implements scheduler.Observer.
func (e *liveObserver) AttemptFailed(failure scheduler.Failure) {
	e.histories.addFailure(failure.Pod.UID, newFailedAttempt(failure, e.now()))
}

// PodMoved implements queue.Observer. Only events for which no hint is called are of interest.
func (e *liveObserver) PodMoved(move queue.PodMove) {
	if e.histories.recording() && isWakeupWithoutHint(&move) {
		e.histories.addEvent(e.now(), func(yield func(*v1.Pod) bool) { yield(move.Pod.Pod) }, eventOfMove(&move))
	}
}

// PodsMoved implements queue.BatchObserver.
func (e *liveObserver) PodsMoved(moves []queue.PodMove) {
	if e.histories.recording() {
		for i := range moves {
			e.PodMoved(moves[i])
		}
	}
}

// HintEvaluated implements queue.Observer.
func (e *liveObserver) HintEvaluated(result queue.HintResult) {
	if e.histories.recording() {
		e.histories.addEvent(e.now(), result.Pods, eventOfHint(&result))
	}
}
