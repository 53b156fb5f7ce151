// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
	"github.com/rouse-scheduler/rouse/queue"
)

func TestPreBindPreFlight(t *testing.T) {
	tests := []struct {
		name      string
		preFlight func(*v1.Pod) *fwk.Status
		writes    []string
		event     string
	}{
		{
			name:   "work to do: the node is announced",
			writes: []string{"patch pods/status", "create pods/binding"},
			event:  "Normal Scheduled Successfully assigned default/a to n1",
		},
		{
			name: "no work to do: it is not", preFlight: skipped,
			writes: []string{"create pods/binding"},
			event:  "Normal Scheduled Successfully assigned default/a to n1",
		},
		{
			name:      "an error",
			preFlight: func(*v1.Pod) *fwk.Status { return fwk.AsStatus(errors.New("broken")) },
			writes:    []string{"patch pods/status"}, // the condition
			event:     `Warning FailedScheduling running PreBindPreFlight "P": broken`,
		},
		{
			name:      "a rejection, which it must not return",
			preFlight: func(*v1.Pod) *fwk.Status { return fwk.NewStatus(fwk.Unschedulable, "no") },
			writes:    []string{"patch pods/status"},
			event:     `Warning FailedScheduling PreBindPreFlight P returned "Unschedulable", which is unsupported`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFixtureWith(t, bare, &cycleEnd{name: "P", preFlight: test.preFlight})
			f.addNodes("n1")
			f.add(objects.Pod("a").Requests("cpu", "1").Build())
			f.attempt()
			if diff := cmp.Diff(test.writes, f.writes()); diff != "" {
				t.Errorf("writes to the API (-want +got):\n%s", diff)
			}
			if got := f.event(); !strings.HasPrefix(got, test.event) {
				t.Errorf("event %q, want %q", got, test.event)
			}
			if failed := strings.HasPrefix(test.event, "Warning"); failed {
				f.wantPool("a", queue.PoolBackoff)
			}
		})
	}
}

// TestUpdateBetweenFailedBindingAndReturn has a pod updated when the cache no longer counts it and the queue does not have
// it back yet: it must not be scheduled twice at the same time, nor spared its backoff.
func TestUpdateBetweenFailedBindingAndReturn(t *testing.T) {
	f := newFixtureWith(t, bare)
	f.addNodes("n1")
	f.failBinding(apierrors.NewForbidden(v1.Resource("pods"), "a", errors.New("no")))
	pod := objects.Pod("a").Build()
	f.add(pod)
	f.seen.onFailure = func(*v1.Pod) {
		updated := pod.DeepCopy()
		updated.ResourceVersion, updated.Labels = "2", map[string]string{"new": ""}
		f.podUpdated(pod, updated)
		f.wantPool("a", queue.PoolNone)
		if f.TryScheduleOne(f.ctx) {
			t.Error("the pod is tried again before its attempt has ended")
		}
	}
	f.attempt()
	f.wantPool("a", queue.PoolBackoff)
	if status, _ := f.Queue().Lookup("default", "a"); status.Attempts != 1 || len(status.Pod.Labels) == 0 {
		t.Errorf("the queue has %d attempts and the labels %v", status.Attempts, status.Pod.Labels)
	}
}

func TestWithoutAnnouncements(t *testing.T) {
	f := newFixtureWith(t, func(o *Options) {
		bare(o)
		o.Features.DisableNominatedNodeName = true
	}, &cycleEnd{name: "P"})
	f.addNodes("n1")
	f.add(objects.Pod("a").Requests("cpu", "1").Build())
	f.attempt()
	if diff := cmp.Diff([]string{"create pods/binding"}, f.writes()); diff != "" {
		t.Errorf("writes to the API (-want +got):\n%s", diff)
	}
}

