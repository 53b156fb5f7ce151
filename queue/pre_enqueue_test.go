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
		for _, shut := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, no early pop %v, shut %v", test.name, test.noEarlyPop, shut), func(t *testing.T) {
				gateShut, want := false, test.open
				if shut {
					want = test.shut
				}
				gate := gatedWhile("Gate", &gateShut, volumeAdded)
				options := withPlugins(plugin("P", nodeAdded, nil), gate)
				options.DisablePopFromBackoff = test.noEarlyPop
				f := newFixture(t, options)
				f.park(objects.Pod("parked").Build(), "P")
				f.Add(objects.Pod("backing off").Build())
				f.giveBack(f.pop("backing off"))
				f.Add(objects.Pod("active").Build())

				gateShut, gate.gateCalls = shut, 0
				test.do(f)
				f.wantPool(test.pod, want)
				wantEqual(t, "whether the gate was asked", gate.gateCalls > 0, test.asked)
			})
		}
	}
}

func TestGatingPluginIsAskedFirstTheNextTime(t *testing.T) {
	shut := map[string]bool{"Second": true}
	var asked []string
	gate := func(name string) *testPlugin {
		gate := plugin(name, nodeAdded, nil)
		gate.gate = func(*v1.Pod) *fwk.Status {
			asked = append(asked, name)
			if shut[name] {
				return shutGate()
			}
			return nil
		}
		return gate
	}
	f := newFixture(t, withPlugins(gate("First"), gate("Second"), gate("Third")))
	for _, test := range []struct {
		do    func()
		asked []string
		gate  string
		want  Pool
	}{
		{func() { f.Add(objects.Pod("pod").Build()) }, []string{"First", "Second"}, "Second", PoolGated},
		{func() { f.Move(nodeAdded, nil, node, nil) }, []string{"Second"}, "Second", PoolGated},
		{func() { shut["Second"], shut["Third"] = false, true; f.Move(nodeAdded, nil, node, nil) }, []string{"Second", "First", "Third"}, "Third", PoolGated},
		{func() { shut["Third"] = false; f.Move(nodeAdded, nil, node, nil) }, []string{"Third", "First", "Second"}, "", PoolActive},
	} {
		asked = nil
		test.do()
		wantEqual(t, "asked", asked, test.asked)
		f.wantPool("pod", test.want)
		status, _ := f.Lookup("default", "pod")
		wantEqual(t, "gating plugin", status.GatingPlugin, test.gate)
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
			f := newFixture(t, withPlugins(&testPlugin{name: "Gate", gate: fail}))
			f.Add(objects.Pod("pod").Build())
			f.wantPool("pod", PoolGated)
		})
	}
}

func TestGatedPodIsOnlyLookedAtForEventsOfItsGate(t *testing.T) {
	shut, hints := true, 0
	counting := func(klog.Logger, *v1.Pod, any, any) (fwk.QueueingHint, error) {
		hints++
		return fwk.Queue, nil
	}
	gate := gatedWhile("Gate", &shut, volumeAdded)
	f := newFixture(t, withPlugins(plugin("P", nodeAdded, counting), gate))
	shut = false
	f.parkReady(objects.Pod("pod").Build(), "P")
	shut = true
	f.Move(nodeAdded, nil, node, nil) // wakes the pod into its gate
	f.wantPool("pod", PoolGated)

	hints, gate.gateCalls = 0, 0
	f.Move(nodeAdded, nil, node, nil)
	wantEqual(t, "hints and gates asked because of an event of another plugin", hints+gate.gateCalls, 0)
	wantEqual(t, "classes looked at", f.Stats().LastEvent.Classes, 0)
	f.Move(volumeAdded, nil, node, nil)
	wantEqual(t, "gates asked because of an event of the gate", gate.gateCalls, 1)
	f.Move(fwk.ClusterEvent{Resource: fwk.WildCard, ActionType: fwk.All}, nil, nil, nil)
	wantEqual(t, "gates asked because of a wildcard, too", gate.gateCalls, 2)
	f.wantPool("pod", PoolGated)
}

func TestGatedPodIsLookedAtWhenItIsUpdated(t *testing.T) {
	shut := true
	gate := gatedWhile("Gate", &shut, fwk.ClusterEvent{Resource: fwk.TargetPod, ActionType: fwk.UpdatePodSchedulingGatesEliminated})
	f := newFixture(t, withPlugins(gate))
	gatedPod := objects.Pod("pod").Build()
	gatedPod.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "a"}, {Name: "b"}}
	f.Add(gatedPod)
	labelled := objects.PodFrom(gatedPod).Label("a", "b").Build()
	gate.gateCalls, shut = 0, false
	f.Update(gatedPod, labelled)
	wantEqual(t, "gates asked because of a label", gate.gateCalls, 0)
	f.wantPool("pod", PoolGated)
	ungated := labelled.DeepCopy()
	ungated.Spec.SchedulingGates = nil
	f.Update(labelled, ungated)
	f.wantPool("pod", PoolActive)
}

// The events of a plugin that gates in one profile and waits in another are those of both.
func TestGateOfSeveralProfiles(t *testing.T) {
	shut := true
	gate := gatedWhile("Gate", &shut, nodeAdded)
	profiles := withPlugins(gate).Profiles
	other := withPlugins(plugin("Gate", volumeAdded, nil)).Profiles["default-scheduler"]
	other.PreEnqueue = profiles["default-scheduler"].PreEnqueue
	profiles["other"] = other
	f := newFixture(t, Options{Profiles: profiles})
	f.Add(objects.Pod("pod").SchedulerName("other").Build())
	wantEqual(t, "gating events", f.pods[podKey("default", "pod")].GatingPluginEvents, []fwk.ClusterEvent{nodeAdded, volumeAdded})
	gate.gateCalls = 0
	f.Move(nodeAdded, nil, node, nil) // passes the gate, but no plugin of the profile waits for it
	wantEqual(t, "gates asked", gate.gateCalls, 0)
	f.Move(volumeAdded, nil, node, nil)
	wantEqual(t, "gates asked", gate.gateCalls, 1)
}
