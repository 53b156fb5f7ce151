// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/queue"
)

func TestRefusedPodIsNotWokenByItsOwnDeparture(t *testing.T) {
	gate := &scripted{
		name:   "Gate",
		permit: func(*v1.Pod) (*fwk.Status, time.Duration) { return fwk.NewStatus(fwk.Wait), time.Minute },
		events: []fwk.ClusterEventWithHint{onEvent(fwk.AssignedPod, fwk.Delete)},
	}
	f := newFixture(t, gate)
	f.nodeAdded(objects.Node("n1").Capacity("cpu", "1", "memory", "8Gi").Build())
	f.add(objects.Pod("a").Requests("cpu", "1").Build())
	f.attempt()
	f.add(objects.Pod("b").Requests("cpu", "1").Build())
	f.attempt() // does not fit next to a
	f.clock.Step(time.Minute)
	f.runTasks()
	f.wantPool("a", queue.PoolUnschedulable)
	if got := f.pool("b"); got == queue.PoolUnschedulable {
		t.Errorf("b still waits, although a left")
	}
	status, _ := f.Queue().Lookup("default", "a")
	if diff := cmp.Diff([]string{"Gate"}, status.UnschedulablePlugins); diff != "" {
		t.Errorf("rejectors (-want +got):\n%s", diff)
	}
}

func TestPermissionBindsThePod(t *testing.T) {
	gate := &scripted{name: "Gate", permit: func(*v1.Pod) (*fwk.Status, time.Duration) {
		return fwk.NewStatus(fwk.Wait), time.Minute
	}}
	f := newFixture(t, gate)
	f.nodeAdded(objects.Node("n1").Capacity("cpu", "1", "memory", "8Gi").Build())
	pod := objects.Pod("a").Requests("cpu", "1").Build()
	f.add(pod)
	f.attempt()
	if len(f.seen.bound) > 0 {
		t.Fatal("bound without permission")
	}
	f.Profiles()["default-scheduler"].GetWaitingPod(pod.UID).Allow("Gate")
	f.runTasks()
	if got := f.seen.bound["a"]; got != "n1" {
		t.Errorf("bound to %q, want n1", got)
	}
	if writes := f.writes(); len(writes) < 2 || writes[0] != "patch pods/status" || writes[len(writes)-1] != "create pods/binding" {
		t.Errorf("writes are %v, want the nomination before the binding", writes)
	}
}

func TestDeletedPodThatWaitsForPermissionIsRefused(t *testing.T) {
	gate := &scripted{name: "Wait", permit: func(*v1.Pod) (*fwk.Status, time.Duration) {
		return fwk.NewStatus(fwk.Wait), time.Minute
	}}
	f := newFixture(t, gate)
	f.nodeAdded(objects.Node("n1").Capacity("cpu", "1", "memory", "8Gi").Build())
	pod := objects.Pod("a").Requests("cpu", "1").Build()
	f.add(pod)
	f.attempt()
	if diff := cmp.Diff([]string{"a@n1*"}, f.cached()); diff != "" {
		t.Fatalf("cached pods while waiting (-want +got):\n%s", diff)
	}
	f.forget(pod)
	f.podDeleted(pod)
	f.runTasks()
	if got := f.cached(); len(got) > 0 {
		t.Errorf("cached pods are %v, want none", got)
	}
	if gate.unreserved["a"] != 1 {
		t.Errorf("Unreserve was called %d times, want 1", gate.unreserved["a"])
	}
	f.wantPool("a", queue.PoolNone)
	if len(f.seen.bound) > 0 {
		t.Errorf("bound %v, want nothing", f.seen.bound)
	}
}

