// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"time"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/runtime"
)

// Observer is told what becomes of pods, and how long things take by the clock of the scheduler. Embed [NopObserver] to
// be told only some of it.
//
// Its methods are called from the goroutine that does what they are about, so that they must return quickly; those
// about attempts concurrently for different pods, and EventHandled at the same time as these.
type Observer interface {
	// AttemptStarted is called when a pod was taken from the queue to find a node for it; attempt counts from one.
	AttemptStarted(pod *v1.Pod, attempt int)
	// SearchEnded is called when the search for a node is over, whatever came of it. The duration is that since the start
	// of the attempt, what plugins did to make room included.
	SearchEnded(pod *v1.Pod, duration time.Duration)
	// AttemptFailed is called when the attempt, or the binding that followed it, failed.
	AttemptFailed(failure Failure)
	// PodBound is called when a pod was bound to a node.
	PodBound(binding Binding)
	// EventHandled is called when the cache and the queue know of a change of the cluster. An update that is several
	// events counts for each of them.
	EventHandled(event fwk.ClusterEvent, duration time.Duration)
	// PluginFailed is called when a plugin panicked, ended the goroutine it was called in, or failed where no attempt fails
	// by it. Where one does, AttemptFailed is called too. It is called before the call of the plugin is over, maybe with
	// locks of the queue held, so it must not call the scheduler.
	PluginFailed(failure runtime.PluginFailure)
}

// Failure is why an attempt came to nothing.
type Failure struct {
	Pod     *v1.Pod
	Attempt int
	// Node is where the pod should have gone, if the attempt got that far.
	Node string
	// Status is the reason; its code tells a rejection by plugins from an error.
	Status *fwk.Status
	// Diagnosis has the verdict of every node; nil unless plugins rejected the pod.
	Diagnosis *framework.Diagnosis
	// Duration is how long the attempt took, binding included if it got that far.
	Duration time.Duration
}

// Binding is an attempt that ended with the pod bound.
type Binding struct {
	Pod *v1.Pod
	// Attempt is how many attempts it took.
	Attempt int
	Node    string
	// Duration is how long the last attempt took, binding included.
	Duration time.Duration
	// SinceReady is how long ago the pod was ready to be tried for the first time, all gates open.
	SinceReady time.Duration
	// Flushed is set if the attempt was made because the pod had waited for too long, and not because of an event.
	Flushed bool
}

var _ Observer = NopObserver{}

// NopObserver is an [Observer] that does nothing.
type NopObserver struct{}

// AttemptStarted implements [Observer].
func (NopObserver) AttemptStarted(*v1.Pod, int) {}

// SearchEnded implements [Observer].
func (NopObserver) SearchEnded(*v1.Pod, time.Duration) {}

// AttemptFailed implements [Observer].
func (NopObserver) AttemptFailed(Failure) {}

// PodBound implements [Observer].
func (NopObserver) PodBound(Binding) {}

// EventHandled implements [Observer].
func (NopObserver) EventHandled(fwk.ClusterEvent, time.Duration) {}

// PluginFailed implements [Observer].
func (NopObserver) PluginFailed(runtime.PluginFailure) {}

// JoinObservers returns an observer that tells all of the given ones, in their order. Nil ones are left out; without
// any other the result is nil.
func JoinObservers(observers ...Observer) Observer {
	var joined joinedObservers
	for _, observer := range observers {
		if observer != nil {
			joined = append(joined, observer)
		}
	}
	switch len(joined) {
	case 0:
		return nil
	case 1:
		return joined[0]
	}
	return joined
}

type joinedObservers []Observer

// AttemptStarted implements [Observer].
func (j joinedObservers) AttemptStarted(pod *v1.Pod, attempt int) {
	for _, observer := range j {
		observer.AttemptStarted(pod, attempt)
	}
}

// SearchEnded implements [Observer].
func (j joinedObservers) SearchEnded(pod *v1.Pod, duration time.Duration) {
	for _, observer := range j {
		observer.SearchEnded(pod, duration)
	}
}

// AttemptFailed implements [Observer].
func (j joinedObservers) AttemptFailed(failure Failure) {
	for _, observer := range j {
		observer.AttemptFailed(failure)
	}
}

// PodBound implements [Observer].
func (j joinedObservers) PodBound(binding Binding) {
	for _, observer := range j {
		observer.PodBound(binding)
	}
}

// EventHandled implements [Observer].
func (j joinedObservers) EventHandled(event fwk.ClusterEvent, duration time.Duration) {
	for _, observer := range j {
		observer.EventHandled(event, duration)
	}
}

// PluginFailed implements [Observer].
func (j joinedObservers) PluginFailed(failure runtime.PluginFailure) {
	for _, observer := range j {
		observer.PluginFailed(failure)
	}
}
