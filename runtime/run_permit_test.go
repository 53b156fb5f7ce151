// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
	testclock "k8s.io/utils/clock/testing"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/runtime"
)

func TestRunPermitPlugins(t *testing.T) {
	const allWait = "one or more plugins asked to wait and no plugin rejected pod"
	of := func(name string, code fwk.Code, timeout time.Duration) *fake {
		plugin := returning(name, runtime.MethodPermit, code, "said "+name)
		plugin.timeout = timeout
		return plugin
	}
	tests := map[string]struct {
		plugins  []*fake
		want     result
		timeouts map[string]time.Duration
		calls    int
	}{
		"no plugins": {},
		"success":    {plugins: []*fake{{name: "A"}, {name: "B"}}, calls: 2},
		"reject":     {plugins: []*fake{of("A", fwk.Unschedulable, 0), {name: "B"}}, want: result{fwk.Unschedulable, "said A", "A"}, calls: 1},
		"error": {
			plugins: []*fake{of("A", fwk.Error, 0), {name: "B"}},
			want:    result{fwk.Error, `running Permit plugin "A": said A`, "A"}, calls: 1,
		},
		"skip is an error": {
			plugins: []*fake{of("A", fwk.Skip, 0)},
			want:    result{fwk.Error, `running Permit plugin "A": unexpected status Skip "said A"`, "A"}, calls: 1,
		},
		"wait": {
			plugins:  []*fake{{name: "A"}, of("B", fwk.Wait, time.Minute), {name: "C"}},
			want:     result{Code: fwk.Wait, Message: "said B, " + allWait},
			timeouts: map[string]time.Duration{"B": time.Minute}, calls: 3,
		},
		"several wait": {
			plugins:  []*fake{of("A", fwk.Wait, time.Minute), of("B", fwk.Wait, time.Second)},
			want:     result{Code: fwk.Wait, Message: "said B, " + allWait},
			timeouts: map[string]time.Duration{"A": time.Minute, "B": time.Second}, calls: 2,
		},
		"timeouts are capped": {
			plugins:  []*fake{of("A", fwk.Wait, time.Hour)},
			want:     result{Code: fwk.Wait, Message: "said A, " + allWait},
			timeouts: map[string]time.Duration{"A": 15 * time.Minute}, calls: 1,
		},
		"reject after wait": {
			plugins: []*fake{of("A", fwk.Wait, time.Minute), of("B", fwk.Unschedulable, 0)},
			want:    result{fwk.Unschedulable, "said B", "B"}, calls: 2,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var calls journal
			plugins, names := fakes(&calls, test.plugins)
			f := build(t, runtime.Options{}, func(p *configv1.Plugins) { p.Permit = enabled(names...) }, plugins...)
			for range 2 { // the second time, the reason must not have been added to the plugin's own status
				calls.entries = nil
				timeouts, status := f.RunPermitPlugins(t.Context(), newState(), objects.Pod("p").Build(), "n")
				if diff := cmp.Diff(test.want, resultOf(status)); diff != "" {
					t.Errorf("status (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(test.timeouts, timeouts); diff != "" {
					t.Errorf("timeouts (-want +got):\n%s", diff)
				}
				if got := len(calls.list()); got != test.calls {
					t.Errorf("%d plugins were called, want %d", got, test.calls)
				}
			}
			if f.WillWaitOnPermit(objects.Pod("p").Build()) {
				t.Error("Permit itself has made the pod wait")
			}
		})
	}
}

// decisions are ways in which the waiting of a pod for A (1 minute) and B (2 minutes) ends.
func decisions() map[string]struct {
	decide func(fwk.WaitingPod)
	want   result
	after  time.Duration
} {
	return map[string]struct {
		decide func(fwk.WaitingPod)
		want   result
		after  time.Duration
	}{
		"all allow": {
			decide: func(p fwk.WaitingPod) { p.Allow("A"); p.Allow("B") },
		},
		"reject": {
			decide: func(p fwk.WaitingPod) { p.Reject("B", "no") },
			want:   result{fwk.Unschedulable, "no", "B"},
		},
		"preempt": {
			decide: func(p fwk.WaitingPod) { p.Preempt("C", "preempted") },
			want:   result{fwk.Error, "waiting on permit for pod: preempted", "C"},
		},
		"the earliest timeout": {
			decide: func(fwk.WaitingPod) {},
			want:   result{fwk.Unschedulable, "rejected due to timeout after waiting 1m0s at plugin A", "A"},
			after:  time.Minute,
		},
		"the timeout of a plugin that has not allowed": {
			decide: func(p fwk.WaitingPod) { p.Allow("A") },
			want:   result{fwk.Unschedulable, "rejected due to timeout after waiting 2m0s at plugin B", "B"},
			after:  2 * time.Minute,
		},
		"the first signal wins": {
			decide: func(p fwk.WaitingPod) { p.Reject("A", "no"); p.Allow("A"); p.Allow("B"); p.Preempt("C", "preempted") },
			want:   result{fwk.Unschedulable, "no", "A"},
		},
		"allow of a stranger changes nothing": {
			decide: func(p fwk.WaitingPod) { p.Allow("C"); p.Allow("C"); p.Reject("A", "no") },
			want:   result{fwk.Unschedulable, "no", "A"},
		},
	}
}

