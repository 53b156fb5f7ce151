// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

func TestGatesAreAskedWherePodsBecomePoppable(t *testing.T) {
	add := func(f *fixture) { f.Add(objects.Pod("new").Build()) }
	happen := func(f *fixture) { f.Move(nodeAdded, nil, node, nil) }
	happenLater := func(f *fixture) { f.step(time.Minute); happen(f) }
	waitLong := func(f *fixture) { f.step(time.Hour); f.FlushUnschedulable() }
	backOff := func(f *fixture) { f.step(time.Hour); f.FlushBackoff() }
	activate := func(name string) func(*fixture) {
		return func(f *fixture) { f.Activate(klog.Logger{}, map[string]*v1.Pod{name: objects.Pod(name).Build()}) }
	}
	fail := func(f *fixture) { f.giveBack(f.pop("active")) }
	reject := func(f *fixture) { f.giveBack(f.pop("active"), "P") }
	tests := []struct {
		name       string
		noEarlyPop bool
		pod        string
		do         func(f *fixture)
		asked      bool
		open, shut Pool // where the pod goes
	}{
		{"new", false, "new", add, true, PoolActive, PoolGated},
		{"new", true, "new", add, true, PoolActive, PoolGated},
		{"event while it backs off", false, "parked", happen, true, PoolBackoff, PoolGated},
		{"event while it backs off", true, "parked", happen, false, PoolBackoff, PoolBackoff},
		{"event", false, "parked", happenLater, true, PoolActive, PoolGated},
		{"event", true, "parked", happenLater, true, PoolActive, PoolGated},
		{"unschedulable timeout", false, "parked", waitLong, true, PoolActive, PoolGated},
		{"unschedulable timeout", true, "parked", waitLong, true, PoolActive, PoolGated},
		{"activated", false, "parked", activate("parked"), true, PoolActive, PoolGated},
		{"activated", true, "parked", activate("parked"), true, PoolActive, PoolGated},
		{"backoff over", false, "backing off", backOff, false, PoolActive, PoolActive},
		{"backoff over", true, "backing off", backOff, true, PoolActive, PoolGated},
		{"activated from backoff", false, "backing off", activate("backing off"), false, PoolActive, PoolActive},
		{"activated from backoff", true, "backing off", activate("backing off"), true, PoolActive, PoolGated},
		{"attempt failed", false, "active", fail, true, PoolBackoff, PoolGated},
		{"attempt failed", true, "active", fail, false, PoolBackoff, PoolBackoff},
		{"attempt rejected", false, "active", reject, false, PoolUnschedulable, PoolUnschedulable},
		{"attempt rejected", true, "active", reject, false, PoolUnschedulable, PoolUnschedulable},
	}
	for _, test := range tests {
		for _, rejects := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, no early pop %v, shut %v", test.name, test.noEarlyPop, rejects), func(t *testing.T) {
				shut, want := false, test.open
				if rejects {
					want = test.shut
				}
				gating := rejectingWhile("Gate", &shut, volumeAdded)
				options := withPlugins(plugin("P", nodeAdded, nil), gating)
				options.DisablePopFromBackoff = test.noEarlyPop
				f := newFixture(t, options)
				f.park(objects.Pod("parked").Build(), "P")
				f.Add(objects.Pod("backing off").Build())
				f.giveBack(f.pop("backing off"))
				f.Add(objects.Pod("active").Build())

				shut, gating.preEnqueueCalls = rejects, 0
				test.do(f)
				f.wantPool(test.pod, want)
				wantEqual(t, "whether PreEnqueue was called", gating.preEnqueueCalls > 0, test.asked)
			})
		}
	}
}

func TestGatingPluginIsAskedFirstTheNextTime(t *testing.T) {
	rejects := map[string]bool{"Second": true}
	var asked []string
	gating := func(name string) *testPlugin {
		gating := plugin(name, nodeAdded, nil)
		gating.preEnqueue = func(*v1.Pod) *fwk.Status {
			asked = append(asked, name)
			if rejects[name] {
				return rejection()
			}
			return nil
		}
		return gating
	}
	f := newFixture(t, withPlugins(gating("First"), gating("Second"), gating("Third")))
	for _, test := range []struct {
		do     func()
		asked  []string
		gating string
		want   Pool
	}{
		{func() { f.Add(objects.Pod("pod").Build()) }, []string{"First", "Second"}, "Second", PoolGated},
		{func() { f.Move(nodeAdded, nil, node, nil) }, []string{"Second"}, "Second", PoolGated},
		{func() { rejects["Second"], rejects["Third"] = false, true; f.Move(nodeAdded, nil, node, nil) }, []string{"Second", "First", "Third"}, "Third", PoolGated},
		{func() { rejects["Third"] = false; f.Move(nodeAdded, nil, node, nil) }, []string{"Third", "First", "Second"}, "", PoolActive},
	} {
		asked = nil
		test.do()
		wantEqual(t, "asked", asked, test.asked)
		f.wantPool("pod", test.want)
		status, _ := f.Lookup("default", "pod")
		wantEqual(t, "gating plugin", status.GatingPlugin, test.gating)
	}
	info := f.pop("pod")
	wantEqual(t, "rejectors", len(info.UnschedulablePlugins), 2)
	wantEqual(t, "gating events", len(info.GatingPluginEvents), 0)
}