func TestPreBindFailures(t *testing.T) {
	var f *fixture
	preempt := func(pod *v1.Pod) { f.profile().GetPodInPreBind(pod.UID).CancelPod("preempted by P") }
	tests := []struct {
		name    string
		preBind func(context.Context, *v1.Pod) *fwk.Status
		reason  string
		event   string
	}{
		{
			name:    "an error",
			preBind: func(context.Context, *v1.Pod) *fwk.Status { return fwk.AsStatus(errors.New("no disk")) },
			reason:  "SchedulerError", event: `running PreBind plugin "P": no disk`,
		},
		{
			name:    "a rejection, which has come too late to wait for events",
			preBind: func(context.Context, *v1.Pod) *fwk.Status { return fwk.NewStatus(fwk.Unschedulable, "no disk") },
			reason:  "Unschedulable", event: "no disk",
		},
		{
			name:    "a panic",
			preBind: func(context.Context, *v1.Pod) *fwk.Status { panic("oops") },
			reason:  "SchedulerError", event: `plugin "P" panicked in PreBind: oops`,
		},
		{
			name: "preemption, noticed by the plugin",
			preBind: func(ctx context.Context, pod *v1.Pod) *fwk.Status {
				preempt(pod)
				<-ctx.Done()
				return fwk.AsStatus(ctx.Err())
			},
			reason: "SchedulerError", event: `running PreBind plugin "P": preempted by P`,
		},
		{
			name: "preemption, not noticed by the plugin",
			preBind: func(_ context.Context, pod *v1.Pod) *fwk.Status {
				preempt(pod)
				return nil
			},
			reason: "SchedulerError", event: "preempted by P",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			reserving := &scripted{name: "R"}
			f = newFixtureWith(t, bare, reserving, &cycleEnd{name: "P", preBind: test.preBind})
			f.addNodes("n1")
			f.add(objects.Pod("a").Requests("cpu", "1").Build())
			f.attempt()
			f.wantPool("a", queue.PoolBackoff)
			if rejectors := f.rejectors("a"); len(rejectors) > 0 {
				t.Errorf("the pod waits for events of %v, want none", rejectors)
			}
			if got, want := f.event(), "Warning FailedScheduling "+test.event; !strings.HasPrefix(got, want) {
				t.Errorf("event %q, want %q", got, want)
			}
			stored := f.stored("a").Status
			if len(stored.Conditions) != 1 || stored.Conditions[0].Reason != test.reason {
				t.Errorf("conditions %v, want one with reason %s", stored.Conditions, test.reason)
			}
			// The informer of a fixture has not seen that the node was announced, as in a cluster it often has not yet.
			if stored.NominatedNodeName != "" {
				t.Errorf("the pod is still said to go to %s", stored.NominatedNodeName)
			}
			if reserving.unreserved["a"] != 1 || len(f.cached()) > 0 || len(f.writes()) != 2 {
				t.Errorf("unreserved %d times, cached %v, wrote %v; want once, none, two patches",
					reserving.unreserved["a"], f.cached(), f.writes())
			}
			if f.profile().GetPodInPreBind("default/a") != nil {
				t.Error("the pod is still in PreBind")
			}
		})
	}
}

func TestBindPlugins(t *testing.T) {
	tests := []struct {
		name  string
		bind  func(*v1.Pod) *fwk.Status
		api   bool
		event string
	}{
		{name: "the first binds", bind: func(*v1.Pod) *fwk.Status { return nil }, event: "Normal Scheduled Successfully assigned default/a to n1"},
		{name: "the first leaves it to the next", api: true, event: "Normal Scheduled Successfully assigned default/a to n1"},
		{
			name:  "the first breaks",
			bind:  func(*v1.Pod) *fwk.Status { return fwk.AsStatus(errors.New("no")) },
			event: `Warning FailedScheduling running Bind plugin "B": no`,
		},
		{
			name:  "the first rejects",
			bind:  func(*v1.Pod) *fwk.Status { return fwk.NewStatus(fwk.Unschedulable, "no") },
			event: "Warning FailedScheduling no",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFixtureWith(t, bindFirst("B"), &cycleEnd{name: "B", preFlight: skipped, bind: test.bind})
			f.addNodes("n1")
			f.add(objects.Pod("a").Requests("cpu", "1").Build())
			f.attempt()
			if got := f.event(); got != test.event {
				t.Errorf("event %q, want %q", got, test.event)
			}
			if api := slices.Contains(f.writes(), "create pods/binding"); api != test.api {
				t.Errorf("DefaultBinder was asked: %v, want %v", api, test.api)
			}
			if strings.HasPrefix(test.event, "Warning") {
				f.wantPool("a", queue.PoolBackoff)
				if len(f.rejectors("a")) > 0 || len(f.cached()) > 0 {
					t.Errorf("rejected by %v, cached %v, want none", f.rejectors("a"), f.cached())
				}
			}
		})
	}
}

