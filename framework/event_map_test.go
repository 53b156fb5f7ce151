// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
)

func event(resource fwk.EventResource, actions fwk.ActionType) fwk.ClusterEvent {
	return fwk.ClusterEvent{Resource: resource, ActionType: actions}
}

func TestEventMapRegister(t *testing.T) {
	m := framework.EventMap{}
	m.Register("A")
	if len(m) != 0 {
		t.Errorf("a plugin without events gave %v", m)
	}
	m.Register("A", event(fwk.Node, fwk.Add|fwk.UpdateNodeLabel), event(fwk.Pod, fwk.Delete))
	m.Register("B", event(fwk.Node, fwk.Add|fwk.UpdateNodeLabel), event(fwk.Node, fwk.Add), event(fwk.AssignedPod, fwk.Delete))
	m.Register("A", fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add, CustomLabel: "mine"})
	want := framework.EventMap{
		event(fwk.Node, fwk.Add|fwk.UpdateNodeLabel): sets.New("A", "B"),
		event(fwk.Node, fwk.Add):                     sets.New("A", "B"),
		event(fwk.AssignedPod, fwk.Delete):           sets.New("A", "B"),
		event(fwk.UnscheduledPod, fwk.Delete):        sets.New("A"),
		event(fwk.TargetPod, fwk.Delete):             sets.New("A"),
	}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("map (-want +got):\n%s", diff)
	}
}

func TestUnroll(t *testing.T) {
	tests := []struct {
		event fwk.ClusterEvent
		want  []fwk.ClusterEvent
	}{
		{event(fwk.Node, fwk.Add), []fwk.ClusterEvent{event(fwk.Node, fwk.Add)}},
		{fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add, CustomLabel: "x"}, []fwk.ClusterEvent{event(fwk.Node, fwk.Add)}},
		{event(fwk.TargetPod, fwk.Update), []fwk.ClusterEvent{event(fwk.TargetPod, fwk.Update)}},
		{event(fwk.WildCard, fwk.All), []fwk.ClusterEvent{event(fwk.WildCard, fwk.All)}},
		{event(fwk.Pod, fwk.Add|fwk.Delete), []fwk.ClusterEvent{
			event(fwk.AssignedPod, fwk.Add|fwk.Delete), event(fwk.UnscheduledPod, fwk.Add|fwk.Delete), event(fwk.TargetPod, fwk.Add|fwk.Delete)}},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, framework.UnrollPodEvent(test.event)); diff != "" {
			t.Errorf("UnrollPodEvent(%v) (-want +got):\n%s", test.event, diff)
		}
	}
}

func TestEventMapMerge(t *testing.T) {
	a, b := framework.EventMap{}, framework.EventMap{}
	a.Register("A", event(fwk.Node, fwk.Add), event(fwk.Node, fwk.Delete))
	b.Register("B", event(fwk.Node, fwk.Add), event(fwk.PersistentVolume, fwk.Update))
	b[event(fwk.Pod, fwk.Add)] = sets.New("C") // written by hand, not by Register
	a.Merge(b)
	want := framework.EventMap{
		event(fwk.Node, fwk.Add):                sets.New("A", "B"),
		event(fwk.Node, fwk.Delete):             sets.New("A"),
		event(fwk.PersistentVolume, fwk.Update): sets.New("B"),
		event(fwk.AssignedPod, fwk.Add):         sets.New("C"),
		event(fwk.UnscheduledPod, fwk.Add):      sets.New("C"),
		event(fwk.TargetPod, fwk.Add):           sets.New("C"),
	}
	if diff := cmp.Diff(want, a); diff != "" {
		t.Errorf("merged (-want +got):\n%s", diff)
	}
	a.Register("D", event(fwk.PersistentVolume, fwk.Update))
	if diff := cmp.Diff(sets.New("B"), b[event(fwk.PersistentVolume, fwk.Update)]); diff != "" {
		t.Errorf("registering in the merged map changed the other (-want +got):\n%s", diff)
	}
}

