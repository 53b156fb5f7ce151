// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"errors"
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func TestMove(t *testing.T) {
	panics := func(klog.Logger, *v1.Pod, any, any) (fwk.QueueingHint, error) { panic("hint") }
	tests := []struct {
		name      string
		hint      fwk.QueueingHintFn
		rejectors []string
		ready     bool
		want      Pool
	}{
		{"no hint", nil, []string{"P"}, true, PoolActive},
		{"wanted", answering(fwk.Queue, nil), []string{"P"}, true, PoolActive},
		{"wanted while it backs off", answering(fwk.Queue, nil), []string{"P"}, false, PoolBackoff},
		{"wanted by a pending plugin", answering(fwk.Queue, nil), []string{"*P"}, false, PoolActive},
		{"wanted by a plugin that is both", answering(fwk.Queue, nil), []string{"P", "*P"}, false, PoolActive},
		{"skipped", answering(fwk.QueueSkip, nil), []string{"P"}, true, PoolUnschedulable},
		{"hint fails", answering(fwk.QueueSkip, errors.New("broken")), []string{"P"}, true, PoolActive},
		{"hint panics", panics, []string{"P"}, true, PoolActive},
		{"rejected by another plugin", panics, []string{"Q"}, true, PoolUnschedulable},
		{"rejected by an unknown plugin", panics, []string{"Unknown"}, true, PoolUnschedulable},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, withPlugins(plugin("P", nodeAdded, test.hint), plugin("Q", volumeAdded, nil)))
			if test.ready {
				f.parkReady(objects.Pod("pod").Build(), test.rejectors...)
			} else {
				f.park(objects.Pod("pod").Build(), test.rejectors...)
			}
			f.Move(nodeAdded, nil, node, nil)
			f.wantPool("pod", test.want)
		})
	}
}

func TestMoveMatchesRegistrations(t *testing.T) {
	for _, test := range []struct {
		name                 string
		registered, happened fwk.ClusterEvent
		want                 Pool
	}{
		{"one of several actions", fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | fwk.UpdateNodeLabel}, nodeLabel, PoolActive},
		{"any update", fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Update}, nodeLabel, PoolActive},
		{"another action", fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | fwk.UpdateNodeTaint}, nodeLabel, PoolUnschedulable},
		{"general update, specific registration", nodeLabel, fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Update}, PoolUnschedulable},
		{"any resource", fwk.ClusterEvent{Resource: fwk.WildCard, ActionType: fwk.UpdateNodeLabel}, nodeLabel, PoolActive},
		{"any resource, another action", fwk.ClusterEvent{Resource: fwk.WildCard, ActionType: fwk.Add}, nodeLabel, PoolUnschedulable},
		{"everything", fwk.ClusterEvent{Resource: fwk.WildCard, ActionType: fwk.All}, nodeLabel, PoolActive},
		{"pods in general", fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.Delete}, fwk.ClusterEvent{Resource: fwk.AssignedPod, ActionType: fwk.Delete}, PoolActive},
		{"custom resource", fwk.ClusterEvent{Resource: "foos.v1.example.com", ActionType: fwk.All}, fwk.ClusterEvent{Resource: "foos.v1.example.com", ActionType: fwk.Add}, PoolActive},
		{"a label does not matter", nodeLabel, fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.UpdateNodeLabel, CustomLabel: "Relabelled"}, PoolActive},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, withPlugins(plugin("P", test.registered, nil)))
			f.parkReady(objects.Pod("pod").Build(), "P")
			f.Move(test.happened, nil, node, nil)
			f.wantPool("pod", test.want)
		})
	}
}

func TestMoveCallsNoHintOfAPluginThatDidNotReject(t *testing.T) {
	f := newFixture(t, withPlugins(plugin("P", nodeAdded, answering(fwk.QueueSkip, nil)), plugin("Q", nodeAdded, nil)))
	f.parkReady(objects.Pod("pod").Build(), "P")
	f.Move(nodeAdded, nil, node, nil)
	wantEqual(t, "hints asked", len(f.seen.hints), 1)
	wantEqual(t, "whose hint", f.seen.hints[0].Plugin, "P")
}

