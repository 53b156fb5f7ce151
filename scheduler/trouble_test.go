// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/queue"
)

// wantBound checks that a pod was bound, once, and is counted on its node.
func (f *fixture) wantBound(api *fakeAPI, name, node string) {
	f.t.Helper()
	if got := f.stored(name).Spec.NodeName; got != node {
		f.t.Errorf("the API has pod %s on node %q, want %s", name, got, node)
	}
	if got := f.seen.bound[name]; got != node {
		f.t.Errorf("the observer saw pod %s bound to %q, want %s", name, got, node)
	}
	if want := name + "@" + node + "*"; !slices.Contains(f.cached(), want) {
		f.t.Errorf("the cache counts %v, want %s", f.cached(), want)
	}
	if len(api.wrong) > 0 {
		f.t.Error(api.wrong)
	}
	f.wantPool(name, queue.PoolNone)
	if got := f.event(); !strings.HasPrefix(got, "Normal Scheduled") {
		f.t.Errorf("event %q, want that the pod was scheduled", got)
	}
}

// Trouble that passes within three calls costs a pod nothing, whether the binding was carried out or not.
func TestBindingThroughTrouble(t *testing.T) {
	for name, err := range troubles() {
		for _, carried := range []bool{false, true} {
			for times := 1; times <= 3; times++ {
				t.Run(fmt.Sprintf("%s/carried out %v/%d times", name, carried, times), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						f := newFixtureWith(t, bare)
						api := newFakeAPI(f.client, inTurn("create", slices.Repeat([]fault{{err, carried}}, times)...))
						f.addNodes("n1")
						f.add(objects.Pod("a").Requests("cpu", "1").Build())
						f.attempt()
						f.wantBound(api, "a", "n1")
						if api.calls["create"] > times+1 || api.calls["patch"] > 0 {
							t.Errorf("%d bindings and %d patches were sent", api.calls["create"], api.calls["patch"])
						}
					})
				})
			}
		}
	}
}

// A pod that may be bound keeps its place while the API server is away, so that no other pod gets it.
func TestPodKeepsItsPlaceWhileItsBindingIsUnknown(t *testing.T) {
	for _, carried := range []bool{true, false} {
		t.Run(fmt.Sprintf("carried out %v", carried), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixtureWith(t, bare)
				began, during := time.Now(), []string(nil)
				var first bool
				api := newFakeAPI(f.client, func(verb string) fault {
					if time.Since(began) >= 30*time.Second {
						return fault{}
					}
					lost := fault{err: transportError(errors.New("connection lost")), carried: carried && !first}
					first = true
					during = f.cached()
					return lost
				})
				f.addNodes("n1")
				f.add(objects.Pod("a").Requests("cpu", "1").Build())
				f.attempt()
				if !slices.Equal(during, []string{"a@n1*"}) {
					t.Errorf("the cache counted %v while the API server was away, want the pod", during)
				}
				if took := time.Since(began); took < 30*time.Second || took > 40*time.Second {
					t.Errorf("it took %v to find out, want 30s to 40s", took)
				}
				if carried {
					f.wantBound(api, "a", "n1")
					return
				}
				f.wantPool("a", queue.PoolBackoff)
				if cached := f.cached(); len(cached) > 0 {
					t.Errorf("the cache still counts %v", cached)
				}
				f.event()
				f.clock.Step(time.Minute)
				f.Queue().FlushBackoff()
				f.attempt()
				f.wantBound(api, "a", "n1")
			})
		})
	}
}

// The answer to a binding is lost, and the pod is deleted before anybody asks whether it is bound: it is, and has its place
// until it is gone.
func TestPodIsBoundAlthoughItIsDeletedBeforeThatIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixtureWith(t, bare)
		lost := inTurn("create", fault{err: transportError(errors.New("connection lost")), carried: true})
		api := newFakeAPI(f.client, func(verb string) fault {
			if verb == "get" {
				bound, err := f.client.Tracker().Get(podsResource(), "default", "a")
				if err == nil {
					err = f.client.Tracker().Update(podsResource(), objects.PodFrom(bound.(*v1.Pod)).With(deleting).Build(), "default")
				}
				if err != nil {
					t.Error(err)
				}
			}
			return lost(verb)
		})
		f.addNodes("n1")
		f.add(objects.Pod("a").Requests("cpu", "1").Build())
		f.attempt()
		if api.calls["get"] == 0 {
			t.Error("the API server was not asked whether the pod is bound")
		}
		f.wantBound(api, "a", "n1")
	})
}

