// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/queue"
	"github.com/rouse-scheduler/rouse/runtime"
)

func TestPodIsBound(t *testing.T) {
	f := newFixture(t)
	f.nodeAdded(objects.Node("full").Capacity("cpu", "500m", "memory", "8Gi").Build())
	f.nodeAdded(objects.Node("free").Capacity("cpu", "4", "memory", "8Gi").Build())
	f.add(objects.Pod("a").Requests("cpu", "1").Build())
	f.attempt()
	if got := f.seen.bound["a"]; got != "free" {
		t.Errorf("bound to %q, want free", got)
	}
	if diff := cmp.Diff([]string{"create pods/binding"}, f.writes()); diff != "" {
		t.Errorf("writes to the API (-want +got):\n%s", diff)
	}
	if got, want := f.event(), "Normal Scheduled Successfully assigned default/a to free"; got != want {
		t.Errorf("event %q, want %q", got, want)
	}
}

func TestPodThatFitsNowhere(t *testing.T) {
	f := newFixture(t)
	f.nodeAdded(objects.Node("n1").Capacity("cpu", "1", "memory", "8Gi").Build())
	f.nodeAdded(objects.Node("n2").Capacity("cpu", "1", "memory", "8Gi").With(func(n *v1.Node) { n.Spec.Unschedulable = true }).Build())
	f.park(objects.Pod("a").Requests("cpu", "2").Build())
	const message = "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable."
	if got, want := f.event(), "Warning FailedScheduling "+message; !strings.HasPrefix(got, want) {
		t.Errorf("event %q, want %q", got, want)
	}
	pod, err := f.client.CoreV1().Pods("default").Get(f.ctx, "a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := []v1.PodCondition{{
		Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: "Unschedulable", Message: message,
		LastTransitionTime: metav1.NewTime(f.clock.Now()),
	}}
	for i := range pod.Status.Conditions {
		pod.Status.Conditions[i].LastTransitionTime = metav1.NewTime(pod.Status.Conditions[i].LastTransitionTime.UTC())
		pod.Status.Conditions[i].Message = strings.TrimSpace(strings.SplitAfter(pod.Status.Conditions[i].Message, "unschedulable.")[0])
	}
	if diff := cmp.Diff(want, pod.Status.Conditions); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
	status, _ := f.Queue().Lookup("default", "a")
	if diff := cmp.Diff([]string{"NodeResourcesFit", "NodeUnschedulable"}, status.UnschedulablePlugins); diff != "" {
		t.Errorf("rejectors (-want +got):\n%s", diff)
	}
}

func TestEmptyClusterIsRetriedWithoutAnEvent(t *testing.T) {
	f := newFixture(t)
	f.add(objects.Pod("a").Requests("cpu", "1").Build())
	f.attempt()
	f.wantPool("a", queue.PoolBackoff)
	if got, want := f.event(), "Warning FailedScheduling no nodes available to schedule pods"; got != want {
		t.Errorf("event %q, want %q", got, want)
	}
}

func TestPodsThatAreNotScheduled(t *testing.T) {
	t.Run("being deleted", func(t *testing.T) {
		f := newFixture(t)
		now := metav1.Now()
		f.add(objects.Pod("a").Requests("cpu", "1").With(func(p *v1.Pod) { p.DeletionTimestamp = &now; p.Finalizers = []string{"x/y"} }).Build())
		f.attempt()
		f.wantPool("a", queue.PoolNone)
		if got, want := f.event(), "Warning FailedScheduling skip schedule deleting pod: default/a"; got != want {
			t.Errorf("event %q, want %q", got, want)
		}
	})
	t.Run("assumed already", func(t *testing.T) {
		f := newFixture(t)
		f.nodeAdded(objects.Node("n1").Capacity("cpu", "4", "memory", "8Gi").Build())
		if err := f.Cache().AssumePod(objects.Pod("a").Requests("cpu", "1").Node("n1").Build()); err != nil {
			t.Fatal(err)
		}
		f.add(objects.Pod("a").Requests("cpu", "1").Build())
		f.attempt()
		f.wantPool("a", queue.PoolNone)
		if len(f.seen.bound) > 0 {
			t.Errorf("bound %v, want nothing", f.seen.bound)
		}
	})
}

func TestMetricsOfACycle(t *testing.T) {
	measured := &metrics{points: map[runtime.Method]int{}}
	f := newFixtureWith(t, func(options *Options) { bare(options); options.Observers.Metrics = measured },
		&scripted{name: "Gate", permit: waits(time.Hour)})
	f.addNodes("n1", "n2")
	f.add(objects.Pod("a").Requests("cpu", "1").Build())
	f.attempt()
	if measured.points[runtime.MethodFilter] != 1 {
		t.Errorf("Filter was measured %d times, want once for all nodes", measured.points[runtime.MethodFilter])
	}
	if measured.bindings != 1 {
		t.Errorf("%d bindings are under way while a pod waits for permission, want 1", measured.bindings)
	}
	f.profile().GetWaitingPod("default/a").Allow("Gate")
	f.runTasks()
	if measured.bindings != 0 {
		t.Errorf("%d bindings are under way at the end, want none", measured.bindings)
	}
}

// metrics counts what was measured.
type metrics struct {
	points   map[runtime.Method]int
	bindings int
}

func (m *metrics) ExtensionPointDuration(point runtime.Method, _, _ string, _ time.Duration) {
	m.points[point]++
}
func (m *metrics) PluginDuration(string, runtime.Method, string, time.Duration) {}
func (m *metrics) PluginEvaluations(string, runtime.Method, string) runtime.Counter {
	return nil
}
func (m *metrics) PermitWait(string, time.Duration) {}
func (m *metrics) Goroutines(operation string, change int) {
	if operation == "binding" {
		m.bindings += change
	}
}