func waitFor(f *runtime.Framework, pod *v1.Pod) {
	f.AddWaitingPod(pod, map[string]time.Duration{"A": time.Minute, "B": 2 * time.Minute})
}

func TestWaitOnPermit(t *testing.T) {
	for name, test := range decisions() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				metrics := &recorder{}
				f := build(t, runtime.Options{Metrics: metrics}, nil)
				pod := objects.Pod("p").Build()
				waitFor(f, pod)
				if !f.WillWaitOnPermit(pod) {
					t.Error("the pod will not wait")
				}
				decided := make(chan *fwk.Status, 1)
				start := time.Now()
				go func() { decided <- f.WaitOnPermit(t.Context(), pod) }()
				synctest.Wait()
				test.decide(f.GetWaitingPod(pod.UID))
				status := <-decided
				if diff := cmp.Diff(test.want, resultOf(status)); diff != "" {
					t.Errorf("status (-want +got):\n%s", diff)
				}
				if got := time.Since(start); got != test.after {
					t.Errorf("waited %v, want %v", got, test.after)
				}
				if f.WillWaitOnPermit(pod) || f.GetWaitingPod(pod.UID) != nil {
					t.Error("the pod still waits")
				}
				result := test.want.Code.String()
				if diff := cmp.Diff([]string{"wait " + result + " " + test.after.String()}, metrics.list()); diff != "" {
					t.Errorf("metrics (-want +got):\n%s", diff)
				}
				if status := f.WaitOnPermit(t.Context(), pod); status != nil {
					t.Errorf("waiting again: %v", status)
				}
			})
		})
	}
}

func TestOnPermitDecided(t *testing.T) {
	for name, test := range decisions() {
		t.Run(name, func(t *testing.T) {
			clock := testclock.NewFakeClock(epoch())
			metrics := &recorder{}
			f := build(t, runtime.Options{Execution: runtime.Execution{Clock: clock}, Metrics: metrics}, nil)
			pod := objects.Pod("p").Build()
			waitFor(f, pod)
			var got []result
			if !f.OnPermitDecided(pod, func(status *fwk.Status) { got = append(got, resultOf(status)) }) {
				t.Fatal("the pod does not wait")
			}
			// From within an iteration, as plugins that wait for a group of pods do.
			f.IterateOverWaitingPods(test.decide)
			if test.after > 0 {
				clock.Step(test.after - time.Second)
				if len(got) > 0 {
					t.Fatalf("decided %v too early", got)
				}
				clock.Step(time.Second)
			}
			clock.Step(time.Hour)
			if diff := cmp.Diff([]result{test.want}, got); diff != "" {
				t.Errorf("decisions (-want +got):\n%s", diff)
			}
			if f.WillWaitOnPermit(pod) {
				t.Error("the pod still waits")
			}
			wantMetrics := []string{"wait " + test.want.Code.String() + " " + test.after.String()}
			if diff := cmp.Diff(wantMetrics, metrics.list()); diff != "" {
				t.Errorf("metrics (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOnPermitDecidedAfterTheDecision(t *testing.T) {
	f := build(t, runtime.Options{}, nil)
	pod := objects.Pod("p").Build()
	if f.OnPermitDecided(pod, func(*fwk.Status) { t.Error("called for a pod that does not wait") }) {
		t.Error("a pod that never waited waits")
	}
	waitFor(f, pod)
	f.GetWaitingPod(pod.UID).Reject("A", "no")
	calls := 0
	f.OnPermitDecided(pod, func(status *fwk.Status) {
		calls++
		if diff := cmp.Diff(result{fwk.Unschedulable, "no", "A"}, resultOf(status)); diff != "" {
			t.Errorf("status (-want +got):\n%s", diff)
		}
	})
	if calls != 1 {
		t.Errorf("called %d times, want once", calls)
	}
}