func TestBindingIsGivenUpWhenTheAPIServerStaysAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixtureWith(t, bare)
		api := newFakeAPI(f.client, func(string) fault { return fault{err: transportError(errors.New("connection refused"))} })
		f.addNodes("n1")
		f.add(objects.Pod("a").Requests("cpu", "1").Build())
		began := time.Now()
		f.attempt()
		if took := time.Since(began); took < confirmTimeout/2 || took > confirmTimeout+10*time.Second {
			t.Errorf("it took %v, want about %v", took, confirmTimeout)
		}
		if api.calls["create"] != 4 || api.calls["get"] > 50 || api.calls["patch"] != 4 {
			t.Errorf("%v calls, want 4 bindings, at most 50 questions, 4 patches", api.calls)
		}
		f.wantPool("a", queue.PoolBackoff)
		if cached := f.cached(); len(cached) > 0 {
			t.Errorf("the cache still counts %v", cached)
		}
	})
}

// Two schedulers have the same pods. Whatever this one has seen of it, a pod that the other one has bound is let go of:
// it is not tried again, and its condition is not touched.
func TestPodThatAnotherClientBinds(t *testing.T) {
	bind := func(f *fixture, pod *v1.Pod, node string, seen bool) {
		bound := objects.PodFrom(pod).Node(node).Build()
		if err := f.client.Tracker().Update(podsResource(), bound, pod.Namespace); err != nil {
			f.t.Fatal(err)
		}
		if seen {
			f.updateInformer(bound)
			f.podUpdated(pod, bound)
		}
	}
	for _, test := range []struct {
		name, node string
		seen       bool
		when       string
		bound      bool // by this scheduler, as far as it knows
	}{
		{name: "before the attempt ends, seen", node: "n2", seen: true, when: "filter"},
		{name: "before the attempt ends, not seen", node: "n2", when: "filter"},
		{name: "before the attempt ends, on the same node, seen", node: "n1", seen: true, when: "filter"},
		{name: "before the attempt ends, on the same node, not seen", node: "n1", when: "filter", bound: true},
		{name: "on the way, seen", node: "n2", seen: true, when: "preBind"},
		{name: "on the way, not seen", node: "n2", when: "preBind"},
		{name: "on the way, on the same node, seen", node: "n1", seen: true, when: "preBind", bound: true},
		{name: "on the way, on the same node, not seen", node: "n1", when: "preBind", bound: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var f *fixture
				pod := objects.Pod("a").Requests("cpu", "1").Build()
				steal := func(when string) {
					if when == test.when {
						bind(f, pod, test.node, test.seen)
					}
				}
				reserving := &scripted{name: "R", filter: func(_ *v1.Pod, node fwk.NodeInfo) *fwk.Status {
					if node.Node().Name != "n1" {
						return fwk.NewStatus(fwk.Unschedulable, "only n1")
					}
					steal("filter")
					return nil
				}}
				f = newFixtureWith(t, bare, reserving, &cycleEnd{name: "P", preFlight: func(*v1.Pod) *fwk.Status {
					if test.when == "preBind" {
						return nil
					}
					return fwk.NewStatus(fwk.Skip)
				}, preBind: func(context.Context, *v1.Pod) *fwk.Status {
					f.client.ClearActions()
					steal("preBind")
					return nil
				}})
				api := newFakeAPI(f.client, inTurn("create"))
				f.addNodes("n1", "n2")
				f.add(pod)
				f.attempt()
				if len(api.wrong)+len(api.bound) > 0 {
					t.Errorf("wrong: %v, bound: %v", api.wrong, api.bound)
				}
				if _, bound := f.seen.bound["a"]; bound != test.bound {
					t.Errorf("bound: %v, want %v", bound, test.bound)
				}
				f.wantPool("a", queue.PoolNone)
				if writes := f.writes(); slices.Contains(writes, "patch pods/status") {
					t.Errorf("wrote %v, want no patch of a pod that is bound", writes)
				}
				if stats := f.Queue().Stats(); stats.InFlight != 0 {
					t.Errorf("%d pods are in flight", stats.InFlight)
				}
				want := []string{}
				switch {
				case test.seen:
					want = []string{"a@" + test.node}
				case test.bound:
					want = []string{"a@" + test.node + "*"}
				}
				if got := f.cached(); !slices.Equal(got, want) {
					t.Errorf("the cache counts %v, want %v", got, want)
				}
			})
		})
	}
}