func TestEventMapQuestions(t *testing.T) {
	m := framework.EventMap{}
	m.Register("Affinity", event(fwk.Node, fwk.Add|fwk.UpdateNodeLabel), event(fwk.TargetPod, fwk.UpdatePodLabel))
	m.Register("Fit", event(fwk.Node, fwk.Add|fwk.UpdateNodeAllocatable), event(fwk.AssignedPod, fwk.Delete))
	m.Register("Curious", event(fwk.WildCard, fwk.Delete))
	m.Register("General", event(fwk.Pod, fwk.Update), event(fwk.PersistentVolume, fwk.Add|fwk.Update))
	m[event(fwk.DeviceClass, fwk.Add)] = sets.New[string]() // a key without plugins
	tests := []struct {
		happened fwk.ClusterEvent
		want     []string
	}{
		{event(fwk.Node, fwk.Add), []string{"Affinity", "Fit"}},
		{event(fwk.Node, fwk.UpdateNodeLabel), []string{"Affinity"}},
		{event(fwk.Node, fwk.UpdateNodeTaint), []string{}},
		{event(fwk.Node, fwk.Delete), []string{"Curious"}},
		{event(fwk.AssignedPod, fwk.Delete), []string{"Curious", "Fit"}},
		{event(fwk.TargetPod, fwk.UpdatePodLabel), []string{"Affinity", "General"}},
		{event(fwk.TargetPod, fwk.Update), []string{"General"}},
		{event(fwk.PersistentVolume, fwk.Update), []string{"General"}},
		{event(fwk.DeviceClass, fwk.Add), []string{}},
		{event("foos.v1.example.com", fwk.Delete), []string{"Curious"}},
		{framework.EventForceActivate(), []string{}},
	}
	for _, test := range tests {
		plugins := m.Plugins(test.happened)
		if diff := cmp.Diff(test.want, sets.List(plugins)); diff != "" {
			t.Errorf("Plugins(%s) (-want +got):\n%s", test.happened.Label(), diff)
		}
		plugins.Insert("Intruder")
		if m.Plugins(test.happened).Has("Intruder") {
			t.Errorf("Plugins(%s) is not a new set", test.happened.Label())
		}
	}
}

func TestEventMapActions(t *testing.T) {
	m := framework.EventMap{}
	m.Register("A", event(fwk.Node, fwk.Add), event(fwk.Pod, fwk.Update))
	m.Register("B", event(fwk.Node, fwk.UpdateNodeLabel|fwk.UpdateNodeTaint))
	tests := []struct {
		resource fwk.EventResource
		want     fwk.ActionType
	}{
		{fwk.Node, fwk.Add | fwk.UpdateNodeLabel | fwk.UpdateNodeTaint},
		{fwk.UnscheduledPod, fwk.Update},
		{fwk.PersistentVolume, fwk.None},
	}
	for _, test := range tests {
		if got := m.Actions(test.resource); got != test.want {
			t.Errorf("Actions(%s) = %b, want %b", test.resource, got, test.want)
		}
	}
	m.Register("Curious", event(fwk.WildCard, fwk.Delete))
	m.Register("Gang", event(fwk.PodGroup, fwk.Add))
	tests = []struct {
		resource fwk.EventResource
		want     fwk.ActionType
	}{
		{fwk.Node, fwk.Add | fwk.Delete | fwk.UpdateNodeLabel | fwk.UpdateNodeTaint},
		{fwk.PersistentVolume, fwk.Delete},
		{fwk.PodGroup, fwk.Add},             // the API server may not know it: only a registration by name counts
		{fwk.CompositePodGroup, fwk.None},   // likewise
		{"foos.v1.example.com", fwk.Delete}, // known from another registration
	}
	for _, test := range tests {
		if got := m.Actions(test.resource); got != test.want {
			t.Errorf("with a registration for all resources: Actions(%s) = %b, want %b", test.resource, got, test.want)
		}
	}
}

func TestEventMapEvents(t *testing.T) {
	m := framework.EventMap{}
	m.Register("A", event(fwk.PersistentVolume, fwk.Add), event(fwk.Node, fwk.UpdateNodeLabel), event(fwk.Node, fwk.Add),
		event(fwk.WildCard, fwk.All), event(fwk.Node, fwk.Add|fwk.Delete), event(fwk.Pod, fwk.Add), event("foos.v1.example.com", fwk.Add))
	want := []fwk.ClusterEvent{
		event(fwk.WildCard, fwk.All), event(fwk.AssignedPod, fwk.Add), event(fwk.Node, fwk.Add), event(fwk.Node, fwk.Add|fwk.Delete),
		event(fwk.Node, fwk.UpdateNodeLabel), event(fwk.PersistentVolume, fwk.Add), event(fwk.TargetPod, fwk.Add),
		event(fwk.UnscheduledPod, fwk.Add), event("foos.v1.example.com", fwk.Add),
	}
	for range 10 { // maps are walked in another order each time
		if diff := cmp.Diff(want, m.Events()); diff != "" {
			t.Fatalf("Events (-want +got):\n%s", diff)
		}
	}
}
