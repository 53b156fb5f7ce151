// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/component-base/metrics/testutil"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/cache"
	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/queue"
	"github.com/rouse-scheduler/rouse/runtime"
	"github.com/rouse-scheduler/rouse/scheduler"
	"github.com/rouse-scheduler/rouse/scheduler/metrics"
)

const profile = "default-scheduler"

func rejectedBy(plugins ...string) *framework.QueuedPodInfo {
	info := framework.NewQueuedPodInfo(objects.Pod("p").Build(), time.Time{})
	info.UnschedulablePlugins.Insert(plugins...)
	return info
}

// touchAll has every metric measure something, and records it.
func touchAll(m *metrics.Recorder) {
	m.AttemptStarted(objects.Pod("p").Build(), 1)
	m.SearchEnded(objects.Pod("p").Build(), time.Second)
	m.AttemptFailed(scheduler.Failure{Pod: objects.Pod("p").Build(), Status: fwk.NewStatus(fwk.Unschedulable), Duration: time.Second})
	m.PodBound(scheduler.Binding{Pod: objects.Pod("p").Build(), Attempt: 2, Duration: time.Second, SinceReady: 3 * time.Second, Flushed: true})
	m.EventHandled(fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add}, time.Second)
	m.PodMoved(queue.PodMove{Pod: rejectedBy("P"), From: queue.PoolInFlight, To: queue.PoolUnschedulable, Cause: queue.CauseAttemptFailed})
	m.HintEvaluated(queue.HintResult{Plugin: "P", Event: "NodeAdd", Hint: fwk.QueueSkip, Duration: time.Second})
	m.PreEnqueueRan(profile, "", time.Second)
	m.EventNarrowed("P", true)
	m.InFlightEvents("NodeAdd", 1)
	m.ExtensionPointDuration(runtime.MethodFilter, "Success", profile, time.Second)
	m.PluginDuration("P", runtime.MethodFilter, "Success", time.Second)
	m.PluginEvaluations("P", runtime.MethodFilter, profile).Inc()
	m.PermitWait("Success", time.Second)
	m.Goroutines("binding", 1)
	m.VerdictCacheBytes(1)
	m.PreemptionAttempted()
	m.VictimsChosen(3)
	m.EvictionEnded(nil, time.Second)
	m.StageFailed("bind")
	m.ClaimCreated(nil)
	m.DevicesBound(profile, []string{"gpu.example.com"}, "success", time.Second)
	record(m)
}

// record has the buffer recorded.
func record(m *metrics.Recorder) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	m.Run(ctx, func() cache.Counts { return cache.Counts{Nodes: 1, Pods: 2, AssumedPods: 3} })
}

func TestLint(t *testing.T) {
	f := newFixture(t, metrics.Options{})
	touchAll(f.Recorder)
	problems, err := testutil.NewPromLinter(strings.NewReader(f.scrape())).Lint()
	if err != nil || len(problems) != 0 {
		t.Errorf("linting: %v, error %v", problems, err)
	}
}