// A pod is not bound to a node that is known to be gone, and finds another one when there is.
func TestNodeDeletedOnTheWay(t *testing.T) {
	for _, when := range []string{"permit", "preBind"} {
		t.Run(when, func(t *testing.T) {
			var f *fixture
			remove := func() {
				node := objects.Node("n1").Capacity("cpu", "4", "memory", "8Gi").Build()
				if err := f.options.Informers.Core().V1().Nodes().Informer().GetIndexer().Delete(node); err != nil {
					t.Fatal(err)
				}
				f.nodeDeleted(node)
			}
			gate := &scripted{name: "Gate"}
			preBinds := 0
			end := &cycleEnd{name: "P", preBind: func(context.Context, *v1.Pod) *fwk.Status {
				if preBinds++; when == "preBind" && preBinds == 1 {
					remove()
				}
				return nil
			}}
			if when == "permit" {
				gate.permit = waits(time.Hour)
			}
			f = newFixtureWith(t, bare, gate, end)
			api := newFakeAPI(f.client, inTurn("create"))
			f.addNodes("n1")
			f.add(objects.Pod("a").Requests("cpu", "1").Build())
			f.attempt()
			if when == "permit" {
				remove()
				f.profile().GetWaitingPod("default/a").Allow("Gate")
				f.runTasks()
				if preBinds > 0 {
					t.Error("PreBind ran for a node that was gone")
				}
				gate.permit = nil
			}
			if len(api.bound) > 0 || api.calls["create"] > 0 {
				t.Errorf("bound %v in %d calls, want none", api.bound, api.calls["create"])
			}
			if got, want := f.event(), `Warning FailedScheduling node "n1" was deleted before the pod was bound to it`; got != want {
				t.Errorf("event %q, want %q", got, want)
			}
			if conditions := f.stored("a").Status.Conditions; len(conditions) != 1 || conditions[0].Reason != v1.PodReasonUnschedulable {
				t.Errorf("conditions %v, want that the pod is unschedulable, which is not an error", conditions)
			}
			if gate.unreserved["a"] != 1 || len(f.cached()) > 0 {
				t.Errorf("unreserved %d times, cached %v; want once, none", gate.unreserved["a"], f.cached())
			}
			f.wantPool("a", queue.PoolBackoff)
			f.addNodes("n2")
			f.clock.Step(time.Minute)
			f.Queue().FlushBackoff()
			f.attempt()
			f.wantBound(api, "a", "n2")
		})
	}
}

// Of a pod that is deleted on the way nothing is left, and nothing is written to it, whether the deletion was seen before
// the binding or not.
func TestPodDeletedOnTheWay(t *testing.T) {
	pod := objects.Pod("a").Requests("cpu", "1").Build()
	inAPI := func(f *fixture, current *v1.Pod) {
		tracker := f.client.Tracker()
		if current == nil {
			_ = tracker.Delete(podsResource(), "default", "a")
		} else {
			_ = tracker.Update(podsResource(), current, "default")
		}
	}
	terminating := objects.PodFrom(pod).With(deleting).Build()
	second := objects.PodFrom(pod).UID("second").Build()
	tests := []struct {
		name   string
		change func(f *fixture)
		calls  int // of the binding
		pool   queue.Pool
	}{
		{name: "gone", calls: 0, change: func(f *fixture) { inAPI(f, nil); f.forget(pod); f.podDeleted(pod) }},
		{name: "gone, not seen", calls: 1, change: func(f *fixture) { inAPI(f, nil) }},
		{name: "terminating", calls: 0, change: func(f *fixture) {
			inAPI(f, terminating)
			f.updateInformer(terminating)
			f.podUpdated(pod, terminating)
		}},
		{name: "terminating, not seen", calls: 1, change: func(f *fixture) { inAPI(f, terminating) }},
		{name: "replaced", calls: 0, pool: queue.PoolActive, change: func(f *fixture) {
			inAPI(f, second)
			f.updateInformer(second)
			f.podUpdated(pod, second)
		}},
		{name: "replaced, not seen", calls: 1, change: func(f *fixture) { inAPI(f, second) }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var f *fixture
			reserving := &scripted{name: "R"}
			f = newFixtureWith(t, bare, reserving, &cycleEnd{name: "P", preBind: func(context.Context, *v1.Pod) *fwk.Status {
				f.client.ClearActions()
				test.change(f)
				return nil
			}})
			api := newFakeAPI(f.client, inTurn("create"))
			f.addNodes("n1")
			f.add(pod)
			f.attempt()
			if api.calls["create"] != test.calls || len(api.bound) > 0 {
				t.Errorf("bound %v in %d calls, want none in %d", api.bound, api.calls["create"], test.calls)
			}
			if slices.Contains(f.writes(), "patch pods/status") {
				t.Error("the status of the pod was written")
			}
			if len(f.cached()) > 0 || reserving.unreserved["a"] != 1 {
				t.Errorf("cached %v, unreserved %d times; want none, once", f.cached(), reserving.unreserved["a"])
			}
			f.wantPool("a", test.pool)
		})
	}
}

