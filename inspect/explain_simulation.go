// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	listersv1 "k8s.io/client-go/listers/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/queue"
	"github.com/rouse-scheduler/rouse/runtime"
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
	scheduler.NopObserver
	queue.NopQueueObserver

	ctx             context.Context
	namespace, name string
	cluster         *simulate.Cluster

	// mu guards the following fields: plugins may have goroutines that use the queue.
	mu     sync.Mutex
	pod    *v1.Pod // the latest of the name that was heard of
	memory memory
	// unnamed is how many of the last events are not known yet to have happened to which object.
	unnamed int
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
		e.memory, e.unnamed = memory{}, 0
	}
	e.pod = pod
	return true
}

// hear remembers an event. It needs mu.
func (e *Explainer) hear(heard Heard) {
	heard.At = e.cluster.Now().String()
	e.memory.hear(heard)
	e.unnamed = min(e.unnamed+1, len(e.memory.heard))
}

// PodMoved implements queue.Observer. Only events for which no plugin is asked are of interest.
func (e *Explainer) PodMoved(move queue.PodMove) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if wakesAll(&move) && e.concerns(move.Pod.Pod) {
		e.hear(heardOfMove(&move))
		e.unnamed--
	}
}

// HintEvaluated implements queue.Observer.
func (e *Explainer) HintEvaluated(result queue.HintResult) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for pod := range result.Pods {
		if e.concerns(pod) {
			e.hear(heardOfHint(&result))
		}
	}
}

// AttemptFailed implements scheduler.Observer.
func (e *Explainer) AttemptFailed(failure scheduler.Failure) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.concerns(failure.Pod) {
		e.memory.failed = newFailedAttempt(failure, e.cluster.Clock().Now())
	}
}

// Changed implements simulate.Watcher: now it is known to what object the events happened.
func (e *Explainer) Changed(change simulate.Change) {
	e.mu.Lock()
	defer e.mu.Unlock()
	heard := e.memory.heard
	for i := len(heard) - e.unnamed; i < len(heard); i++ {
		heard[i].Object = change.Object()
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

// Explain explains the pod as it is now, with at most so many of the closest nodes. The error is a [*NoSuchPodError] if
// there is no such pod.
func (e *Explainer) Explain(nodes int) (*Explanation, error) {
	if pod := e.finished(); pod != nil {
		return finishedPod(pod, e.cluster.Now().String()), nil
	}
	state, found := e.cluster.Pod(e.namespace, e.name)
	if !found {
		return nil, e.noSuchPod()
	}
	e.mu.Lock()
	memory := e.memory
	memory.heard = slices.Clone(memory.heard)
	e.mu.Unlock()
	s := &sight{
		ctx: e.ctx, scheduler: e.cluster.Scheduler(), at: e.cluster.Now().String(), write: e.timeOf,
		state: state, pod: podNow(e.cluster.Scheduler(), e.namespace, e.name), memory: memory,
	}
	s.queued, _ = s.scheduler.Queue().Lookup(e.namespace, e.name)
	s.ask = func() (*runtime.Framework, []fwk.NodeInfo, error) {
		snapshot, err := e.cluster.Snapshot()
		if err != nil {
			return nil, nil, err
		}
		nodes, err := snapshot.List()
		return s.scheduler.Profiles()[s.pod.Spec.SchedulerName], nodes, err
	}
	return s.explain(nodes), nil
}

// finished returns the pod if it has finished, of which the scheduler is told no more; nil otherwise.
func (e *Explainer) finished() *v1.Pod {
	pod, err := e.cluster.Client().CoreV1().Pods(e.namespace).Get(e.ctx, e.name, metav1.GetOptions{})
	if err != nil || pod.Status.Phase != v1.PodSucceeded && pod.Status.Phase != v1.PodFailed {
		return nil
	}
	return pod
}

// finishedPod explains a pod that needs nothing any more.
func finishedPod(pod *v1.Pod, at string) *Explanation {
	return &Explanation{
		Namespace: pod.Namespace, Name: pod.Name, SchedulerName: pod.Spec.SchedulerName, At: at,
		Pool: simulate.PoolDeleted, Node: pod.Spec.NodeName, Phase: string(pod.Status.Phase), Message: pod.Status.Message,
		PreemptedFor: []string{}, Permission: []string{}, RejectedBy: []Rejection{}, Wakes: []Wake{}, Heard: []Heard{},
		Everywhere: []Obstacle{}, Nodes: []NodeOutlook{},
	}
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