// The names of metrics are those of [metrics.Definitions] without the prefix.
func TestWhatIsMeasured(t *testing.T) {
	tests := []struct {
		metric  string
		measure func(*metrics.Recorder)
		want    []string
	}{
		{"schedule_attempts_total", func(m *metrics.Recorder) {
			for _, code := range []fwk.Code{fwk.Unschedulable, fwk.UnschedulableAndUnresolvable, fwk.Pending, fwk.Error} {
				m.AttemptFailed(scheduler.Failure{Pod: objects.Pod("p").Build(), Status: fwk.NewStatus(code)})
			}
			m.PodBound(scheduler.Binding{Pod: objects.Pod("p").Build(), Attempt: 1})
		}, []string{"error default-scheduler: 1", "scheduled default-scheduler: 1", "unschedulable default-scheduler: 3"}},
		{"scheduling_attempt_duration_seconds", func(m *metrics.Recorder) {
			m.AttemptFailed(scheduler.Failure{Pod: objects.Pod("p").Build(), Status: fwk.NewStatus(fwk.Error), Duration: time.Second})
			m.PodBound(scheduler.Binding{Pod: objects.Pod("p").Build(), Attempt: 1, Duration: 2 * time.Second, SinceReady: time.Hour})
		}, []string{"error default-scheduler: 1 in 1", "scheduled default-scheduler: 1 in 2"}},
		{"scheduling_algorithm_duration_seconds", func(*metrics.Recorder) {}, []string{"0 in 0"}},
		{"scheduling_algorithm_duration_seconds", func(m *metrics.Recorder) { m.SearchEnded(objects.Pod("p").Build(), time.Millisecond) }, []string{"1 in 0.001"}},
		{"pod_scheduling_sli_duration_seconds", func(m *metrics.Recorder) {
			for _, attempts := range []int{1, 14, 15, 100} {
				m.PodBound(scheduler.Binding{Pod: objects.Pod("p").Build(), Attempt: attempts, Duration: time.Hour, SinceReady: time.Second})
			}
		}, []string{"14: 1 in 1", "15+: 2 in 2", "1: 1 in 1"}},
		{"pod_scheduling_attempts", func(m *metrics.Recorder) {
			m.PodBound(scheduler.Binding{Pod: objects.Pod("p").Build(), Attempt: 3})
			m.PodBound(scheduler.Binding{Pod: objects.Pod("p").Build(), Attempt: 4})
		}, []string{"2 in 7"}},
		{"pod_scheduled_after_flush_total", func(m *metrics.Recorder) {
			m.PodBound(scheduler.Binding{Pod: objects.Pod("p").Build(), Flushed: true})
			m.PodBound(scheduler.Binding{Pod: objects.Pod("p").Build()})
		}, []string{"1"}},
		{"pod_scheduled_after_flush_total", func(*metrics.Recorder) {}, []string{"0"}},
		{"event_handling_duration_seconds", func(m *metrics.Recorder) {
			for range 2 {
				m.EventHandled(fwk.ClusterEvent{Resource: fwk.AssignedPod, ActionType: fwk.Update}, time.Second)
			}
			m.EventHandled(fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.UpdateNodeLabel}, time.Second)
			m.EventHandled(fwk.ClusterEvent{Resource: fwk.UnscheduledPod, ActionType: fwk.Add}, time.Second)
		}, []string{"AssignedPodUpdate: 2 in 2", "NodeUpdateNodeLabel: 1 in 1", "UnscheduledPodAdd: 1 in 1"}},
		{"cache_size", record, []string{"assumed_pods: 3", "nodes: 1", "pods: 2"}},
		{"pending_pods", func(*metrics.Recorder) {},
			[]string{"active: 0", "backoff: 0", "gated: 0", "incomplete: 0", "pending: 0", "unschedulable: 0"}},
		{"queued_entities", func(m *metrics.Recorder) {
			m.PodMoved(queue.PodMove{Pod: rejectedBy(), To: queue.PoolActive, Cause: queue.CauseAdded})
		}, []string{"active pod: 1", "backoff pod: 0", "gated pod: 0", "unschedulable pod: 0"}},
		{"queue_incoming_pods_total", func(m *metrics.Recorder) {
			m.PodMoved(queue.PodMove{Pod: rejectedBy(), To: queue.PoolActive, Cause: queue.CauseAdded})
			m.PodMoved(queue.PodMove{Pod: rejectedBy(), From: queue.PoolActive, To: queue.PoolInFlight, Cause: queue.CausePopped})
			m.PodMoved(queue.PodMove{Pod: rejectedBy("P"), From: queue.PoolInFlight, To: queue.PoolUnschedulable, Cause: queue.CauseAttemptFailed})
			m.PodMoved(queue.PodMove{Pod: rejectedBy("P"), From: queue.PoolUnschedulable, To: queue.PoolGated, Cause: "NodeAdd", NewRejector: "Gate"})
			m.PodMoved(queue.PodMove{Pod: rejectedBy("P"), From: queue.PoolGated, To: queue.PoolGated, Cause: "NodeAdd", NewRejector: "Other"})
			m.PodMoved(queue.PodMove{Pod: rejectedBy("P"), From: queue.PoolGated, To: queue.PoolNone, Cause: queue.CauseDeleted})
		}, []string{"active UnscheduledPodAdd: 1", "unschedulable ScheduleAttemptFailure: 1"}},
		{"queue_incoming_entities_total", func(m *metrics.Recorder) {
			m.PodMoved(queue.PodMove{Pod: rejectedBy(), To: queue.PoolActive, Cause: queue.CauseAdded})
		}, []string{"active UnscheduledPodAdd pod: 1"}},
		{"unschedulable_pods", func(m *metrics.Recorder) {
			info := rejectedBy("P", "Q")
			info.PendingPlugins.Insert("Q", "R")
			m.PodMoved(queue.PodMove{Pod: info, From: queue.PoolInFlight, To: queue.PoolUnschedulable})
			info.UnschedulablePlugins.Insert("Gate")
			m.PodMoved(queue.PodMove{Pod: info, From: queue.PoolUnschedulable, To: queue.PoolGated, NewRejector: "Gate"})
			m.PodMoved(queue.PodMove{Pod: info, From: queue.PoolGated, To: queue.PoolBackoff})
			m.PodMoved(queue.PodMove{Pod: rejectedBy("P"), From: queue.PoolInFlight, To: queue.PoolUnschedulable})
		}, []string{"Gate default-scheduler: 1", "P default-scheduler: 2", "Q default-scheduler: 1", "R default-scheduler: 1"}},
		{"inflight_events", func(m *metrics.Recorder) {
			m.InFlightEvents("NodeAdd", 1)
			m.InFlightEvents("NodeAdd", 1)
			m.InFlightEvents(queue.CausePopped, 1)
			m.InFlightEvents(queue.CausePopped, -1)
		}, []string{"NodeAdd: 2", "PodPopped: 0"}},
		{"queueing_hint_execution_duration_seconds", func(m *metrics.Recorder) {
			m.HintEvaluated(queue.HintResult{Plugin: "P", Event: "NodeAdd", Hint: fwk.Queue, Duration: time.Second})
			m.HintEvaluated(queue.HintResult{Plugin: "P", Event: "NodeAdd", Hint: fwk.QueueSkip, Duration: time.Second})
			m.HintEvaluated(queue.HintResult{Plugin: "P", Event: "NodeAdd", Hint: fwk.Queue, Err: errors.New("broken")})
			record(m)
		}, []string{"P NodeAdd Error: 1 in 0", "P NodeAdd Queue: 1 in 1", "P NodeAdd QueueSkip: 1 in 1"}},
		{"pre_queueing_hint_evaluations_total", func(m *metrics.Recorder) {
			m.EventNarrowed("P", true)
			m.EventNarrowed("P", false)
		}, []string{"P all_pods: 1", "P narrowed: 1"}},
		{"framework_extension_point_duration_seconds", func(m *metrics.Recorder) {
			m.ExtensionPointDuration(runtime.MethodFilter, "Success", profile, time.Second)
			m.PreEnqueueRan(profile, "Gate", time.Second)
		}, []string{"Filter Success default-scheduler: 1 in 1", "PreEnqueue Success default-scheduler: 1 in 1"}},
		{"plugin_execution_duration_seconds", func(m *metrics.Recorder) {
			m.PluginDuration("P", runtime.MethodScore, "Error", time.Second)
			record(m)
		}, []string{"P Score Error: 1 in 1"}},
		{"plugin_evaluation_total", func(m *metrics.Recorder) {
			m.PluginEvaluations("P", runtime.MethodFilter, profile).Inc()
			m.PluginEvaluations("P", runtime.MethodFilter, profile).Inc()
			m.PluginEvaluations("P", runtime.MethodScore, profile)
		}, []string{"P Filter default-scheduler: 2", "P Score default-scheduler: 0"}},
		{"permit_wait_duration_seconds", func(m *metrics.Recorder) { m.PermitWait("Unschedulable", time.Second) }, []string{"Unschedulable: 1 in 1"}},
		{"verdict_cache_bytes", func(m *metrics.Recorder) {
			m.VerdictCacheBytes(7)
			m.VerdictCacheBytes(5)
		}, []string{"5"}},
		{"goroutines", func(m *metrics.Recorder) {
			m.Goroutines("binding", 1)
			m.Goroutines("Filter", 16)
			m.Goroutines("Filter", -16)
		}, []string{"Filter: 0", "binding: 1"}},
		{"preemption_attempts_total", (*metrics.Recorder).PreemptionAttempted, []string{"1"}},
		{"preemption_victims", func(m *metrics.Recorder) { m.VictimsChosen(5) }, []string{"1 in 5"}},
		{"preemption_goroutines_execution_total", func(m *metrics.Recorder) {
			m.EvictionEnded(nil, time.Second)
			m.EvictionEnded(errors.New("broken"), time.Second)
		}, []string{"error: 1", "success: 1"}},
		{"preemption_goroutines_duration_seconds", func(m *metrics.Recorder) { m.EvictionEnded(nil, time.Second) }, []string{"success: 1 in 1"}},
		{"volume_scheduling_stage_error_total", func(m *metrics.Recorder) { m.StageFailed("assume") }, []string{"assume: 1"}},
		{"dynamic_resource_allocation_resourceclaim_creates_total", func(m *metrics.Recorder) {
			m.ClaimCreated(nil)
			m.ClaimCreated(errors.New("broken"))
		}, []string{"failure false  Pod: 1", "success false  Pod: 1"}},
		{"dra_bindingconditions_allocations_total", func(m *metrics.Recorder) {
			m.DevicesBound(profile, []string{"gpu.example.com", "net.example.com"}, "timeout", time.Second)
		}, []string{"default-scheduler gpu.example.com timeout: 1", "default-scheduler net.example.com timeout: 1"}},
		{"dra_bindingconditions_wait_duration_seconds", func(m *metrics.Recorder) {
			m.DevicesBound(profile, []string{"gpu.example.com"}, "success", 2*time.Second)
		}, []string{"default-scheduler gpu.example.com success: 1 in 2"}},
	}
	measured := map[string]bool{}
	for _, test := range tests {
		f := newFixture(t, metrics.Options{})
		test.measure(f.Recorder)
		if diff := cmp.Diff(test.want, f.values(test.metric)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.metric, diff)
		}
		measured[test.metric] = true
	}
	for _, definition := range metrics.Definitions() {
		if !measured[strings.TrimPrefix(definition.Name, "scheduler_")] {
			t.Errorf("there is no test of %s", definition.Name)
		}
	}
}