// An extender may have bound the pod although it says that it has not.
func TestExtenderWhoseAnswerWasLost(t *testing.T) {
	for _, ignorable := range []bool{false, true} {
		f := newFixtureWith(t, bare)
		api := newFakeAPI(f.client, inTurn("create"))
		f.options.Extenders = []fwk.Extender{&extender{name: "E", ignorable: ignorable, bind: func(binding *v1.Binding) error {
			_, err := api.bind(binding, "default")
			return errors.Join(err, errors.New("timeout"))
		}}}
		f.addNodes("n1")
		f.add(objects.Pod("a").Requests("cpu", "1").Build())
		f.attempt()
		f.wantBound(api, "a", "n1")
	}
}

// Writing a condition is tried again, and is given up without harm to the pod; the next attempt writes it.
func TestConditionThroughTrouble(t *testing.T) {
	for name, err := range troubles() {
		for times, written := range map[int]bool{1: true, 3: true, 4: false} {
			t.Run(fmt.Sprintf("%s/%d times", name, times), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := newFixture(t)
					api := newFakeAPI(f.client, inTurn("patch", slices.Repeat([]fault{{err: err}}, times)...))
					f.nodeAdded(objects.Node("n1").Capacity("cpu", "1", "memory", "8Gi").Build())
					began := time.Now()
					f.park(objects.Pod("a").Requests("cpu", "2").Build())
					if took := time.Since(began); took > 10*time.Second {
						t.Errorf("the scheduling cycle was held up for %v", took)
					}
					if got := len(f.stored("a").Status.Conditions) == 1; got != written || api.calls["patch"] != min(times+1, 4) {
						t.Errorf("written: %v after %d calls, want %v", got, api.calls["patch"], written)
					}
					f.clock.Step(time.Hour)
					f.Queue().FlushUnschedulable()
					f.attempt()
					if len(f.stored("a").Status.Conditions) != 1 {
						t.Error("the next attempt did not write the condition")
					}
				})
			})
		}
	}
}

// What is bound when the scheduler has lost its office is not known to it; nothing more is sent, and nothing stays
// assumed.
func TestLostLeadershipWhileBinding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, options, recorder := newRunning(t)
		s.bindingLimiter.limit = 1
		calls := 0
		var ended <-chan struct{}
		options.Client.(*fake.Clientset).PrependReactor("create", "pods", func(clienttesting.Action) (bool, apiruntime.Object, error) {
			calls++
			<-ended // as a client does whose context ends
			return true, nil, transportError(context.Canceled)
		})
		for i := range 4 {
			if err := options.Client.(*fake.Clientset).Tracker().Add(objects.Pod(fmt.Sprint("more-", i)).Requests("cpu", "100m").Build()); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		ended = ctx.Done()
		options.Informers.Start(ctx.Done())
		defer options.Informers.Shutdown()
		if err := s.WaitForHandlersSync(ctx); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		synctest.Wait()
		if got := s.Cache().Counts().AssumedPods; got != 5 {
			t.Errorf("%d pods have a node, want 5", got)
		}
		began := time.Now()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("it took %v to end", took)
		}
		if got := s.Cache().Counts().AssumedPods; got != 0 || calls != 1 {
			t.Errorf("%d pods are assumed, %d bindings were sent; want none, one", got, calls)
		}
		if len(recorder.Events) > 0 {
			t.Errorf("event %q, want none", <-recorder.Events)
		}
	})
}

// A refusal is no reason to ask the API server forever, or for a second time within the attempt.
func TestRefusedBinding(t *testing.T) {
	f := newFixtureWith(t, bare)
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "pods/binding"}, "a", errors.New("no"))
	api := newFakeAPI(f.client, inTurn("create", fault{err: forbidden}))
	f.addNodes("n1")
	f.add(objects.Pod("a").Requests("cpu", "1").Build())
	f.attempt()
	f.wantPool("a", queue.PoolBackoff)
	if api.calls["create"] != 1 || api.calls["get"] != 1 || api.calls["patch"] != 1 {
		t.Errorf("calls %v, want one of each", api.calls)
	}
	if event := f.event(); !strings.Contains(event, forbidden.Error()) {
		t.Errorf("event %q, want the refusal", event)
	}
}
