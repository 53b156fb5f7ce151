// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"errors"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/queue"
	"github.com/rouse-scheduler/rouse/runtime"
	"github.com/rouse-scheduler/rouse/scheduler"
	"github.com/rouse-scheduler/rouse/simulate"
)

// failures are the errors and panics of plugins during an audit. They are safe for concurrent use, because plugins may
// have goroutines of their own.
type failures struct {
	mu   sync.Mutex
	rows map[failureKey]*PluginFailure
	// hints has when the hint of a plugin failed last about an event and a pod.
	hints map[failedHint]simulate.Time
}

// failureKey is what failures that are counted together have in common: the hint, or else the extension point, which is
// empty if it is not known.
type failureKey struct {
	rowKey
	point runtime.Method
}

type failedHint struct {
	rowKey
	pod string
}

func newFailures() *failures {
	return &failures{rows: map[failureKey]*PluginFailure{}, hints: map[failedHint]simulate.Time{}}
}

func (f *failures) add(point runtime.Method, failure PluginFailure) {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := failureKey{rowKey{failure.Event, failure.Plugin}, point}
	if f.rows[key] == nil {
		f.rows[key] = &failure
	}
	f.rows[key].Times++
}

// addHint adds the failure of a hint, which was asked about one pod.
func (f *failures) addHint(at simulate.Time, pod *v1.Pod, result queue.HintResult) {
	f.add(runtime.MethodQueueingHint, PluginFailure{
		At: at, Pod: podName(pod), Event: result.Event, Plugin: result.Plugin, Message: "the queueing hint failed: " + result.Err.Error(),
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hints[failedHint{rowKey{result.Event, result.Plugin}, podName(pod)}] = at
}

// woke reports whether a pod was woken because a hint failed.
func (f *failures) woke(woken wokenPod) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	at, failed := f.hints[failedHint{rowKey{woken.event, woken.plugin}, podName(woken.pod)}]
	return failed && at == woken.at
}

// sorted returns the failures in the order of time.
func (f *failures) sorted() []PluginFailure {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := []PluginFailure{}
	for _, failure := range f.rows {
		list = append(list, *failure)
	}
	slices.SortFunc(list, func(a, b PluginFailure) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Plugin, b.Plugin), cmp.Compare(a.Event, b.Event), cmp.Compare(a.Message, b.Message))
	})
	return list
}

// PluginFailed implements scheduler.Observer. Hints are left to HintEvaluated, which knows the event.
func (a *auditObserver) PluginFailed(failure runtime.PluginFailure) {
	if failure.Method == runtime.MethodQueueingHint || a.cluster == nil { // the cluster is not made, and its error says so
		return
	}
	noted := PluginFailure{At: a.cluster.Now(), Plugin: failure.Plugin, Message: failure.Err.Error()}
	if failure.Pod != nil {
		noted.Pod = podName(failure.Pod)
	}
	a.failures.add(failure.Method, noted)
}

// noteFailedAttempt notes the error that an attempt ended with. What PluginFailed knows already is left out, and so is a
// request that the API server refused while the pod was being bound, because something else had changed the object before.
func (a *Auditor) noteFailedAttempt(failure scheduler.Failure) {
	err := failure.Status.AsError()
	if err == nil || failure.Status.IsRejected() || a.ctx.Err() != nil {
		return
	}
	var refused apierrors.APIStatus
	if isPanic(err) || failure.Node != "" && errors.As(err, &refused) {
		return
	}
	a.failures.add("", PluginFailure{At: a.cluster.Now(), Pod: podName(failure.Pod), Plugin: failure.Status.Plugin(), Message: err.Error()})
}

// noteFailedVerdict notes an error of a plugin that the auditor called.
func (t *evaluator) noteFailedVerdict(pod *v1.Pod, status *fwk.Status) {
	err := status.AsError()
	if err == nil || isPanic(err) || t.ctx.Err() != nil {
		return
	}
	t.failures.add("", PluginFailure{At: t.cluster.Now(), Pod: podName(pod), Plugin: status.Plugin(), Message: err.Error()})
}

func isPanic(err error) bool {
	var panicked *runtime.PanicError
	return errors.As(err, &panicked)
}