// What does not fit into the buffer is dropped, and no caller waits.
func TestBuffer(t *testing.T) {
	f := newFixture(t, metrics.Options{})
	for range 1500 {
		f.PluginDuration("P", runtime.MethodFilter, "Success", time.Second)
	}
	if got := f.values("plugin_execution_duration_seconds"); got != nil {
		t.Errorf("before a second is over, got %q, want nothing", got)
	}
	record(f.Recorder)
	if diff := cmp.Diff([]string{"P Filter Success: 1000 in 1000"}, f.values("plugin_execution_duration_seconds")); diff != "" {
		t.Errorf("after one, the metric (-want +got):\n%s", diff)
	}
}

func TestEverySecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, metrics.Options{})
		var nodes atomic.Int64
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go f.Run(ctx, func() cache.Counts { return cache.Counts{Nodes: int(nodes.Load())} })
		synctest.Wait()
		for second := 1; second <= 3; second++ {
			f.PluginDuration("P", runtime.MethodFilter, "Success", time.Second)
			nodes.Store(int64(second))
			time.Sleep(time.Second)
			synctest.Wait()
			if got, want := f.values("cache_size"), "nodes: "+string(rune('0'+second)); !slices.Contains(got, want) {
				t.Errorf("after %d seconds, got %q, want %q", second, got, want)
			}
			if got, want := f.values("plugin_execution_duration_seconds")[0], "P Filter Success: "+string(rune('0'+second)); !strings.HasPrefix(got, want) {
				t.Errorf("after %d seconds, got %q, want %q", second, got, want)
			}
		}
		f.PluginDuration("P", runtime.MethodScore, "Success", time.Second)
		cancel()
		synctest.Wait()
		if got := f.values("plugin_execution_duration_seconds"); len(got) != 2 {
			t.Errorf("at the end, got %q, want what was measured last too", got)
		}
	})
}

