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
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/cache"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/queue"
)

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
			f.nodeAdded(objects.Node("n1").Capacity("cpu", "4", "memory", "8Gi").Build())
			f.add(objects.Pod("a").Requests("cpu", "1").Build())
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
	f.nodeAdded(objects.Node("n1").Capacity("cpu", "1", "memory", "8Gi").Build())
	f.add(objects.Pod("a").Requests("cpu", "1").Build())
	f.TryScheduleOne(f.ctx) // a is assumed; its binding has not run yet
	f.add(objects.Pod("b").Requests("cpu", "1").Build())
	f.TryScheduleOne(f.ctx)
	f.wantPool("b", queue.PoolUnschedulable)
	f.runTasks()
	f.wantPool("b", queue.PoolBackoff)
}

func TestWhatBecomesOfAPodThatChangedDuringItsAttempt(t *testing.T) {
	pod := objects.Pod("a").Requests("cpu", "2").Build()
	tests := []struct {
		name   string
		change func(f *fixture)
		pool   queue.Pool
		quiet  bool
	}{
		{name: "deleted", change: func(f *fixture) { f.forget(pod) }, pool: queue.PoolNone},
		{name: "bound by another scheduler", change: func(f *fixture) {
			f.updateInformer(objects.PodFrom(pod).Node("n1").Build())
		}, pool: queue.PoolNone},
		{name: "recreated", change: func(f *fixture) {
			f.updateInformer(objects.PodFrom(pod).UID("second").Build())
		}, pool: queue.PoolNone, quiet: true},
		{name: "updated", change: func(f *fixture) {
			f.updateInformer(objects.PodFrom(pod).With(func(p *v1.Pod) { p.Labels = map[string]string{"newer": "yes"} }).Build())
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
			f.nodeAdded(objects.Node("n1").Capacity("cpu", "4", "memory", "8Gi").Build())
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

func TestPodThatIsGoneOrPlacedGetsNoCondition(t *testing.T) {
	pod := objects.Pod("a").Requests("cpu", "1").Build()
	for name, change := range map[string]func(f *fixture){
		"gone":   func(f *fixture) { f.forget(pod) },
		"placed": func(f *fixture) { f.updateInformer(objects.PodFrom(pod).Node("n1").Build()) },
	} {
		t.Run(name, func(t *testing.T) {
			var f *fixture
			f = newFixtureWith(t, bare, filters(func(*v1.Pod, fwk.NodeInfo) *fwk.Status {
				change(f)
				return fwk.NewStatus(fwk.Unschedulable, "never")
			}))
			f.addNodes("n1")
			f.add(pod)
			f.attempt()
			if got, want := f.event(), "Warning FailedScheduling 0/1 nodes are available: 1 never."; got != want {
				t.Errorf("event %q, want %q", got, want)
			}
			if writes := f.writes(); len(writes) > 0 {
				t.Errorf("wrote %v, want nothing", writes)
			}
			if stats := f.Queue().Stats(); stats.InFlight != 0 {
				t.Errorf("%d pods are in flight, want none", stats.InFlight)
			}
		})
	}
}

// The first pod of a name fails to be bound after the second has come: nothing may be said about the second.
func TestPodRecreatedDuringBinding(t *testing.T) {
	f := newFixtureWith(t, bare)
	f.failBinding(errors.New("uid does not match"))
	f.addNodes("n1")
	first := objects.Pod("a").Requests("cpu", "1").Build()
	f.add(first)
	f.TryScheduleOne(f.ctx)
	second := objects.PodFrom(first).UID("second").Build()
	f.updateInformer(second)
	f.podUpdated(first, second)
	if cached := f.cached(); len(cached) > 0 {
		t.Errorf("the cache still counts %v", cached)
	}
	f.runTasks()
	f.wantPool("a", queue.PoolActive)
	if writes := f.writes(); len(writes) > 0 {
		t.Errorf("wrote %v, want nothing", writes)
	}
	if event := f.event(); event != "" {
		t.Errorf("event %q, want none", event)
	}
}

func TestErrorsOfTheSchedulingCycle(t *testing.T) {
	broken := fwk.AsStatus(errors.New("out of order"))
	tests := []struct {
		name    string
		plugin  fwk.Plugin
		prepare func(f *fixture)
		event   string
	}{
		{
			name:   "PreFilter breaks",
			plugin: &scripted{name: "P", pre: func(*v1.Pod) (*fwk.PreFilterResult, *fwk.Status) { return nil, broken }},
			event:  `running PreFilter plugin "P": out of order`,
		},
		{
			name:   "Filter breaks",
			plugin: filters(func(*v1.Pod, fwk.NodeInfo) *fwk.Status { return broken }),
			event:  `running "Filters" filter plugin: out of order`,
		},
		{
			name:   "Filter panics",
			plugin: filters(func(*v1.Pod, fwk.NodeInfo) *fwk.Status { panic("oops") }),
			event:  `plugin "Filters" panicked in Filter: oops`,
		},
		{
			name:   "a score is out of range",
			plugin: &scripted{name: "P", score: func(string) int64 { return 101 }},
			event:  "scoring the nodes: ",
		},
		{
			name: "the snapshot cannot be brought up to date",
			prepare: func(f *fixture) {
				if err := cache.New(cache.Options{}).UpdateSnapshot(f.snapshot); err != nil {
					f.t.Fatal(err)
				}
			},
			event: "updating the snapshot of the cluster: ",
		},
		{
			name: "the pod is on a node already, as far as the cache knows",
			prepare: func(f *fixture) {
				if err := f.Cache().AddPod(objects.Pod("a").Requests("cpu", "1").Node("n1").Build()); err != nil {
					f.t.Fatal(err)
				}
			},
			event: "assuming pod default/a on node n",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var extra []fwk.Plugin
			if test.plugin != nil {
				extra = append(extra, test.plugin)
			}
			f := newFixtureWith(t, bare, extra...)
			if test.prepare != nil {
				test.prepare(f)
			}
			f.addNodes("n1", "n2")
			f.add(objects.Pod("a").Requests("cpu", "1").NominatedNode("n3").Build())
			f.attempt()
			f.wantPool("a", queue.PoolBackoff)
			if rejectors := f.rejectors("a"); len(rejectors) > 0 {
				t.Errorf("the pod waits for events of %v, want none", rejectors)
			}
			if got, want := f.event(), "Warning FailedScheduling "+test.event; !strings.HasPrefix(got, want) {
				t.Errorf("event %q, want %q", got, want)
			}
			stored := f.stored("a").Status
			if stored.NominatedNodeName != "" || len(f.Queue().NominatedPodsForNode("n3")) > 0 {
				t.Errorf("the nomination for %q was not withdrawn", stored.NominatedNodeName)
			}
			if len(stored.Conditions) != 1 || stored.Conditions[0].Reason != "SchedulerError" {
				t.Errorf("conditions are %v, want a SchedulerError", stored.Conditions)
			}
		})
	}
}

func TestNominationsOfPostFilter(t *testing.T) {
	tests := []struct {
		name      string
		plugin    makesRoom // nil: there is none
		nominated string
		message   string
	}{
		{
			name: "there is no plugin: withdrawn",
		},
		{
			name: "another node: moved",
			plugin: func(fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
				return nominate("n2"), nil
			},
			nominated: "n2",
		},
		{
			name: "no node: withdrawn",
			plugin: func(fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
				return nominate(""), fwk.NewStatus(fwk.Unschedulable, "no victims found")
			},
			message: " no victims found",
		},
		{
			name: "no result: kept",
			plugin: func(fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
				return nil, fwk.NewStatus(fwk.Unschedulable, "not eligible")
			},
			nominated: "n1", message: " not eligible",
		},
		{
			name: "a result without a nomination: kept",
			plugin: func(fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
				return &fwk.PostFilterResult{}, fwk.NewStatus(fwk.Unschedulable)
			},
			nominated: "n1",
		},
		{
			name: "an error: kept",
			plugin: func(fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
				return nil, fwk.AsStatus(errors.New("broken"))
			},
			nominated: "n1", message: " broken",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			plugins := []fwk.Plugin{filters(func(*v1.Pod, fwk.NodeInfo) *fwk.Status { return fwk.NewStatus(fwk.Unschedulable, "full") })}
			if test.plugin != nil {
				plugins = append(plugins, test.plugin)
			}
			f := newFixtureWith(t, bare, plugins...)
			f.addNodes("n1", "n2")
			f.add(objects.Pod("a").Requests("cpu", "1").NominatedNode("n1").Build())
			f.attempt()
			if got := f.stored("a").Status.NominatedNodeName; got != test.nominated {
				t.Errorf("the API says that the pod is nominated for %q, want %q", got, test.nominated)
			}
			for _, node := range []string{"n1", "n2"} {
				if got, want := len(f.Queue().NominatedPodsForNode(node)) == 1, node == test.nominated; got != want {
					t.Errorf("the pod is nominated for %s: %v, want %v", node, got, want)
				}
			}
			if got, want := f.event(), "Warning FailedScheduling 0/2 nodes are available: 2 full."+test.message; got != want {
				t.Errorf("event %q, want %q", got, want)
			}
			if got := f.stored("a").Status.Conditions[0].Reason; got != "Unschedulable" {
				t.Errorf("reason %s, want Unschedulable", got)
			}
		})
	}
}

// No event says that a PostFilter plugin that failed would not do so again. The pod is tried again, but only once its backoff is
// over.
func TestPodIsTriedAgainAfterPostFilterFailed(t *testing.T) {
	calls := 0
	f := newFixtureWith(t, bare,
		filters(func(*v1.Pod, fwk.NodeInfo) *fwk.Status { return fwk.NewStatus(fwk.Unschedulable, "full") }),
		makesRoom(func(fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
			if calls++; calls > 3 {
				return nil, fwk.NewStatus(fwk.Unschedulable)
			}
			return nil, fwk.AsStatus(errors.New("broken"))
		}))
	f.addNodes("n1")
	f.add(objects.Pod("a").Requests("cpu", "1").Build())
	for range 60 { // seconds
		for f.TryScheduleOne(f.ctx) {
			if calls > 10 {
				t.Fatal("it is tried again and again")
			}
		}
		f.clock.Step(time.Second)
		f.Queue().FlushBackoff()
	}
	f.wantPool("a", queue.PoolUnschedulable)
	if calls != 4 {
		t.Errorf("the pod was tried %d times, want until the plugin no longer fails", calls)
	}
}

// TestPodRejectedInPreFilterWaitsForItsEvents has PostFilter fail for want of what later PreFilter plugins would have prepared,
// which says nothing about the pod.
func TestPodRejectedInPreFilterWaitsForItsEvents(t *testing.T) {
	f := newFixtureWith(t, bare,
		&scripted{name: "Claims", pre: func(*v1.Pod) (*fwk.PreFilterResult, *fwk.Status) {
			return nil, fwk.NewStatus(fwk.Unschedulable)
		}},
		makesRoom(func(fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
			return nil, fwk.AsStatus(fwk.ErrNotFound)
		}))
	f.addNodes("n1")
	f.add(objects.Pod("a").Build())
	f.attempt()
	f.wantPool("a", queue.PoolUnschedulable)
}

func TestPostFilterSeesWhyNodesWereRejected(t *testing.T) {
	codes := map[string]fwk.Code{}
	see := makesRoom(func(statuses fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
		for _, node := range []string{"n1", "n2", "n3"} {
			codes[node] = statuses.Get(node).Code()
		}
		return nil, fwk.NewStatus(fwk.Unschedulable)
	})
	f := newFixtureWith(t, bare, see,
		&scripted{name: "Narrow", pre: func(*v1.Pod) (*fwk.PreFilterResult, *fwk.Status) { return nodeNames("n1", "n2"), nil }},
		filters(func(_ *v1.Pod, node fwk.NodeInfo) *fwk.Status {
			if node.Node().Name == "n1" {
				return fwk.NewStatus(fwk.Unschedulable, "full")
			}
			return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "wrong")
		}))
	f.addNodes("n1", "n2", "n3")
	f.park(objects.Pod("a").Requests("cpu", "1").Build())
	want := map[string]fwk.Code{
		"n1": fwk.Unschedulable, "n2": fwk.UnschedulableAndUnresolvable, "n3": fwk.UnschedulableAndUnresolvable,
	}
	if diff := cmp.Diff(want, codes); diff != "" {
		t.Errorf("codes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Filters", "Narrow"}, f.rejectors("a")); diff != "" {
		t.Errorf("rejectors (-want +got):\n%s", diff)
	}
}

func TestPostFilterIsNotAskedInAnEmptyCluster(t *testing.T) {
	f := newFixtureWith(t, bare, makesRoom(func(fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
		t.Error("PostFilter was called")
		return nil, nil
	}))
	f.add(objects.Pod("a").Requests("cpu", "1").NominatedNode("n1").Build())
	f.attempt()
	f.wantPool("a", queue.PoolBackoff)
	if got := f.stored("a").Status; got.NominatedNodeName != "" || got.Conditions[0].Reason != "Unschedulable" {
		t.Errorf("status %v, want no nomination and reason Unschedulable", got)
	}
}

func TestReasonsAreCountedOverManyNodes(t *testing.T) {
	f := newFixtureWith(t, bare, filters(func(_ *v1.Pod, node fwk.NodeInfo) *fwk.Status {
		switch name := node.Node().Name; {
		case strings.HasSuffix(name, "0"):
			return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "is round")
		case strings.HasSuffix(name, "5"):
			return fwk.NewStatus(fwk.Unschedulable, "is half", "is odd")
		default:
			return fwk.NewStatus(fwk.Unschedulable, "is neither")
		}
	}))
	for i := range 200 {
		f.addNodes(fmt.Sprintf("n%d", i))
	}
	f.park(objects.Pod("a").Requests("cpu", "1").Build())
	const want = "Warning FailedScheduling 0/200 nodes are available: 160 is neither, 20 is half, 20 is odd, 20 is round."
	if got := f.event(); got != want {
		t.Errorf("event %q, want %q", got, want)
	}
}

