// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/queue"
)

func TestPodIsBound(t *testing.T) {
	f := newFixture(t)
	f.nodeAdded(makeNode("full", "500m"))
	f.nodeAdded(makeNode("free", "4"))
	f.add(makePod("a", "1"))
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
	f.nodeAdded(makeNode("n1", "1"))
	f.nodeAdded(makeNode("n2", "1", func(n *v1.Node) { n.Spec.Unschedulable = true }))
	f.park(makePod("a", "2"))
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

func TestUnchangedConditionIsNotWrittenAgain(t *testing.T) {
	f := newFixture(t)
	f.nodeAdded(makeNode("n1", "1"))
	pod := makePod("a", "2")
	f.park(pod)
	stored, err := f.client.CoreV1().Pods("default").Get(f.ctx, "a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	stored.ResourceVersion = "2"
	if err := f.options.Informers.Core().V1().Pods().Informer().GetIndexer().Update(stored); err != nil {
		t.Fatal(err)
	}
	f.podUpdated(pod, stored)
	f.client.ClearActions()
	f.clock.Step(time.Hour)
	f.Queue().FlushUnschedulable()
	f.attempt()
	if writes := f.writes(); len(writes) > 0 {
		t.Errorf("the second attempt wrote %v, want nothing", writes)
	}
}

func TestEmptyClusterIsRetriedWithoutAnEvent(t *testing.T) {
	f := newFixture(t)
	f.add(makePod("a", "1"))
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
		f.add(makePod("a", "1", func(p *v1.Pod) { p.DeletionTimestamp = &now; p.Finalizers = []string{"x/y"} }))
		f.attempt()
		f.wantPool("a", queue.PoolNone)
		if got, want := f.event(), "Warning FailedScheduling skip schedule deleting pod: default/a"; got != want {
			t.Errorf("event %q, want %q", got, want)
		}
	})
	t.Run("assumed already", func(t *testing.T) {
		f := newFixture(t)
		f.nodeAdded(makeNode("n1", "4"))
		if err := f.Cache().AssumePod(makePod("a", "1", on("n1"))); err != nil {
			t.Fatal(err)
		}
		f.add(makePod("a", "1"))
		f.attempt()
		f.wantPool("a", queue.PoolNone)
		if len(f.seen.bound) > 0 {
			t.Errorf("bound %v, want nothing", f.seen.bound)
		}
	})
}

func TestFailuresAfterANodeWasFound(t *testing.T) {
	rejected := func(*v1.Pod) *fwk.Status { return fwk.NewStatus(fwk.Unschedulable, "not now") }
	broken := func(*v1.Pod) *fwk.Status { return fwk.AsStatus(errors.New("out of order")) }
	tests := []struct {
		name       string
		plugin     *scripted
		bindError  error
		pool       queue.Pool
		rejectors  []string
		event      string
		unreserved int
	}{
		{
			name: "Reserve rejects", plugin: &scripted{name: "P", reserve: rejected},
			pool: queue.PoolUnschedulable, rejectors: []string{"P"}, unreserved: 1,
			event: "Warning FailedScheduling 0/1 nodes are available: 1 not now.",
		},
		{
			name: "Reserve breaks", plugin: &scripted{name: "P", reserve: broken},
			pool: queue.PoolBackoff, unreserved: 1,
			event: `Warning FailedScheduling running Reserve plugin "P": out of order`,
		},
		{
			name: "Permit rejects", pool: queue.PoolUnschedulable, rejectors: []string{"P"}, unreserved: 1,
			plugin: &scripted{name: "P", permit: func(pod *v1.Pod) (*fwk.Status, time.Duration) { return rejected(pod), 0 }},
			event:  "Warning FailedScheduling 0/1 nodes are available: 1 not now.",
		},
		{
			name: "Permit breaks", pool: queue.PoolBackoff, unreserved: 1,
			plugin: &scripted{name: "P", permit: func(pod *v1.Pod) (*fwk.Status, time.Duration) { return broken(pod), 0 }},
			event:  `Warning FailedScheduling running Permit plugin "P": out of order`,
		},
		{
			name: "Reserve panics", plugin: &scripted{name: "P", reserve: func(*v1.Pod) *fwk.Status { panic("oops") }},
			pool: queue.PoolBackoff, unreserved: 1,
			event: `Warning FailedScheduling plugin "P" panicked in Reserve: oops`,
		},
		{
			name: "binding fails", plugin: &scripted{name: "P"}, bindError: errors.New("gone fishing"),
			pool: queue.PoolBackoff, unreserved: 1,
			event: `Warning FailedScheduling running Bind plugin "DefaultBinder": binding pod default/a to node n1: gone fishing`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, test.plugin)
			if test.bindError != nil {
				f.failBinding(test.bindError)
			}
			f.nodeAdded(makeNode("n1", "4"))
			f.add(makePod("a", "1"))
			f.attempt()
			f.wantPool("a", test.pool)
			status, _ := f.Queue().Lookup("default", "a")
			if diff := cmp.Diff(test.rejectors, status.UnschedulablePlugins); len(test.rejectors) > 0 && diff != "" {
				t.Errorf("rejectors (-want +got):\n%s", diff)
			}
			if got := f.event(); got != test.event && !strings.HasPrefix(got, test.event) {
				t.Errorf("event %q, want %q", got, test.event)
			}
			if got := test.plugin.unreserved["a"]; got != test.unreserved {
				t.Errorf("Unreserve was called %d times, want %d", got, test.unreserved)
			}
			if cached := f.cached(); len(cached) > 0 {
				t.Errorf("the cache still counts %v", cached)
			}
		})
	}
}

