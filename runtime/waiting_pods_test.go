// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package runtime_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	fwk "k8s.io/kube-scheduler/framework"
	testclock "k8s.io/utils/clock/testing"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/runtime"
)

func TestWaitingPodsAreShared(t *testing.T) {
	config := &profiles.Configuration{}
	for _, name := range []string{"one", "other"} {
		profile := profileWith(nil)
		profile.SchedulerName = name
		config.Profiles = append(config.Profiles, *profile)
	}
	built, err := runtime.NewProfiles(t.Context(), config, registryOf(), runtime.Options{
		Execution: runtime.Execution{Clock: testclock.NewFakeClock(epoch())},
	})
	if err != nil {
		t.Fatal(err)
	}
	one, other := built["one"], built["other"]
	for _, name := range []string{"c", "a", "b"} {
		waitFor(one, objects.Pod(name).Build())
	}
	var order []string
	other.IterateOverWaitingPods(func(pod fwk.WaitingPod) {
		order = append(order, pod.GetPod().Name)
		if diff := cmp.Diff([]string{"A", "B"}, pod.GetPendingPlugins()); diff != "" {
			t.Errorf("pending plugins (-want +got):\n%s", diff)
		}
	})
	if diff := cmp.Diff([]string{"c", "a", "b"}, order); diff != "" {
		t.Errorf("pods, in the order in which they began to wait (-want +got):\n%s", diff)
	}
	pod := other.GetWaitingPod("default/a")
	pod.Allow("A")
	if diff := cmp.Diff([]string{"B"}, pod.GetPendingPlugins()); diff != "" {
		t.Errorf("pending plugins (-want +got):\n%s", diff)
	}
	if absent := other.GetWaitingPod("default/d"); absent != nil {
		t.Errorf("a pod that does not wait is %v", absent)
	}
}

func TestDecisionsAreFinal(t *testing.T) {
	decisions := map[string]func(*runtime.Framework, fwk.WaitingPod) bool{
		"reject":  func(_ *runtime.Framework, pod fwk.WaitingPod) bool { return pod.Reject("A", "no") },
		"preempt": func(_ *runtime.Framework, pod fwk.WaitingPod) bool { return pod.Preempt("A", "no") },
		"removed": func(f *runtime.Framework, pod fwk.WaitingPod) bool { return f.RejectWaitingPod(pod.GetPod().UID) },
		"allow": func(_ *runtime.Framework, pod fwk.WaitingPod) bool {
			pod.Allow("A")
			pod.Allow("B")
			return true
		},
	}
	for firstName, first := range decisions {
		for _, secondName := range []string{"reject", "preempt", "removed"} {
			t.Run(firstName+", then "+secondName, func(t *testing.T) {
				f := build(t, runtime.Options{}, nil)
				waitFor(f, objects.Pod("p").Build())
				pod := f.GetWaitingPod("default/p")
				if !first(f, pod) {
					t.Errorf("%s does not decide", firstName)
				}
				if decisions[secondName](f, pod) {
					t.Errorf("%s decides although %s came first", secondName, firstName)
				}
			})
		}
	}
}

func TestRejectWaitingPod(t *testing.T) {
	f := build(t, runtime.Options{}, nil)
	if f.RejectWaitingPod("default/p") {
		t.Error("a pod that does not wait was rejected")
	}
	pod := objects.Pod("p").Build()
	waitFor(f, pod)
	if !f.RejectWaitingPod("default/p") {
		t.Error("a waiting pod was not rejected")
	}
	if diff := cmp.Diff(result{Code: fwk.Unschedulable, Message: "removed"}, resultOf(f.WaitOnPermit(t.Context(), pod))); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

func TestAddWaitingPodReplaces(t *testing.T) {
	f := build(t, runtime.Options{}, nil)
	pod := objects.Pod("p").Build()
	waitFor(f, pod)
	first := f.GetWaitingPod("default/p")
	var outcomes []string
	f.OnPermitDecided(pod, func(*fwk.Status) { outcomes = append(outcomes, "first") })
	waitFor(f, pod)
	first.Reject("A", "no")
	if !f.WillWaitOnPermit(pod) {
		t.Error("the end of the first wait has ended the second")
	}
	if diff := cmp.Diff([]string{"first"}, outcomes); diff != "" {
		t.Errorf("decisions (-want +got):\n%s", diff)
	}
}

func TestTimersStopWithTheDecision(t *testing.T) {
	clock := testclock.NewFakeClock(epoch())
	f := build(t, runtime.Options{Execution: runtime.Execution{Clock: clock}}, nil)
	waitFor(f, objects.Pod("allowed").Build())
	waitFor(f, objects.Pod("rejected").Build())
	waitFor(f, objects.Pod("preempted").Build())
	f.GetWaitingPod("default/allowed").Allow("A")
	f.GetWaitingPod("default/allowed").Allow("B")
	f.GetWaitingPod("default/rejected").Reject("A", "no")
	f.GetWaitingPod("default/preempted").Preempt("A", "no")
	if clock.HasWaiters() {
		t.Errorf("%d timers still run", clock.Waiters())
	}
}