func TestGateThatFailsIsShut(t *testing.T) {
	for name, fail := range map[string]func(*v1.Pod) *fwk.Status{
		"error":   func(*v1.Pod) *fwk.Status { return fwk.NewStatus(fwk.Error, "broken") },
		"panic":   func(*v1.Pod) *fwk.Status { panic("broken") },
		"pending": func(*v1.Pod) *fwk.Status { return fwk.NewStatus(fwk.Pending, "not yet") },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, withPlugins(&testPlugin{name: "Gate", preEnqueue: fail}))
			f.Add(objects.Pod("pod").Build())
			f.wantPool("pod", PoolGated)
		})
	}
}

func TestGatedPodIsOnlyLookedAtForEventsOfItsGate(t *testing.T) {
	rejects, hints := true, 0
	counting := func(klog.Logger, *v1.Pod, any, any) (fwk.QueueingHint, error) {
		hints++
		return fwk.Queue, nil
	}
	gating := rejectingWhile("Gate", &rejects, volumeAdded)
	f := newFixture(t, withPlugins(plugin("P", nodeAdded, counting), gating))
	rejects = false
	f.parkReady(objects.Pod("pod").Build(), "P")
	rejects = true
	f.Move(nodeAdded, nil, node, nil) // wakes the pod, which its plugin rejects again
	f.wantPool("pod", PoolGated)

	hints, gating.preEnqueueCalls = 0, 0
	f.Move(nodeAdded, nil, node, nil)
	wantEqual(t, "hints and PreEnqueue calls because of an event of another plugin", hints+gating.preEnqueueCalls, 0)
	wantEqual(t, "classes looked at", f.Stats().LastEvent.Classes, 0)
	f.Move(volumeAdded, nil, node, nil)
	wantEqual(t, "PreEnqueue calls because of an event of the gating plugin", gating.preEnqueueCalls, 1)
	f.Move(fwk.ClusterEvent{Resource: fwk.WildCard, ActionType: fwk.All}, nil, nil, nil)
	wantEqual(t, "PreEnqueue calls because of a wildcard, too", gating.preEnqueueCalls, 2)
	f.wantPool("pod", PoolGated)
}

func TestGatedPodIsLookedAtWhenItIsUpdated(t *testing.T) {
	rejects := true
	gating := rejectingWhile("Gate", &rejects, fwk.ClusterEvent{Resource: fwk.TargetPod, ActionType: fwk.UpdatePodSchedulingGatesEliminated})
	f := newFixture(t, withPlugins(gating))
	gatedPod := objects.Pod("pod").Build()
	gatedPod.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "a"}, {Name: "b"}}
	f.Add(gatedPod)
	labelled := objects.PodFrom(gatedPod).Label("a", "b").Build()
	gating.preEnqueueCalls, rejects = 0, false
	f.Update(gatedPod, labelled)
	wantEqual(t, "PreEnqueue calls because of a label", gating.preEnqueueCalls, 0)
	f.wantPool("pod", PoolGated)
	ungated := labelled.DeepCopy()
	ungated.Spec.SchedulingGates = nil
	f.Update(labelled, ungated)
	f.wantPool("pod", PoolActive)
}

// The events of a plugin that gates in one profile and waits in another are those of both.
func TestGateOfSeveralProfiles(t *testing.T) {
	rejects := true
	gating := rejectingWhile("Gate", &rejects, nodeAdded)
	profiles := withPlugins(gating).Profiles
	other := withPlugins(plugin("Gate", volumeAdded, nil)).Profiles["default-scheduler"]
	other.PreEnqueue = profiles["default-scheduler"].PreEnqueue
	profiles["other"] = other
	f := newFixture(t, Options{Profiles: profiles})
	f.Add(objects.Pod("pod").SchedulerName("other").Build())
	wantEqual(t, "gating events", f.pods[podKey("default", "pod")].GatingPluginEvents, []fwk.ClusterEvent{nodeAdded, volumeAdded})
	gating.preEnqueueCalls = 0
	f.Move(nodeAdded, nil, node, nil) // PreEnqueue lets it pass, but no plugin of the profile waits for it
	wantEqual(t, "PreEnqueue calls", gating.preEnqueueCalls, 0)
	f.Move(volumeAdded, nil, node, nil)
	wantEqual(t, "PreEnqueue calls", gating.preEnqueueCalls, 1)
}