func TestMoveByProfile(t *testing.T) {
	profiles := withPlugins(plugin("P", nodeAdded, nil)).Profiles
	profiles["other"] = withPlugins(plugin("P", volumeAdded, nil)).Profiles["default-scheduler"]
	f := newFixture(t, Options{Profiles: profiles})
	f.parkReady(objects.Pod("pod").Build(), "P")
	f.parkReady(objects.Pod("other").SchedulerName("other").Build(), "P")
	f.parkReady(objects.Pod("stranger").SchedulerName("unknown").Build(), "P")
	f.Move(nodeLabel, nil, node, nil)
	f.wantPool("stranger", PoolUnschedulable)
	f.Move(nodeAdded, nil, node, nil)
	f.wantPool("pod", PoolActive)
	f.wantPool("other", PoolUnschedulable)
	f.wantPool("stranger", PoolActive) // no plugin says that it should wait
}

func TestMoveWithoutRegistrations(t *testing.T) {
	events := framework.EventMap{}
	events.Register("P", nodeAdded)
	f := newFixture(t, Options{Profiles: map[string]Profile{"default-scheduler": {Events: events}}})
	f.parkReady(objects.Pod("pod").Build(), "P")
	f.Move(nodeAdded, nil, node, nil)
	f.wantPool("pod", PoolActive)
}

func TestWildcards(t *testing.T) {
	pod := objects.Pod("pod").Build()
	successor := objects.Pod("pod").Build()
	successor.UID = "successor"
	for _, test := range []struct {
		name      string
		newObj    any
		rejectors []string
		ready     bool
		want      Pool
	}{
		{"for all", nil, []string{"P"}, true, PoolActive},
		{"for all, while it backs off", nil, []string{"P"}, false, PoolBackoff},
		{"for all, a pending plugin waits too", nil, []string{"*P"}, false, PoolBackoff},
		{"for the pod", pod, []string{"P"}, true, PoolActive},
		{"for another pod", objects.Pod("other").Build(), []string{"P"}, true, PoolUnschedulable},
		{"for another pod of the name", successor, []string{"P"}, true, PoolUnschedulable},
		{"for no pod at all", node, []string{"P"}, true, PoolUnschedulable},
		{"for a nil pod", (*v1.Pod)(nil), []string{"P"}, true, PoolUnschedulable},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, withPlugins(plugin("P", nodeAdded, answering(fwk.QueueSkip, nil))))
			if test.ready {
				f.parkReady(pod, test.rejectors...)
			} else {
				f.park(pod, test.rejectors...)
			}
			f.Move(framework.EventForceActivate(), nil, test.newObj, nil)
			f.wantPool("pod", test.want)
			wantEqual(t, "hints asked", len(f.seen.hints), 0)
		})
	}
}

func TestPreCheckLimitsAnEventToSomePods(t *testing.T) {
	checks := 0
	upToFive := func(pod *v1.Pod) bool {
		checks++
		return *pod.Spec.Priority <= 5
	}
	f := newFixture(t, withPlugins(plugin("P", nodeAdded, nil)))
	f.parkReady(objects.Pod("low").Priority(1).Build(), "P")
	f.parkReady(objects.Pod("high").Priority(9).Build(), "P")
	f.Move(nodeLabel, nil, node, upToFive)
	wantEqual(t, "checks because of an event that no plugin registered", checks, 0)
	f.Move(nodeAdded, nil, node, upToFive)
	f.wantPool("low", PoolActive)
	f.wantPool("high", PoolUnschedulable)
	f.Move(framework.EventForceActivate(), nil, nil, upToFive)
	f.wantPool("high", PoolUnschedulable)
}

func TestHintIsAskedOnceForAClass(t *testing.T) {
	asked := map[string]int{}
	round := func(_ klog.Logger, pod *v1.Pod, _, _ any) (fwk.QueueingHint, error) {
		asked[pod.Labels["shape"]]++
		if pod.Labels["shape"] == "round" {
			return fwk.Queue, nil
		}
		return fwk.QueueSkip, nil
	}
	f := newFixture(t, withClasses(plugin("P", nodeAdded, round)))
	for _, shape := range []string{"round", "square"} {
		for i := range 5 {
			f.parkReady(objects.Pod(fmt.Sprint(shape, i)).Label("shape", shape).Build(), "P")
		}
	}
	for i := range 3 {
		f.parkReady(objects.Pod(fmt.Sprint("alone", i)).Build(), "P")
	}
	f.Move(nodeAdded, nil, node, nil)
	wantEqual(t, "hints asked", asked, map[string]int{"round": 1, "square": 1, "": 3})
	wantEqual(t, "active pods", f.Stats().Active, 5)
	wantEqual(t, "cost", f.Stats().LastEvent, EventCost{Classes: 5, Pods: 5 + 1 + 3, Woken: 5})
}