func TestPodThatNoBindPluginTakes(t *testing.T) {
	f := newFixtureWith(t, func(options *Options) {
		bare(options)
		multiPoint := &options.Configuration.Profiles[0].Plugins.MultiPoint
		multiPoint.Enabled = slices.DeleteFunc(multiPoint.Enabled, func(p configv1.Plugin) bool { return p.Name == "DefaultBinder" })
	}, &cycleEnd{name: "B", preFlight: skipped})
	f.addNodes("n1")
	f.add(objects.Pod("a").Requests("cpu", "1").Build())
	f.attempt()
	f.wantPool("a", queue.PoolBackoff)
	if got, want := f.event(), "Warning FailedScheduling no Bind plugin took the pod; every one returned Skip"; got != want {
		t.Errorf("event %q, want %q", got, want)
	}
	if cached := f.cached(); len(cached) > 0 {
		t.Errorf("the cache still counts %v", cached)
	}
}

// Events from then on are no reason to try the pod again, should binding fail, so none are kept.
func TestPodIsNoLongerInFlightDuringPreBind(t *testing.T) {
	var f *fixture
	during := -1
	f = newFixtureWith(t, bare, &scripted{name: "Gate", permit: waits(time.Hour)},
		&cycleEnd{name: "P", preBind: func(context.Context, *v1.Pod) *fwk.Status {
			during = f.Queue().Stats().InFlight
			return nil
		}})
	f.addNodes("n1")
	f.add(objects.Pod("a").Requests("cpu", "1").Build())
	f.attempt()
	if got := f.Queue().Stats().InFlight; got != 1 {
		t.Errorf("%d pods are in flight while one waits for permission, want 1", got)
	}
	f.profile().GetWaitingPod("default/a").Allow("Gate")
	f.runTasks()
	if during != 0 {
		t.Errorf("%d pods were in flight during PreBind, want none", during)
	}
}

func TestContextsOfTheTwoCycles(t *testing.T) {
	var scheduling, binding context.Context
	var atPreBind error
	f := newFixtureWith(t, bare, contextSpy{&scheduling}, &cycleEnd{name: "P", preBind: func(ctx context.Context, _ *v1.Pod) *fwk.Status {
		binding, atPreBind = ctx, ctx.Err()
		return nil
	}})
	f.addNodes("n1")
	f.add(objects.Pod("a").Requests("cpu", "1").Build())
	f.TryScheduleOne(f.ctx)
	if scheduling.Err() == nil {
		t.Error("the context of the scheduling cycle outlives it")
	}
	f.runTasks()
	if atPreBind != nil {
		t.Errorf("the context of the binding cycle had ended before it: %v", atPreBind)
	}
	if binding.Err() == nil {
		t.Error("the context of PreBind outlives it")
	}
}

// contextSpy is a plugin that keeps the context of Reserve.
type contextSpy struct{ seen *context.Context }

func (contextSpy) Name() string { return "ContextSpy" }

func (s contextSpy) Reserve(ctx context.Context, _ fwk.CycleState, _ *v1.Pod, _ string) *fwk.Status {
	*s.seen = ctx
	return nil
}

func (contextSpy) Unreserve(context.Context, fwk.CycleState, *v1.Pod, string) {}

// A pod that is deleted while it is being bound must not stay in the cache, whatever becomes of the binding.
func TestPodDeletedDuringBindingLeavesNothing(t *testing.T) {
	for _, bound := range []bool{false, true} {
		t.Run(fmt.Sprintf("bound %v", bound), func(t *testing.T) {
			var f *fixture
			pod := objects.Pod("a").Requests("cpu", "1").Build()
			reserving := &scripted{name: "R"}
			f = newFixtureWith(t, bindFirst("B"), reserving, &cycleEnd{name: "B", bind: func(*v1.Pod) *fwk.Status {
				f.forget(pod)
				f.podDeleted(pod)
				if bound {
					return nil
				}
				return fwk.AsStatus(errors.New("not found"))
			}})
			f.addNodes("n1")
			f.add(pod)
			f.attempt()
			if cached := f.cached(); len(cached) > 0 {
				t.Errorf("the cache still counts %v", cached)
			}
			f.wantPool("a", queue.PoolNone)
			if unreserved := reserving.unreserved["a"] == 1; unreserved == bound {
				t.Errorf("unreserved is %v after a binding that succeeded: %v", unreserved, bound)
			}
		})
	}
}

