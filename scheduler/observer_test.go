// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	clientcache "k8s.io/client-go/tools/cache"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/queue"
	"github.com/rouse-scheduler/rouse/runtime"
)

// notes is an observer that writes down what it is told, durations in seconds.
type notes struct{ lines []string }

func (n *notes) note(format string, args ...any) {
	n.lines = append(n.lines, fmt.Sprintf(format, args...))
}

func (n *notes) AttemptStarted(pod *v1.Pod, attempt int) { n.note("%s: attempt %d", pod.Name, attempt) }

func (n *notes) SearchEnded(pod *v1.Pod, duration time.Duration) {
	n.note("%s: searched %v", pod.Name, duration.Seconds())
}

func (n *notes) AttemptFailed(failure Failure) {
	n.note("%s: failed %s %v", failure.Pod.Name, failure.Status.Code(), failure.Duration.Seconds())
}

func (n *notes) PodBound(b Binding) {
	n.note("%s: bound to %s at attempt %d in %v, ready for %v, flushed %v",
		b.Pod.Name, b.Node, b.Attempt, b.Duration.Seconds(), b.SinceReady.Seconds(), b.Flushed)
}

func (n *notes) EventHandled(event fwk.ClusterEvent, duration time.Duration) {
	n.note("%s %v", event.Label(), duration.Seconds())
}

func (n *notes) PluginFailed(failure runtime.PluginFailure) {
	n.note("%s: %s failed in %s", failure.Pod.Name, failure.Plugin, failure.Method)
}

func TestObserverIsToldOfEvents(t *testing.T) {
	f := newFixture(t)
	seen := &notes{}
	f.options.Observers.Scheduler = seen
	trimmed, large := objects.Node("n1").Capacity("cpu", "1", "memory", "8Gi").Build(), objects.Node("n1").Capacity("cpu", "4", "memory", "8Gi").With(func(n *v1.Node) { n.Labels = map[string]string{"a": "b"} }).Build()
	waiting, placed := objects.Pod("a").Requests("cpu", "1").Build(), objects.Pod("a").Requests("cpu", "1").Node("n1").Build()
	labelled := objects.Pod("a").Requests("cpu", "1").Node("n1").With(func(p *v1.Pod) { p.Labels = map[string]string{"a": "b"} }).Build()
	for _, step := range []struct {
		name string
		do   func()
		want []string
	}{
		{"node added", func() { f.nodeAdded(trimmed) }, []string{"NodeAdd 0"}},
		{"two things change", func() { f.nodeUpdated(trimmed, large) }, []string{"NodeUpdateNodeAllocatable 0", "NodeUpdateNodeLabel 0"}},
		{"nothing changes", func() { f.nodeUpdated(large, large) }, nil},
		{"node deleted", func() { f.nodeDeleted(large) }, []string{"NodeDelete 0"}},
		{"waiting pod added", func() { f.podAdded(waiting) }, []string{"UnscheduledPodAdd 0"}},
		{"labels of the waiting pod change", func() {
			f.podUpdated(waiting, objects.PodFrom(waiting).With(func(p *v1.Pod) { p.Labels = map[string]string{"a": "b"} }).Build())
		}, []string{"UnscheduledPodUpdatePodLabel 0", "UnscheduledPodUpdate 0"}},
		{"annotations of the waiting pod change", func() {
			f.podUpdated(waiting, objects.PodFrom(waiting).With(func(p *v1.Pod) { p.Annotations = map[string]string{"a": "b"} }).Build())
		}, []string{"UnscheduledPodUpdate 0"}},
		{"waiting pod is bound", func() { f.podUpdated(waiting, objects.PodFrom(waiting).Node("n1").Build()) },
			[]string{"AssignedPodAdd 0", "UnscheduledPodDelete 0"}},
		{"bound pod deleted", func() { f.podDeleted(placed) }, []string{"AssignedPodDelete 0"}},
		{"waiting pod deleted", func() { f.podDeleted(waiting) }, []string{"UnscheduledPodDelete 0"}},
		{"placed pod added", func() { f.podAdded(placed) }, []string{"AssignedPodAdd 0"}},
		{"placed pod changes", func() { f.podUpdated(placed, labelled) }, []string{"AssignedPodUpdatePodLabel 0", "AssignedPodUpdate 0"}},
		{"placed pod deleted", func() { f.podDeleted(labelled) }, []string{"AssignedPodDelete 0"}},
		{"waiting pod missed", func() { f.podDeleted(clientcache.DeletedFinalStateUnknown{Key: "default/a", Obj: waiting}) },
			[]string{"AssignedPodDelete 0", "UnscheduledPodDelete 0"}},
		{"a claim is added", func() {
			f.objectHandler(fwk.PersistentVolumeClaim, fwk.All).OnAdd(&v1.PersistentVolumeClaim{}, false)
		}, []string{"PersistentVolumeClaimAdd 0"}},
	} {
		seen.lines = nil
		step.do()
		if diff := cmp.Diff(step.want, seen.lines); diff != "" {
			t.Errorf("%s: the observer was told (-want +got):\n%s", step.name, diff)
		}
	}
}