func TestPermitDecisions(t *testing.T) {
	const bound, waiting = "bound", "waiting"
	tests := []struct {
		name   string
		decide func(f *fixture, pod fwk.WaitingPod)
		// want is bound, waiting, or the event of the failure.
		want      string
		pool      queue.Pool
		rejectors []string
	}{
		{
			name:   "all plugins allow it",
			decide: func(_ *fixture, pod fwk.WaitingPod) { pod.Allow("G1"); pod.Allow("G2") },
			want:   bound,
		},
		{
			name:   "one does not yet",
			decide: func(_ *fixture, pod fwk.WaitingPod) { pod.Allow("G2") },
			want:   waiting, pool: queue.PoolInFlight,
		},
		{
			name:   "one rejects it",
			decide: func(_ *fixture, pod fwk.WaitingPod) { pod.Allow("G1"); pod.Reject("G2", "no luck") },
			want:   "Warning FailedScheduling 0/1 nodes are available: 1 no luck.",
			pool:   queue.PoolUnschedulable, rejectors: []string{"G2"},
		},
		{
			name:   "it is both allowed and rejected: the first counts",
			decide: func(_ *fixture, pod fwk.WaitingPod) { pod.Allow("G1"); pod.Allow("G2"); pod.Reject("G2", "too late") },
			want:   bound,
		},
		{
			name:   "the shortest timeout passes",
			decide: func(f *fixture, _ fwk.WaitingPod) { f.clock.Step(time.Minute) },
			want:   "Warning FailedScheduling 0/1 nodes are available: 1 rejected due to timeout after waiting 1m0s at plugin G1.",
			pool:   queue.PoolUnschedulable, rejectors: []string{"G1"},
		},
		{
			name:   "the timeout of a plugin passes that has allowed it",
			decide: func(f *fixture, pod fwk.WaitingPod) { pod.Allow("G1"); f.clock.Step(time.Minute) },
			want:   waiting, pool: queue.PoolInFlight,
		},
		{
			name:   "the other timeout passes",
			decide: func(f *fixture, pod fwk.WaitingPod) { pod.Allow("G1"); f.clock.Step(2 * time.Minute) },
			want:   "Warning FailedScheduling 0/1 nodes are available: 1 rejected due to timeout after waiting 2m0s at plugin G2.",
			pool:   queue.PoolUnschedulable, rejectors: []string{"G2"},
		},
		{
			name:   "preemption takes its place",
			decide: func(_ *fixture, pod fwk.WaitingPod) { pod.Preempt("P", "preempted") },
			want:   "Warning FailedScheduling waiting on permit for pod: preempted",
			pool:   queue.PoolBackoff,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			first := &scripted{name: "G1", permit: waits(time.Minute)}
			f := newFixtureWith(t, bare, first, &scripted{name: "G2", permit: waits(2 * time.Minute)})
			f.addNodes("n1")
			f.add(objects.Pod("a").Requests("cpu", "1").Build())
			f.attempt()
			if got := f.stored("a").Status.NominatedNodeName; got != "n1" {
				t.Errorf("while it waits the pod is said to go to %q, want n1", got)
			}
			test.decide(f, f.profile().GetWaitingPod("default/a"))
			f.runTasks()
			f.wantPool("a", test.pool)
			if diff := cmp.Diff(test.rejectors, f.rejectors("a"), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("rejectors (-want +got):\n%s", diff)
			}
			if got := f.seen.bound["a"] == "n1"; got != (test.want == bound) {
				t.Errorf("bound is %v", got)
			}
			if got := f.profile().GetWaitingPod("default/a") != nil; got != (test.want == waiting) {
				t.Errorf("waiting is %v", got)
			}
			if test.want == bound || test.want == waiting {
				return
			}
			if got := f.event(); got != test.want {
				t.Errorf("event %q, want %q", got, test.want)
			}
			if first.unreserved["a"] != 1 || len(f.cached()) > 0 || f.stored("a").Status.NominatedNodeName != "" {
				t.Errorf("unreserved %d times, cached %v, announced for %q; want once, none, nowhere",
					first.unreserved["a"], f.cached(), f.stored("a").Status.NominatedNodeName)
			}
		})
	}
}