func TestEventAboutTheWaitingPodIsAskedPodByPod(t *testing.T) {
	self := func(_ klog.Logger, pod *v1.Pod, _, newObj any) (fwk.QueueingHint, error) {
		if newObj.(*v1.Pod).UID == pod.UID {
			return fwk.Queue, nil
		}
		return fwk.QueueSkip, nil
	}
	f := newFixture(t, withClasses(plugin("P", targetLabel, self)))
	for _, name := range []string{"a", "b", "c"} {
		f.parkReady(objects.Pod(name).Label("shape", "round").Build(), "P")
	}
	f.Move(targetLabel, nil, objects.Pod("b").Build(), nil)
	f.wantPool("a", PoolUnschedulable)
	f.wantPool("b", PoolActive)
	f.wantPool("c", PoolUnschedulable)
}

func TestClassThatPanicsOrIsUnknownIsAClassOfItsOwn(t *testing.T) {
	options := withPlugins(plugin("P", nodeAdded, nil))
	profile := options.Profiles["default-scheduler"]
	profile.HintClass = func(_ string, pod *v1.Pod) (string, bool) {
		if pod.Name == "a" {
			panic("class")
		}
		return "", false
	}
	options.Profiles["default-scheduler"] = profile
	f := newFixture(t, options)
	for _, name := range []string{"a", "b", "c"} {
		f.parkReady(objects.Pod(name).Build(), "P")
	}
	f.Move(nodeAdded, nil, node, nil)
	wantEqual(t, "cost", f.Stats().LastEvent, EventCost{Classes: 3, Pods: 3, Woken: 3})
}

func TestNarrowing(t *testing.T) {
	only := func(names ...string) fwk.PreQueueingHintResult {
		var result fwk.PreQueueingHintResult
		for _, name := range names {
			result.Pods = append(result.Pods, types.NamespacedName{Namespace: "default", Name: name})
		}
		return result
	}
	for _, test := range []struct {
		name   string
		result fwk.PreQueueingHintResult
		err    error
		panics bool
		oldObj any
		newObj any
		want   []string // asked
	}{
		{name: "to one pod", result: only("b"), newObj: node, want: []string{"b"}},
		{name: "to a pod that was deleted", result: only("gone"), oldObj: node},
		{name: "to none", result: only(), newObj: node},
		{name: "to a pod twice", result: only("b", "b"), newObj: node, want: []string{"b"}},
		{name: "to all", result: fwk.PreQueueingHintResult{AllPods: true}, newObj: node, want: []string{"a", "b", "c"}},
		{name: "failed", result: only("b"), err: errors.New("broken"), newObj: node, want: []string{"a", "b", "c"}},
		{name: "panicked", panics: true, newObj: node, want: []string{"a", "b", "c"}},
		{name: "without objects", result: only("b"), want: []string{"a", "b", "c"}},
		{name: "to a pod that the plugin did not reject", result: only("other"), newObj: node},
	} {
		t.Run(test.name, func(t *testing.T) {
			var asked []string
			narrowed := plugin("P", nodeAdded, func(_ klog.Logger, pod *v1.Pod, _, _ any) (fwk.QueueingHint, error) {
				asked = append(asked, pod.Name)
				return fwk.Queue, nil
			})
			narrowed.registrations[0].PreQueueingHintFn = func(klog.Logger, any, any) (fwk.PreQueueingHintResult, error) {
				if test.panics {
					panic("narrow")
				}
				return test.result, test.err
			}
			f := newFixture(t, withPlugins(narrowed, plugin("Q", nodeAdded, nil)))
			for _, name := range []string{"a", "b", "c"} {
				f.parkReady(objects.Pod(name).Build(), "P")
			}
			f.parkReady(objects.Pod("other").Build(), "Q")
			f.Move(nodeAdded, test.oldObj, test.newObj, nil)
			wantEqual(t, "asked", asked, test.want)
			wantEqual(t, "active pods", f.Stats().Active, len(test.want)+1)
			f.wantPool("other", PoolActive) // what one plugin narrows is not narrowed for others
		})
	}
}

func TestNarrowingDoesNotReachBehindAGate(t *testing.T) {
	rejects := false
	narrowed := plugin("P", nodeAdded, nil)
	narrowed.registrations[0].PreQueueingHintFn = func(klog.Logger, any, any) (fwk.PreQueueingHintResult, error) {
		return fwk.PreQueueingHintResult{Pods: []types.NamespacedName{podKey("default", "pod")}}, nil
	}
	f := newFixture(t, withPlugins(narrowed, rejectingWhile("Gate", &rejects, volumeAdded)))
	f.parkReady(objects.Pod("pod").Build(), "P")
	rejects = true
	f.Move(nodeAdded, nil, node, nil)
	f.wantPool("pod", PoolGated)
	rejects = false
	f.Move(nodeAdded, nil, node, nil)
	f.wantPool("pod", PoolGated)
	f.Move(volumeAdded, nil, node, nil)
	f.wantPool("pod", PoolActive)
}

