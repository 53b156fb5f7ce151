// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/clock"
)

// ExtendedHandle is an optional interface of the handle that a plugin's factory gets; that of this module's runtime implements
// it. A plugin that should run in kube-scheduler too asserts the type, and does without it there. All methods may be called
// concurrently.
type ExtendedHandle interface {
	fwk.Handle
	// Go starts a task that outlives the scheduling cycle, such as the eviction of pods, in a new goroutine, or later in the
	// goroutine of a simulation. The task must not use the context of the cycle, unless by context.WithoutCancel.
	Go(task func())
	// Wait waits for a duration by the clock, but not longer than until early is closed, which may be nil, or the context
	// ends; then it returns the error of the context. Whatever waits inside an extension point waits with it. A simulation,
	// in which nothing can happen while a plugin runs, returns another error at once, and the plugin gives up, too.
	Wait(ctx context.Context, duration time.Duration, early <-chan struct{}) error
	// Clock returns the clock by which a plugin measures time or records it; it is virtual in a simulation.
	Clock() clock.WithDelayedExecution
	// Seed is the seed of a plugin that chooses at random. Equal seeds make equal choices.
	Seed() uint64
	// Exhaustive reports whether nothing is to be left to chance: a plugin that would look at some nodes looks at all of them,
	// and one that would take any of several takes the first by name.
	Exhaustive() bool
	// Metrics returns the metrics of the scheduler, or nil; a plugin asserts that they implement what it needs.
	Metrics() any
	// AppendFilterKey appends everything that the Filter plugins of the profile read of a pod for which PreFilter has run: for
	// pods with equal keys, the verdict of all of them on a node depends on the node info alone, also after pods are removed
	// from it or added. It returns false if there is no such key, because a plugin reads more.
	AppendFilterKey(key []byte, state fwk.CycleState, pod *v1.Pod) (_ []byte, ok bool)
}

// WaitOn returns what [ExtendedHandle].Wait is by a clock that moves while a plugin runs, for plugins whose handle is not
// extended.
func WaitOn(clock clock.WithDelayedExecution) func(ctx context.Context, duration time.Duration, early <-chan struct{}) error {
	return func(ctx context.Context, duration time.Duration, early <-chan struct{}) error {
		timer := clock.NewTimer(duration)
		defer timer.Stop()
		select {
		case <-early:
			return nil
		case <-timer.C():
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