// upstreamPodsToActivate has the shape of the type in k8s.io/kubernetes.
type upstreamPodsToActivate struct {
	sync.Mutex
	Map map[string]*v1.Pod
}

func (p *upstreamPodsToActivate) Clone() fwk.StateData { return p }

// shapeless is no such type.
type shapeless struct{ Map map[string]*v1.Pod }

func (p shapeless) Clone() fwk.StateData { return p }

func TestPodsToActivateOfAnotherType(t *testing.T) {
	for name, test := range map[string]struct {
		wanted func(map[string]*v1.Pod) fwk.StateData
		want   queue.Pool
	}{
		"the shape of kube-scheduler's": {func(pods map[string]*v1.Pod) fwk.StateData {
			return &upstreamPodsToActivate{Map: pods}
		}, queue.PoolActive},
		"a nil pointer": {func(map[string]*v1.Pod) fwk.StateData {
			return (*upstreamPodsToActivate)(nil)
		}, queue.PoolUnschedulable},
		"a struct without a lock": {func(pods map[string]*v1.Pod) fwk.StateData { return shapeless{pods} }, queue.PoolUnschedulable},
	} {
		t.Run(name, func(t *testing.T) {
			waiting := objects.Pod("waiting").Requests("cpu", "1").Build()
			rejects := &scripted{name: "Rejects", pre: func(pod *v1.Pod) (*fwk.PreFilterResult, *fwk.Status) {
				if pod.Name == waiting.Name {
					return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "not yet")
				}
				return nil, nil
			}}
			f := newFixtureWith(t, bare, rejects, stateSpy(func(state fwk.CycleState) {
				state.Write(framework.PodsToActivateKey, test.wanted(map[string]*v1.Pod{podKey(waiting): waiting}))
			}))
			f.addNodes("n1")
			f.park(waiting)
			f.add(objects.Pod("other").Requests("cpu", "1").Build())
			f.TryScheduleOne(f.ctx)
			f.wantPool("waiting", test.want)
		})
	}
}

func TestPodsToActivate(t *testing.T) {
	activate := func(state fwk.CycleState, pods ...*v1.Pod) {
		data, err := state.Read(framework.PodsToActivateKey)
		if err != nil {
			t.Error(err)
			return
		}
		wanted := data.(*framework.PodsToActivate)
		wanted.Lock()
		defer wanted.Unlock()
		for _, pod := range pods {
			wanted.Map[podKey(pod)] = pod
		}
	}
	early, late := objects.Pod("early").Requests("cpu", "1").Build(), objects.Pod("late").Requests("cpu", "1").Build()
	rejects := true
	rejecting := &scripted{name: "Rejecting", pre: func(pod *v1.Pod) (*fwk.PreFilterResult, *fwk.Status) {
		if rejects && pod.Name != "key" {
			return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "not yet")
		}
		return nil, nil
	}}
	f := newFixtureWith(t, bare, rejecting,
		stateSpy(func(state fwk.CycleState) { activate(state, early) }),
		&cycleEnd{name: "P", postBind: func(state fwk.CycleState, _ *v1.Pod) { activate(state, late) }})
	f.addNodes("n1")
	f.park(early)
	f.park(late)
	f.add(objects.Pod("key").Requests("cpu", "1").Build())
	f.TryScheduleOne(f.ctx)
	f.wantPool("early", queue.PoolActive)
	f.wantPool("late", queue.PoolUnschedulable)
	f.runTasks()
	f.wantPool("late", queue.PoolActive)
}

// stateSpy is a plugin that looks at the state in Permit.
type stateSpy func(fwk.CycleState)

func (stateSpy) Name() string { return "StateSpy" }

func (s stateSpy) Permit(_ context.Context, state fwk.CycleState, _ *v1.Pod, _ string) (*fwk.Status, time.Duration) {
	s(state)
	return nil, 0
}
