// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"strconv"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/runtime"
	"github.com/rouse-scheduler/rouse/scheduler"
)

// manyAttempts is the number of attempts from which on the label of them says no more than that they were so many.
const manyAttempts = 15

// AttemptStarted implements scheduler.Observer.
func (m *recorder) AttemptStarted(*v1.Pod, int) {}

// SearchEnded implements scheduler.Observer.
func (m *recorder) SearchEnded(_ *v1.Pod, duration time.Duration) {
	m.searchDuration.get().Observe(duration.Seconds())
}

// AttemptFailed implements scheduler.Observer.
func (m *recorder) AttemptFailed(failure scheduler.Failure) {
	result := "error"
	if failure.Status.IsRejected() {
		result = "unschedulable"
	}
	m.attemptEnded(result, failure.Pod, failure.Duration)
}

// PodBound implements scheduler.Observer.
func (m *recorder) PodBound(binding scheduler.Binding) {
	m.attemptEnded("scheduled", binding.Pod, binding.Duration)
	m.attemptsPerPod.get().Observe(float64(binding.Attempt))
	m.sliDurations.observe(labels{attemptsLabel(binding.Attempt)}, binding.SinceReady.Seconds())
	if binding.Flushed {
		m.scheduledByFlush.get().Inc()
	}
}

func (m *recorder) attemptEnded(result string, pod *v1.Pod, duration time.Duration) {
	values := labels{result, pod.Spec.SchedulerName}
	m.attempts.increment(values)
	m.attemptDurations.observe(values, duration.Seconds())
}

func attemptsLabel(attempts int) string {
	if attempts >= manyAttempts {
		return strconv.Itoa(manyAttempts) + "+"
	}
	return strconv.Itoa(attempts)
}

// EventHandled implements scheduler.Observer.
func (m *recorder) EventHandled(event fwk.ClusterEvent, duration time.Duration) {
	m.eventDurations.observe(labels{m.eventLabels.of(event)}, duration.Seconds())
}

// eventLabels remembers the labels of events, which take time to put together.
type eventLabels struct {
	mu    sync.RWMutex
	known map[fwk.ClusterEvent]string // guarded by mu
}

func (l *eventLabels) of(event fwk.ClusterEvent) string {
	l.mu.RLock()
	label, ok := l.known[event]
	l.mu.RUnlock()
	if !ok {
		label = event.Label()
		l.mu.Lock()
		l.known[event] = label
		l.mu.Unlock()
	}
	return label
}

// PluginFailed implements scheduler.Observer. kube-scheduler has no metric for it; failures are in the log.
func (m *recorder) PluginFailed(runtime.PluginFailure) {}