func TestHintIsNotAskedWhereItMakesNoDifference(t *testing.T) {
	for _, test := range []struct {
		name      string
		rejectors []string
		want      []string // whose hints are asked
	}{
		{"rejected twice", []string{"P", "Q"}, []string{"P"}},
		{"pending comes first", []string{"*P", "Q"}, []string{"P"}},
		{"pending comes last", []string{"P", "*Q"}, []string{"P", "Q"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFixture(t, withPlugins(plugin("P", nodeAdded, nil), plugin("Q", nodeAdded, nil)))
			f.parkReady(objects.Pod("pod").Build(), test.rejectors...)
			f.Move(nodeAdded, nil, node, nil)
			var asked []string
			for _, hint := range f.seen.hints {
				asked = append(asked, hint.Plugin)
			}
			wantEqual(t, "asked", asked, test.want)
			f.wantPool("pod", PoolActive)
		})
	}
}

func TestNarrowingIsNotAppliedToEventsInFlight(t *testing.T) {
	narrowed := plugin("P", nodeAdded, nil)
	narrowed.registrations[0].PreQueueingHintFn = func(klog.Logger, any, any) (fwk.PreQueueingHintResult, error) {
		return fwk.PreQueueingHintResult{}, nil
	}
	f := newFixture(t, withPlugins(narrowed))
	f.Add(objects.Pod("pod").Build())
	info := f.pop("pod")
	f.Move(nodeAdded, nil, node, nil)
	f.giveBack(info, "P")
	f.wantPool("pod", PoolBackoff)
}

// An event that concerns 10 of 100,000 pods must not look at the others.
func TestEventLooksOnlyAtThePodsThatItConcerns(t *testing.T) {
	const pods, concerned = 100_000, 10
	skip := answering(fwk.QueueSkip, nil)
	for _, test := range []struct {
		name    string
		prepare func(f *fixture, i int)
		want    EventCost
	}{
		{"by plugin", func(f *fixture, i int) {
			rejector := "Others"
			if i%(pods/concerned) == 0 {
				rejector = "Concerned"
			}
			f.park(objects.Pod(fmt.Sprint(i)).Build(), rejector)
		}, EventCost{Classes: concerned, Pods: concerned, Woken: concerned}},
		{"by class", func(f *fixture, i int) {
			shape := fmt.Sprint(i % 50)
			if i%(pods/concerned) == 0 {
				shape = "concerned"
			}
			f.park(objects.Pod(fmt.Sprint(i)).Label("shape", shape).Build(), "Shapes")
		}, EventCost{Classes: 51, Pods: 50 + concerned, Woken: concerned}},
	} {
		t.Run(test.name, func(t *testing.T) {
			shapes := func(_ klog.Logger, pod *v1.Pod, _, _ any) (fwk.QueueingHint, error) {
				if pod.Labels["shape"] == "concerned" {
					return fwk.Queue, nil
				}
				return fwk.QueueSkip, nil
			}
			f := newFixture(t, withClasses(plugin("Concerned", nodeAdded, nil), plugin("Others", volumeAdded, skip), plugin("Shapes", nodeAdded, shapes)))
			for i := range pods {
				test.prepare(f, i)
			}
			before := f.Stats().AllEvents
			f.Move(nodeAdded, nil, node, nil)
			wantEqual(t, "cost", f.Stats().LastEvent, test.want)
			wantEqual(t, "cost of all events", f.Stats().AllEvents.Pods-before.Pods, test.want.Pods)
			wantEqual(t, "pods that back off", f.Stats().Backoff, concerned)
		})
	}
}

func TestEventThatNoPluginRegisteredAllocatesNothing(t *testing.T) {
	f := newFixture(t, withPlugins(plugin("P", nodeAdded, nil)))
	f.park(objects.Pod("parked").Build(), "P")
	f.Add(objects.Pod("pod").Build())
	f.pop("pod")
	allocations := testing.AllocsPerRun(100, func() { f.Move(nodeLabel, node, node, nil) })
	wantEqual(t, "allocations", allocations, 0)
	wantEqual(t, "events kept in flight", f.Stats().InFlightEvents, 0)
	wantEqual(t, "events counted", f.Stats().Events, 0)
}