func TestFailedBindingWakesOthers(t *testing.T) {
	f := newFixture(t)
	f.failBinding(errors.New("no"))
	f.nodeAdded(makeNode("n1", "1"))
	f.add(makePod("a", "1"))
	f.TryScheduleOne(f.ctx) // a is assumed; its binding has not run yet
	f.add(makePod("b", "1"))
	f.TryScheduleOne(f.ctx)
	f.wantPool("b", queue.PoolUnschedulable)
	f.runTasks()
	f.wantPool("b", queue.PoolBackoff)
}

func TestRefusedPodIsNotWokenByItsOwnDeparture(t *testing.T) {
	gate := &scripted{
		name:   "Gate",
		permit: func(*v1.Pod) (*fwk.Status, time.Duration) { return fwk.NewStatus(fwk.Wait), time.Minute },
		events: []fwk.ClusterEventWithHint{onEvent(fwk.AssignedPod, fwk.Delete)},
	}
	f := newFixture(t, gate)
	f.nodeAdded(makeNode("n1", "1"))
	f.add(makePod("a", "1"))
	f.attempt()
	f.add(makePod("b", "1"))
	f.attempt() // does not fit beside a
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
	f.nodeAdded(makeNode("n1", "1"))
	pod := makePod("a", "1")
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

func TestWhatBecomesOfAPodThatChangedDuringItsAttempt(t *testing.T) {
	pod := makePod("a", "2")
	tests := []struct {
		name   string
		change func(f *fixture)
		pool   queue.Pool
		quiet  bool
	}{
		{name: "deleted", change: func(f *fixture) { f.forget(pod) }, pool: queue.PoolNone},
		{name: "bound by somebody", change: func(f *fixture) {
			f.updateInformer(changed(pod, on("n1")))
		}, pool: queue.PoolNone},
		{name: "recreated", change: func(f *fixture) {
			f.updateInformer(changed(pod, func(p *v1.Pod) { p.UID = "second" }))
		}, pool: queue.PoolNone, quiet: true},
		{name: "updated", change: func(f *fixture) {
			f.updateInformer(changed(pod, func(p *v1.Pod) { p.Labels = map[string]string{"newer": "yes"} }))
		}, pool: queue.PoolUnschedulable},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var f *fixture
			during := &scripted{name: "During", filter: func(*v1.Pod, fwk.NodeInfo) *fwk.Status {
				test.change(f)
				return fwk.NewStatus(fwk.Unschedulable, "never")
			}}
			f = newFixture(t, during)
			f.nodeAdded(makeNode("n1", "4"))
			f.add(pod)
			f.attempt()
			f.wantPool("a", test.pool)
			if quiet := f.event() == ""; quiet != test.quiet {
				t.Errorf("an event was written: %v, want %v", !quiet, !test.quiet)
			}
			if status, ok := f.Queue().Lookup("default", "a"); ok && status.Pod.Labels["newer"] != "yes" {
				t.Error("the pod came back in an outdated version")
			}
		})
	}
}

// updateInformer makes a newer version of a pod known without calling handlers.
func (f *fixture) updateInformer(pod *v1.Pod) {
	f.t.Helper()
	if err := f.options.Informers.Core().V1().Pods().Informer().GetIndexer().Update(pod); err != nil {
		f.t.Fatal(err)
	}
}