func TestRunWithoutCounts(t *testing.T) {
	f := newFixture(t, metrics.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f.Run(ctx, nil)
	if got := f.values("cache_size"); got != nil {
		t.Errorf("got %q, want nothing", got)
	}
}

func TestReset(t *testing.T) {
	f := newFixture(t, metrics.Options{})
	evaluations := f.PluginEvaluations("P", runtime.MethodFilter, profile)
	for range 2 {
		touchAll(f.Recorder)
		evaluations.Inc()
		f.registry.Reset()
	}
	for _, test := range []struct {
		metric string
		want   []string
	}{
		{"schedule_attempts_total", nil},
		{"scheduling_attempt_duration_seconds", nil},
		{"plugin_evaluation_total", []string{"P Filter default-scheduler: 0"}},
		{"preemption_victims", []string{"0 in 0"}},
		{"preemption_attempts_total", []string{"0"}},
		{"pending_pods", []string{"active: 0", "backoff: 0", "gated: 0", "incomplete: 0", "pending: 0", "unschedulable: 2"}},
		{"unschedulable_pods", []string{"P default-scheduler: 2"}},
		{"inflight_events", []string{"NodeAdd: 2"}},
		{"goroutines", []string{"binding: 2"}},
		{"cache_size", []string{"assumed_pods: 3", "nodes: 1", "pods: 2"}},
	} {
		if diff := cmp.Diff(test.want, f.values(test.metric)); diff != "" {
			t.Errorf("after the reset, %s (-want +got):\n%s", test.metric, diff)
		}
	}
	touchAll(f.Recorder)
	evaluations.Inc()
	for metric, want := range map[string]string{
		"schedule_attempts_total": "scheduled default-scheduler: 1",
		"plugin_evaluation_total": "P Filter default-scheduler: 2",
		"preemption_victims":      "1 in 3",
		"goroutines":              "binding: 3",
	} {
		if got := f.values(metric); !slices.Contains(got, want) {
			t.Errorf("counted again, %s is %q, want %q", metric, got, want)
		}
	}
}
