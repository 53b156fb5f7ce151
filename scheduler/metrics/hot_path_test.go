// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"context"
	"sync"
	"testing"
	"time"

	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/queue"
	"github.com/rouse-scheduler/rouse/runtime"
	"github.com/rouse-scheduler/rouse/scheduler"
	"github.com/rouse-scheduler/rouse/scheduler/metrics"
)

// hotPath is something that happens for every event, pod, node or plugin.
type hotPath struct {
	name string
	// prepare returns what is measured.
	prepare func(*metrics.Recorder) func()
}

func hotPaths() []hotPath {
	pod := objects.Pod("p").Build()
	always := func(do func(*metrics.Recorder)) func(*metrics.Recorder) func() {
		return func(m *metrics.Recorder) func() { return func() { do(m) } }
	}
	info := rejectedBy("NodeResourcesFit", "NodeAffinity")
	failure := scheduler.Failure{Pod: pod, Status: fwk.NewStatus(fwk.Unschedulable), Duration: time.Millisecond}
	binding := scheduler.Binding{Pod: pod, Attempt: 2, Duration: time.Millisecond, SinceReady: time.Second}
	event := fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.UpdateNodeLabel}
	return []hotPath{
		{"Evaluation", func(m *metrics.Recorder) func() {
			return m.PluginEvaluations("NodeResourcesFit", runtime.MethodFilter, profile).Inc
		}},
		{"ExtensionPoint", always(func(m *metrics.Recorder) {
			m.ExtensionPointDuration(runtime.MethodFilter, "Success", profile, time.Millisecond)
		})},
		{"Plugin", always(func(m *metrics.Recorder) {
			m.PluginDuration("NodeResourcesFit", runtime.MethodFilter, "Success", time.Microsecond)
		})},
		{"Hint", always(func(m *metrics.Recorder) {
			m.HintEvaluated(queue.HintResult{Plugin: "NodeResourcesFit", Event: "NodeAdd", Hint: fwk.QueueSkip, Duration: time.Microsecond})
		})},
		{"Gates", always(func(m *metrics.Recorder) { m.PreEnqueueRan(profile, "", time.Microsecond) })},
		{"PodMoved", always(func(m *metrics.Recorder) {
			m.PodMoved(queue.PodMove{Pod: info, From: queue.PoolInFlight, To: queue.PoolUnschedulable, Cause: queue.CauseAttemptFailed})
			m.PodMoved(queue.PodMove{Pod: info, From: queue.PoolUnschedulable, To: queue.PoolNone, Cause: queue.CauseDeleted})
		})},
		{"InFlightEvents", always(func(m *metrics.Recorder) { m.InFlightEvents("NodeAdd", 1); m.InFlightEvents("NodeAdd", -1) })},
		{"Goroutines", always(func(m *metrics.Recorder) { m.Goroutines("Filter", 16); m.Goroutines("Filter", -16) })},
		{"SearchEnded", always(func(m *metrics.Recorder) { m.SearchEnded(pod, time.Millisecond) })},
		{"AttemptFailed", always(func(m *metrics.Recorder) { m.AttemptFailed(failure) })},
		{"PodBound", always(func(m *metrics.Recorder) { m.PodBound(binding) })},
		{"EventHandled", always(func(m *metrics.Recorder) { m.EventHandled(event, time.Microsecond) })},
	}
}

func BenchmarkHotPaths(b *testing.B) {
	for _, path := range hotPaths() {
		b.Run(path.name, func(b *testing.B) {
			do := path.prepare(newFixture(b, metrics.Options{}).Recorder)
			b.ReportAllocs()
			for b.Loop() {
				do()
			}
		})
	}
}

func TestHotPathsAllocateNothing(t *testing.T) {
	for _, path := range hotPaths() {
		do := path.prepare(newFixture(t, metrics.Options{}).Recorder)
		do() // the first time, series are made
		if allocations := testing.AllocsPerRun(200, do); allocations != 0 {
			t.Errorf("%s: %v allocations, want none", path.name, allocations)
		}
	}
}

// While everything is measured, scraped and reset at once, nothing of what happens after the last reset is lost.
func TestConcurrentUse(t *testing.T) {
	f := newFixture(t, metrics.Options{})
	const workers, rounds = 8, 200
	ctx, cancel := context.WithCancel(t.Context())
	var disturbers, measuring sync.WaitGroup
	disturbers.Go(func() { f.Run(ctx, nil) })
	disturbers.Go(func() {
		for ctx.Err() == nil {
			if _, err := f.registry.Gather(); err != nil {
				t.Error(err)
			}
			f.registry.Reset()
		}
	})
	measure := func() {
		for range workers {
			measuring.Go(func() {
				for _, path := range hotPaths() {
					do := path.prepare(f.Recorder)
					for range rounds {
						do()
					}
				}
			})
		}
		measuring.Wait()
	}
	measure()
	cancel()
	disturbers.Wait()
	for _, want := range []struct{ metric, series string }{
		{"inflight_events", "NodeAdd: 0"}, {"goroutines", "Filter: 0"}, {"pending_pods", "unschedulable: 0"},
		{"unschedulable_pods", "NodeAffinity default-scheduler: 0"},
	} {
		hasSeries(t, f, want.metric, want.series)
	}
	f.registry.Reset()
	measure()
	for _, want := range []struct{ metric, series string }{
		{"schedule_attempts_total", "scheduled default-scheduler: 1600"},
		{"plugin_evaluation_total", "NodeResourcesFit Filter default-scheduler: 1600"},
		{"queue_incoming_pods_total", "unschedulable ScheduleAttemptFailure: 1600"},
	} {
		hasSeries(t, f, want.metric, want.series)
	}
}
