// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	listersv1 "k8s.io/client-go/listers/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/queue"
	"github.com/rouse-scheduler/rouse/runtime"
	"github.com/rouse-scheduler/rouse/scheduler"
	"github.com/rouse-scheduler/rouse/simulate"
)

var (
	_ queue.Observer     = &explainObserver{}
	_ scheduler.Observer = &explainObserver{}
	_ simulate.Watcher   = &explainObserver{}
)

// Explainer explains the state of one pod in a simulation. It records what cannot be read from the pod afterwards: the result
// of the last attempt, and the answers of hints to events.
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
	ctx             context.Context
	namespace, name string
	cluster         *simulate.Cluster

	// mu guards the following fields: plugins may have goroutines that use the queue.
	mu      sync.Mutex
	pod     *v1.Pod // the latest of the name
	history podHistory
	// withoutObject is how many of the last events still lack their object, which Changed brings.
	withoutObject int
}

// explainObserver is an explainer as the observer of a scheduler, so that its methods are not those of [Explainer].
type explainObserver struct {
	scheduler.NopObserver
	queue.NopQueueObserver
	*Explainer
}

// NewExplainer returns an explainer for the pod of a name, whether it exists yet or not. The context is
// passed to plugins.
func NewExplainer(ctx context.Context, namespace, name string) *Explainer {
	return &Explainer{ctx: ctx, namespace: namespace, name: name}
}

// Observe makes the explainer the observer of the scheduler and of the queue.
func (e *Explainer) Observe(options *simulate.Options) {
	observer := &explainObserver{Explainer: e}
	options.Observers.Queue, options.Observers.Scheduler = observer, observer
}

// Watch follows a cluster that was made with the options given to [Explainer.Observe]. It must be called before anything
// happens in the cluster.
func (e *Explainer) Watch(cluster *simulate.Cluster) {
	e.cluster = cluster
	cluster.Watch(&explainObserver{Explainer: e})
}

// concerns reports whether a pod is the one to be explained. The history of an earlier pod of the name is dropped. It needs
// mu.
func (e *Explainer) concerns(pod *v1.Pod) bool {
	if pod.Namespace != e.namespace || pod.Name != e.name {
		return false
	}
	if e.pod == nil || e.pod.UID != pod.UID {
		e.history, e.withoutObject = podHistory{}, 0
	}
	e.pod = pod
	return true
}

// addEvent records an event. It needs mu.
func (e *Explainer) addEvent(event RecentEvent) {
	event.At = e.cluster.Now().String()
	e.history.addEvent(event)
	e.withoutObject = min(e.withoutObject+1, len(e.history.events))
}

// PodMoved implements queue.Observer. Only events for which no hint is called are of interest.
func (e *explainObserver) PodMoved(move queue.PodMove) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if isWakeupWithoutHint(&move) && e.concerns(move.Pod.Pod) {
		e.addEvent(eventOfMove(&move))
		e.withoutObject--
	}
}

// HintEvaluated implements queue.Observer.
func (e *explainObserver) HintEvaluated(result queue.HintResult) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for pod := range result.Pods {
		if e.concerns(pod) {
			e.addEvent(eventOfHint(&result))
		}
	}
}

// AttemptFailed implements scheduler.Observer.
func (e *explainObserver) AttemptFailed(failure scheduler.Failure) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.concerns(failure.Pod) {
		e.history.failed = newFailedAttempt(failure, e.cluster.Clock().Now())
	}
}

// Changed implements simulate.Watcher: it has the object of the last events.
func (e *explainObserver) Changed(change simulate.Change) {
	e.mu.Lock()
	defer e.mu.Unlock()
	events := e.history.events
	for i := len(events) - e.withoutObject; i < len(events); i++ {
		events[i].Object = change.Object()
	}
	e.withoutObject = 0
}

// Worked implements simulate.Watcher.
func (e *explainObserver) Worked() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.withoutObject = 0
}

// Settled implements simulate.Watcher.
func (e *explainObserver) Settled() {}

// Explain explains the pod as it is now, with at most so many of the closest nodes. The error is a [*NoSuchPodError] if
// there is no such pod.
func (e *Explainer) Explain(nodes int) (*Explanation, error) {
	finished, err := finishedPod(e.ctx, e.cluster.Client(), e.namespace, e.name)
	switch {
	case err != nil:
		return nil, err
	case finished != nil:
		return explainFinished(finished, e.cluster.Now().String()), nil
	}
	state, found := e.cluster.Pod(e.namespace, e.name)
	if !found {
		return nil, e.noSuchPod()
	}
	e.mu.Lock()
	history := e.history
	history.events = slices.Clone(history.events)
	e.mu.Unlock()
	s := &podSnapshot{
		ctx: e.ctx, scheduler: e.cluster.Scheduler(), at: e.cluster.Now().String(), formatTime: e.timeOf,
		state: state, pod: podNow(e.cluster.Scheduler(), e.namespace, e.name), history: history,
	}
	s.queued, _ = s.scheduler.Queue().Lookup(e.namespace, e.name)
	s.buildProbe = func() (*runtime.Framework, []fwk.NodeInfo, error) {
		snapshot, err := e.cluster.Snapshot()
		if err != nil {
			return nil, nil, err
		}
		nodes, err := snapshot.List()
		return s.scheduler.Profiles()[s.pod.Spec.SchedulerName], nodes, err
	}
	return s.explain(nodes), nil
}

// timeOf turns a time of the clock into virtual time.
func (e *Explainer) timeOf(t time.Time) string {
	return (e.cluster.Now() - simulate.Time(e.cluster.Clock().Since(t))).String()
}

func (e *Explainer) noSuchPod() error {
	missing := &NoSuchPodError{Namespace: e.namespace, Name: e.name, At: e.cluster.Now().String()}
	for _, pod := range e.cluster.Report().Pods {
		missing.Pods = append(missing.Pods, pod.Namespace+"/"+pod.Name)
	}
	return missing
}

// podNow returns a pod as the scheduler knows it, nil if it is gone.
func podNow(s *scheduler.Scheduler, namespace, name string) *v1.Pod {
	pod, err := podsOf(s).Pods(namespace).Get(name)
	if err != nil { // which can only mean that it is not there
		return nil
	}
	return pod
}

// podsOf returns the lister of pods, which all profiles share.
func podsOf(s *scheduler.Scheduler) listersv1.PodLister {
	first := s.Profiles()[s.Configuration().Profiles[0].SchedulerName]
	return first.SharedInformerFactory().Core().V1().Pods().Lister()
}
