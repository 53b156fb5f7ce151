// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/rouse-scheduler/rouse/runtime"
)

// defaultSchedulingTimeout is far beyond what the largest clusters and the slowest extenders need.
const defaultSchedulingTimeout = time.Minute

// StuckError says that a scheduling cycle does not come to an end, and why, as far as can be seen from outside. No other
// pod is scheduled until it does.
type StuckError struct {
	// Pod is the one that is being scheduled.
	Pod *v1.Pod
	// Limit is how long the cycle should have taken at most.
	Limit time.Duration
	// Calls are the calls of plugins that do not return, such as `Filter of plugin "Rack"`. There are none when it is not a
	// plugin that is slow.
	Calls []string
}

// Error implements error.
func (e *StuckError) Error() string {
	where := "outside of plugins"
	if len(e.Calls) > 0 {
		where = "in " + strings.Join(e.Calls, ", ")
	}
	return fmt.Sprintf("scheduling pod %s takes longer than %v, %s", podKey(e.Pod), e.Limit, where)
}

// watchdog looks at the scheduling cycle from outside. A call in Go can't be stopped from outside, so all it does is
// to cancel the context of the cycle and to say which plugin ignores that.
type watchdog struct {
	limit   time.Duration
	current atomic.Pointer[watchedCycle]
}

// watchedCycle is a scheduling cycle that is going on.
type watchedCycle struct {
	pod     *v1.Pod
	profile *runtime.Framework
	started time.Time
	cancel  context.CancelCauseFunc
	stuck   atomic.Pointer[StuckError] // nil unless it is
}

// watch begins a cycle. It returns its context and what is to be called at its end.
func (w *watchdog) watch(ctx context.Context, a *attempt) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	w.current.Store(&watchedCycle{pod: a.info.Pod, profile: a.profile, started: a.started, cancel: cancel})
	return ctx, func() {
		w.current.Store(nil)
		cancel(nil)
	}
}

// watchSchedulingCycles ends the contexts of cycles that take too long, until its own ends.
func (s *Scheduler) watchSchedulingCycles(ctx context.Context) {
	limit := s.watchdog.limit
	if limit <= 0 {
		return
	}
	for {
		timer := s.clock.NewTimer(limit / 4)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C():
		}
		cycle := s.watchdog.current.Load()
		if cycle == nil || cycle.stuck.Load() != nil || s.clock.Since(cycle.started) < limit {
			continue
		}
		calls := s.callsOfCycle(cycle)
		stuck := &StuckError{Pod: cycle.pod, Limit: limit, Calls: calls}
		cycle.stuck.Store(stuck)
		s.options.Logger.Error(stuck, "A scheduling cycle does not end; its context is cancelled, and no other pod is scheduled "+
			"until the plugin returns", "pod", klog.KObj(cycle.pod), "profile", cycle.profile.ProfileName())
		cycle.cancel(stuck)
	}
}

// callsOfCycle returns the calls of plugins that a scheduling cycle is in.
func (s *Scheduler) callsOfCycle(cycle *watchedCycle) []string {
	var calls []string
	for _, call := range s.calls.InFlight() {
		switch call.Method {
		case runtime.MethodPreBindPreFlight, runtime.MethodPreBind, runtime.MethodBind, runtime.MethodPostBind:
			continue
		}
		if call.Pod != nil && call.Pod.UID != cycle.pod.UID {
			continue
		}
		if name := fmt.Sprintf("%s of plugin %q", call.Method, call.Plugin); !slices.Contains(calls, name) {
			calls = append(calls, name)
		}
	}
	slices.Sort(calls)
	return calls
}

// Stuck returns a [*StuckError] while a scheduling cycle takes longer than [Timeouts].Scheduling, which is noticed
// with a delay of up to a quarter of that, and nil otherwise. It is meant for health checks: a plugin that ignores its
// context can only be got rid of with the process. It is safe for concurrent use.
func (s *Scheduler) Stuck() error {
	if cycle := s.watchdog.current.Load(); cycle != nil {
		if stuck := cycle.stuck.Load(); stuck != nil {
			return stuck
		}
	}
	return nil
}
