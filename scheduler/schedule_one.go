// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/runtime"
)

// pluginMetricsShare is the share of attempts, one in so many, in which the duration of every plugin call is measured.
const pluginMetricsShare = 10

// attempt is one pod's way through the scheduling cycle and, if it gets a node, through the binding cycle.
type attempt struct {
	info *framework.QueuedPodInfo
	pod  *v1.Pod // info.Pod until a node is chosen, then a copy with that node
	node string
	// nominationWritten is set if the node may have been written to the status of the pod.
	nominationWritten bool
	profile           *runtime.Framework
	state             *framework.CycleState
	started           time.Time
	identity          podIdentity // of info.Pod when the attempt began
}

// failure is why an attempt came to nothing, and what becomes of the node that was nominated for the pod: nil keeps
// it.
type failure struct {
	status     *fwk.Status
	nomination *fwk.NominatingInfo
}

// failed is a failure that withdraws the nomination, as all do except a pod that fits nowhere at the moment.
func failed(status *fwk.Status) *failure {
	return &failure{status: status, nomination: &fwk.NominatingInfo{NominatingMode: fwk.ModeOverride}}
}

// fitError returns the error of a rejection by plugins, or nil for other failures.
func (f *failure) fitError() *framework.FitError {
	var fit *framework.FitError
	if errors.As(f.status.AsError(), &fit) {
		return fit
	}
	return nil
}

// ScheduleOne waits for a pod and runs one scheduling cycle for it (kube-scheduler: ScheduleOne); its binding goes on in
// the background, with the same context. It returns false once the queue is closed and empty. Only one goroutine may
// call it at a time.
//
// A plugin that ends its goroutine (runtime.Goexit, t.FailNow) ends that of the caller, after its pod was put back into the
// queue with an error that names the plugin.
func (s *Scheduler) ScheduleOne(ctx context.Context) bool {
	info, err := s.queue.Pop()
	if err != nil { // the queue is closed
		return false
	}
	s.schedule(ctx, info)
	return true
}

// TryScheduleOne is ScheduleOne without waiting: it returns false when no pod is ready to be tried.
func (s *Scheduler) TryScheduleOne(ctx context.Context) bool {
	info := s.queue.TryPop()
	if info == nil {
		return false
	}
	s.schedule(ctx, info)
	return true
}

func (s *Scheduler) schedule(ctx context.Context, info *framework.QueuedPodInfo) {
	profile, ok := s.profiles[info.Pod.Spec.SchedulerName]
	if !ok {
		s.options.Logger.Error(nil, "No profile for a queued pod", "pod", klog.KObj(info.Pod),
			"schedulerName", info.Pod.Spec.SchedulerName)
		s.queue.Done(info.Pod.UID)
		return
	}
	if s.skip(profile, info.Pod) {
		s.queue.Done(info.Pod.UID)
		return
	}
	a := &attempt{
		info:    info,
		pod:     info.Pod,
		profile: profile,
		state:   framework.NewCycleState(),
		started: s.clock.Now(),

		identity: identityOf(info.Pod),
	}
	a.state.SetRecordPluginMetrics(s.random.IntN(pluginMetricsShare) == 0)
	a.state.Write(framework.PodsToActivateKey, framework.NewPodsToActivate())
	s.options.Observers.Scheduler.AttemptStarted(info.Pod, info.Attempts)
	// Whatever the attempt started for its own sake, such as looking at more nodes, ends with the scheduling cycle.
	cycle, end := s.watchdog.watch(ctx, a)
	defer end()
	returned := false
	defer func() {
		if !returned {
			s.abandon(ctx, a)
		}
	}()
	f := s.schedulingCycle(cycle, a)
	if returned = true; f != nil {
		s.handleFailure(ctx, a, f)
		return
	}
	s.countBindings(1)
	s.options.Execution.Go(func() { s.startBinding(ctx, a) })
}