func TestNominatedNodeComesFirst(t *testing.T) {
	asked := map[string]int{}
	fits := true
	counting := &scripted{name: "Counting", filter: func(_ *v1.Pod, node fwk.NodeInfo) *fwk.Status {
		asked[node.Node().Name]++
		if node.Node().Name == "n2" && !fits {
			return fwk.NewStatus(fwk.Unschedulable, "no")
		}
		return nil
	}}
	for _, test := range []struct {
		name      string
		fits      bool
		nominated string
		want      map[string]int
	}{
		{"it fits and nobody else is asked", true, "n2", map[string]int{"n2": 1}},
		{"it does not fit and all are asked", false, "n2", map[string]int{"n1": 1, "n2": 2, "n3": 1}},
		{"it is gone and all are asked", true, "gone", map[string]int{"n1": 1, "n2": 1, "n3": 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, counting)
			for i := 1; i <= 3; i++ {
				f.nodeAdded(makeNode(fmt.Sprintf("n%d", i), "4"))
			}
			clear(asked)
			fits = test.fits
			f.add(makePod("a", "1", nominated(test.nominated)))
			f.attempt()
			if diff := cmp.Diff(test.want, asked); diff != "" {
				t.Errorf("nodes that were asked (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPreFilterNarrowsTheNodes(t *testing.T) {
	tests := []struct {
		name    string
		result  *fwk.PreFilterResult
		status  *fwk.Status
		want    string
		message string
	}{
		{name: "to one", result: nodeNames("n2"), want: "n2"},
		{name: "to one of those that exist", result: nodeNames("n3", "no-such-node"), want: "n3"},
		{name: "to one that does not exist", result: nodeNames("no-such-node"), message: "0/3 nodes are available: 3 node(s) didn't satisfy plugin(s) [Narrow]."},
		{name: "to none", result: nodeNames(), message: "0/3 nodes are available: node(s) didn't satisfy plugin Narrow."},
		{name: "by a rejection", status: fwk.NewStatus(fwk.Unschedulable, "go away"), message: "0/3 nodes are available: go away."},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, &scripted{name: "Narrow", pre: func(*v1.Pod) (*fwk.PreFilterResult, *fwk.Status) {
				return test.result, test.status
			}})
			for i := 1; i <= 3; i++ {
				f.nodeAdded(makeNode(fmt.Sprintf("n%d", i), "4"))
			}
			f.add(makePod("a", "1"))
			f.attempt()
			if got := f.seen.bound["a"]; got != test.want {
				t.Errorf("bound to %q, want %q", got, test.want)
			}
			if test.message == "" {
				return
			}
			if got := f.event(); !strings.HasPrefix(got, "Warning FailedScheduling "+test.message) {
				t.Errorf("event %q, want message %q", got, test.message)
			}
			status, _ := f.Queue().Lookup("default", "a")
			if diff := cmp.Diff([]string{"Narrow"}, status.UnschedulablePlugins); diff != "" {
				t.Errorf("rejectors (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHighestScoreWins(t *testing.T) {
	f := newFixture(t, &scripted{name: "Prefer", score: func(node string) int64 {
		return map[string]int64{"n2": 100}[node]
	}})
	for i := 1; i <= 3; i++ {
		f.nodeAdded(makeNode(fmt.Sprintf("n%d", i), "4"))
	}
	f.add(makePod("a", "1"))
	f.attempt()
	if got := f.seen.bound["a"]; got != "n2" {
		t.Errorf("bound to %q, want n2", got)
	}
}

func TestEqualNodesAreChosenEvenly(t *testing.T) {
	f := newFixture(t)
	const nodes, pods = 4, 400
	for i := range nodes {
		f.nodeAdded(makeNode(fmt.Sprintf("n%d", i), "4"))
	}
	counts := map[string]int{}
	for i := range pods {
		pod := makePod(fmt.Sprintf("p%d", i), "1")
		f.add(pod)
		f.attempt()
		counts[f.seen.bound[pod.Name]]++
		f.forget(pod)
		f.podDeleted(pod) // every pod finds an empty cluster
		for f.event() != "" {
		}
	}
	for node, count := range counts {
		if count < pods/nodes/2 || count > pods/nodes*2 {
			t.Errorf("node %s got %d of %d pods; all: %v", node, count, pods, counts)
		}
	}
}

func TestNodesToFind(t *testing.T) {
	tests := []struct{ percentage, nodes, want int }{
		{0, 10, 10}, {0, 99, 99}, {0, 100, 100}, {0, 1000, 420}, {0, 5000, 500}, {0, 6000, 300}, {0, 15000, 750},
		{40, 1000, 400}, {40, 100, 100}, {1, 50000, 500}, {100, 1000, 1000}, {100, 50, 50},
	}
	for _, test := range tests {
		if got := nodesToFind(test.percentage, test.nodes); got != test.want {
			t.Errorf("nodesToFind(%d %%, %d nodes) = %d, want %d", test.percentage, test.nodes, got, test.want)
		}
	}
}

func TestSearchRotatesOverTheNodes(t *testing.T) {
	asked := map[string]int{}
	f := newFixture(t, &scripted{name: "Counting", filter: func(_ *v1.Pod, node fwk.NodeInfo) *fwk.Status {
		asked[node.Node().Name]++
		return nil
	}})
	const nodes = 400
	f.options.Configuration.PercentageOfNodesToScore = 25
	for i := range nodes {
		f.nodeAdded(makeNode(fmt.Sprintf("n%d", i), "4"))
	}
	for i := range 4 {
		f.add(makePod(fmt.Sprintf("p%d", i), "1"))
		f.attempt()
	}
	if len(asked) < nodes*9/10 {
		t.Errorf("four attempts, each over a quarter of the nodes, asked about %d of %d", len(asked), nodes)
	}
}