func TestLongMessagesAreCutInEventsOnly(t *testing.T) {
	reason := strings.Repeat("because ", 200)
	f := newFixtureWith(t, bare, filters(func(*v1.Pod, fwk.NodeInfo) *fwk.Status { return fwk.NewStatus(fwk.Unschedulable, reason) }))
	f.addNodes("n1")
	f.park(objects.Pod("a").Requests("cpu", "1").Build())
	note := strings.TrimPrefix(f.event(), "Warning FailedScheduling ")
	if len(note) != maxEventNote || !strings.HasSuffix(note, " ...") {
		t.Errorf("the note has %d bytes and ends with %q, want %d and dots", len(note), note[len(note)-4:], maxEventNote)
	}
	if got, want := f.stored("a").Status.Conditions[0].Message, "0/1 nodes are available: 1 "+reason+"."; got != want {
		t.Errorf("the condition says %q, want %q", got, want)
	}
}

func TestShorten(t *testing.T) {
	fits := strings.Repeat("x", maxEventNote)
	tests := []struct{ name, message, want string }{
		{"short", "short", "short"},
		{"as long as can be", fits, fits},
		{"too long", fits + "x", fits[:maxEventNote-4] + " ..."},
		{"cut within a letter", fits[:maxEventNote-5] + "ééé", fits[:maxEventNote-5] + " ..."},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := shorten(test.message); got != test.want {
				t.Errorf("got %d bytes, ending in %q", len(got), got[max(0, len(got)-8):])
			}
		})
	}
}