// abandon fails an attempt whose scheduling cycle did not return, because a plugin is ending the goroutine. It is called by
// a deferred function.
func (s *Scheduler) abandon(ctx context.Context, a *attempt) {
	err := s.calls.TakeEnded(a.info.Pod)
	if err == nil { // a panic, which goes on
		return
	}
	if a.node != "" {
		stopWaiting(a)
		s.release(ctx, a)
	}
	s.handleFailure(ctx, a, failed(fwk.AsStatus(err)))
}

// skip reports whether a queued pod is not to be scheduled after all: it is being deleted, or being bound already.
func (s *Scheduler) skip(profile *runtime.Framework, pod *v1.Pod) bool {
	if pod.DeletionTimestamp != nil {
		profile.EventRecorder().Eventf(pod, nil, v1.EventTypeWarning, "FailedScheduling", "Scheduling",
			"skip schedule deleting pod: %s/%s", pod.Namespace, pod.Name)
		return true
	}
	return s.isAssumed(pod)
}

// schedulingCycle finds a node, assumes the pod on it, reserves and asks for permission. A nil result means that the
// pod may be bound.
func (s *Scheduler) schedulingCycle(ctx context.Context, a *attempt) *failure {
	if err := s.cache.UpdateSnapshot(s.snapshot); err != nil {
		return failed(fwk.AsStatus(fmt.Errorf("updating the snapshot of the cluster: %w", err)))
	}
	node, f := s.findNode(ctx, a)
	s.restore(a)
	s.options.Observers.Scheduler.SearchEnded(a.info.Pod, s.clock.Since(a.started))
	if f != nil {
		return f
	}
	if err := s.assume(a, node); err != nil {
		return failed(fwk.AsStatus(err))
	}
	if status := s.reserveAndPermit(ctx, a); !status.IsSuccess() {
		s.release(ctx, a)
		if status.IsRejected() {
			status = rejectedAt(a, status)
		}
		return failed(status)
	}
	s.activate(a)
	return nil
}

// assume makes the cache count the pod on its node before it is bound.
func (s *Scheduler) assume(a *attempt, node string) error {
	pod := *a.info.Pod
	pod.Spec.NodeName = node
	if err := s.cache.AssumePod(&pod); err != nil {
		return fmt.Errorf("assuming pod %s/%s on node %s: %w", pod.Namespace, pod.Name, node, err)
	}
	a.pod, a.node = &pod, node
	s.queue.DeleteNominatedPodIfExists(&pod)
	return nil
}

func (s *Scheduler) reserveAndPermit(ctx context.Context, a *attempt) *fwk.Status {
	if status := a.profile.RunReservePluginsReserve(ctx, a.state, a.pod, a.node); !status.IsSuccess() {
		return status
	}
	waits, status := a.profile.RunPermitPlugins(ctx, a.state, a.pod, a.node)
	if status.IsWait() {
		a.profile.AddWaitingPod(a.pod, waits)
		return nil
	}
	return status
}

// release undoes what assume and Reserve did. It reports whether the cache no longer counts the pod.
func (s *Scheduler) release(ctx context.Context, a *attempt) bool {
	a.profile.RunReservePluginsUnreserve(ctx, a.state, a.pod, a.node)
	if err := s.cache.ForgetPod(a.pod); err != nil {
		s.options.Logger.Error(err, "Scheduler cache ForgetPod failed", "pod", klog.KObj(a.pod))
		return false
	}
	return true
}

// rejectedAt turns a rejection on the chosen node into a FitError over that node, so that the pod waits for the events
// of the plugin that rejected it.
func rejectedAt(a *attempt, status *fwk.Status) *fwk.Status {
	fit := &framework.FitError{
		Pod:         a.info.Pod,
		NumAllNodes: 1,
		Diagnosis: framework.Diagnosis{
			NodeToStatus: framework.NewNodeToStatus(map[string]*fwk.Status{a.node: status}, nil),
		},
	}
	fit.Diagnosis.AddPluginStatus(status)
	return fwk.NewStatus(status.Code()).WithError(fit).WithPlugin(status.Plugin())
}