// What an event takes includes the hints that are asked.
func TestObserverIsToldHowLongEventsTake(t *testing.T) {
	f := newFixture(t)
	seen := &notes{}
	f.options.Observers.Scheduler = seen
	handled := f.startTimer(fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add})
	f.clock.Step(2 * time.Second)
	handled()
	if diff := cmp.Diff([]string{"NodeAdd 2"}, seen.lines); diff != "" {
		t.Errorf("the observer was told (-want +got):\n%s", diff)
	}
}

func TestObserverIsToldOfAttempts(t *testing.T) {
	f := newFixture(t)
	seen := &notes{}
	f.nodeAdded(objects.Node("n1").Capacity("cpu", "1", "memory", "8Gi").Build())
	f.options.Observers.Scheduler = seen
	f.park(objects.Pod("a").Requests("cpu", "2").Build())
	f.wantPool("a", queue.PoolUnschedulable)
	f.clock.Step(6 * time.Minute)
	f.Queue().FlushUnschedulable()
	seen.lines = nil
	f.options.Observers.Scheduler = NopObserver{}
	f.nodeUpdated(objects.Node("n1").Capacity("cpu", "1", "memory", "8Gi").Build(), objects.Node("n1").Capacity("cpu", "4", "memory", "8Gi").Build())
	f.options.Observers.Scheduler = seen
	if !f.TryScheduleOne(f.ctx) {
		t.Fatal("no pod is ready")
	}
	f.clock.Step(3 * time.Second)
	f.runTasks()
	want := []string{
		"a: attempt 2",
		"a: searched 0",
		"a: bound to n1 at attempt 2 in 3, ready for 363, flushed true",
	}
	if diff := cmp.Diff(want, seen.lines); diff != "" {
		t.Errorf("the observer was told (-want +got):\n%s", diff)
	}
}

func TestJoinObservers(t *testing.T) {
	if joined := JoinObservers(nil, nil); joined != nil {
		t.Errorf("joining nothing gives %v, want nil", joined)
	}
	one, other := &notes{}, &notes{}
	if joined := JoinObservers(nil, one); joined != Observer(one) {
		t.Errorf("joining one gives %v, want that one", joined)
	}
	joined := JoinObservers(one, NopObserver{}, other)
	pod := objects.Pod("a").Requests("cpu", "1").Build()
	joined.AttemptStarted(pod, 1)
	joined.SearchEnded(pod, time.Second)
	joined.AttemptFailed(Failure{Pod: pod})
	joined.PodBound(Binding{Pod: pod, Node: "n1"})
	joined.EventHandled(assignedPodDeleted(), time.Second)
	joined.PluginFailed(runtime.PluginFailure{Plugin: "Rack", Method: runtime.MethodFilter, Pod: pod})
	if diff := cmp.Diff(one.lines, other.lines); diff != "" || len(one.lines) != 6 {
		t.Errorf("the first saw %q, want six things; the second (-first +second):\n%s", one.lines, diff)
	}
}