// The last pod of a gang decides about all that wait.
func TestPodsOfAGangWaitForEachOther(t *testing.T) {
	for _, allow := range []bool{true, false} {
		t.Run(fmt.Sprintf("allow %v", allow), func(t *testing.T) {
			var f *fixture
			gang := &scripted{name: "Gang", permit: func(pod *v1.Pod) (*fwk.Status, time.Duration) {
				if pod.Name != "last" {
					return fwk.NewStatus(fwk.Wait), time.Hour
				}
				f.profile().IterateOverWaitingPods(func(other fwk.WaitingPod) {
					if allow {
						other.Allow("Gang")
					} else {
						other.Reject("Gang", "incomplete")
					}
				})
				if allow {
					return nil, 0
				}
				return fwk.NewStatus(fwk.Unschedulable, "incomplete"), 0
			}}
			f = newFixtureWith(t, bare, gang)
			f.addNodes("n1", "n2")
			names := []string{"first", "second", "last"}
			for _, name := range names {
				f.add(objects.Pod(name).Requests("cpu", "1").Build())
				f.attempt()
			}
			for _, name := range names {
				if bound := f.seen.bound[name] != ""; bound != allow {
					t.Errorf("%s is bound: %v, want %v", name, bound, allow)
				}
				if !allow {
					f.wantPool(name, queue.PoolUnschedulable)
					if diff := cmp.Diff([]string{"Gang"}, f.rejectors(name)); diff != "" {
						t.Errorf("rejectors of %s (-want +got):\n%s", name, diff)
					}
				}
			}
		})
	}
}

func TestPodThatFailsBeforePermissionStopsWaiting(t *testing.T) {
	f := newFixtureWith(t, bare, &scripted{name: "Gate", permit: waits(time.Hour)},
		&cycleEnd{name: "P", preFlight: func(*v1.Pod) *fwk.Status { return fwk.AsStatus(errors.New("broken")) }})
	f.addNodes("n1")
	f.add(objects.Pod("a").Requests("cpu", "1").Build())
	f.attempt()
	f.wantPool("a", queue.PoolBackoff)
	if f.profile().GetWaitingPod("default/a") != nil {
		t.Error("the pod still waits for permission")
	}
	if got := len(f.seen.failures); got != 1 {
		t.Errorf("the attempt failed %d times, want once", got)
	}
}

func TestPermitPluginsThatRejectAtOnceCountMoreThanThoseThatWait(t *testing.T) {
	f := newFixtureWith(t, bare, &scripted{name: "G1", permit: waits(time.Hour)},
		&scripted{name: "G2", permit: func(*v1.Pod) (*fwk.Status, time.Duration) { return fwk.NewStatus(fwk.Pending, "later"), 0 }})
	f.addNodes("n1")
	f.park(objects.Pod("a").Requests("cpu", "1").Build())
	status, _ := f.Queue().Lookup("default", "a")
	if diff := cmp.Diff([]string{"G2"}, status.PendingPlugins); diff != "" {
		t.Errorf("plugins that the pod is pending for (-want +got):\n%s", diff)
	}
	if f.profile().GetWaitingPod("default/a") != nil {
		t.Error("the rejected pod waits for permission")
	}
}

// A pod that is preempted while it waits for permission goes back to the queue, which the preemptor relies on. If another client
// has bound it meanwhile it does not, and the preemptor has to be tried again.
func TestWaitingPodThatAnotherClientBoundWakesPodsWhenItIsTurnedDown(t *testing.T) {
	gate := &scripted{name: "Gate", permit: func(*v1.Pod) (*fwk.Status, time.Duration) {
		return fwk.NewStatus(fwk.Wait), time.Minute
	}}
	f := newFixture(t, gate)
	f.nodeAdded(objects.Node("n1").Capacity("cpu", "1", "memory", "8Gi").Build())
	pod := objects.Pod("a").Requests("cpu", "1").Build()
	f.add(pod)
	f.attempt()
	f.podUpdated(pod, objects.PodFrom(pod).Node("n1").Build())
	f.park(objects.Pod("b").Requests("cpu", "1").Build())
	if !f.profile().RejectWaitingPod(pod.UID) {
		t.Fatal("the pod does not wait for permission")
	}
	f.runTasks()
	f.wantPool("b", queue.PoolBackoff)
}