// A pod that was rejected after a node was found waits for the events of the plugin that did it, and for no others.
func TestLateRejectionsWaitForTheRightEvents(t *testing.T) {
	no := func(*v1.Pod) *fwk.Status { return fwk.NewStatus(fwk.Unschedulable, "no") }
	for name, plugin := range map[string]*scripted{
		"Reserve": {name: "P", reserve: no},
		"Permit":  {name: "P", permit: func(pod *v1.Pod) (*fwk.Status, time.Duration) { return no(pod), 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			plugin.events = []fwk.ClusterEventWithHint{onEvent(fwk.Node, fwk.Add)}
			f := newFixtureWith(t, bare, plugin)
			f.addNodes("n1")
			f.park(objects.Pod("a").Requests("cpu", "1").Build())
			f.podAdded(objects.Pod("other").Requests("cpu", "1").Node("n1").Build())
			f.nodeDeleted(objects.Node("n1").Capacity("cpu", "4", "memory", "8Gi").Build())
			f.wantPool("a", queue.PoolUnschedulable)
			f.addNodes("n2")
			f.wantPool("a", queue.PoolBackoff)
		})
	}
}

func TestRejectionOfPreFilterIsThatOfAllNodes(t *testing.T) {
	for _, code := range []fwk.Code{fwk.Unschedulable, fwk.UnschedulableAndUnresolvable} {
		t.Run(code.String(), func(t *testing.T) {
			var seen fwk.Code
			f := newFixtureWith(t, bare,
				&scripted{name: "P", pre: func(*v1.Pod) (*fwk.PreFilterResult, *fwk.Status) { return nil, fwk.NewStatus(code, "no") }},
				makesRoom(func(statuses fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
					seen = statuses.Get("n1").Code()
					return nil, fwk.NewStatus(fwk.Unschedulable, "and nothing helps")
				}))
			f.addNodes("n1", "n2")
			f.park(objects.Pod("a").Requests("cpu", "1").Build())
			if seen != code {
				t.Errorf("PostFilter saw %v, want %v", seen, code)
			}
			if got, want := f.event(), "Warning FailedScheduling 0/2 nodes are available: no. and nothing helps"; got != want {
				t.Errorf("event %q, want %q", got, want)
			}
		})
	}
}
