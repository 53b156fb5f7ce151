// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package framework_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/internal/fuzzlimit"
)

// matchResources stand for every way in which two resources can be related.
func matchResources() []fwk.EventResource {
	return []fwk.EventResource{fwk.WildCard, fwk.Pod, fwk.AssignedPod, fwk.UnscheduledPod, fwk.TargetPod, fwk.Node, "foos.v1.example.com"}
}

// happening are the actions that events carry when they happen.
func happening() []fwk.ActionType {
	actions := []fwk.ActionType{fwk.Update}
	for bit := fwk.Add; bit < fwk.All; bit <<= 1 {
		actions = append(actions, bit)
	}
	return actions
}

// numericRule is the rule of kube-scheduler, which compares masks as numbers.
func numericRule(registered, happened fwk.ClusterEvent) bool {
	if registered.Resource == fwk.WildCard && registered.ActionType == fwk.All {
		return true
	}
	podInGeneral := registered.Resource == fwk.Pod &&
		(happened.Resource == fwk.AssignedPod || happened.Resource == fwk.UnscheduledPod || happened.Resource == fwk.TargetPod)
	return (registered.Resource == fwk.WildCard || registered.Resource == happened.Resource || podInGeneral) &&
		registered.ActionType&happened.ActionType != 0 && happened.ActionType <= registered.ActionType
}

// TestMatchesNumericRule tries every registration with every event that can happen.
func TestMatchesNumericRule(t *testing.T) {
	var happenings []fwk.ClusterEvent
	for _, resource := range matchResources() {
		for _, action := range happening() {
			happenings = append(happenings, fwk.ClusterEvent{Resource: resource, ActionType: action})
		}
	}
	happenings = append(happenings, framework.EventUnschedulableTimeout(), framework.EventForceActivate())
	for _, resource := range matchResources() {
		for mask := fwk.None; mask <= fwk.All; mask++ {
			registered := fwk.ClusterEvent{Resource: resource, ActionType: mask}
			for _, happened := range happenings {
				if got, want := framework.Matches(registered, happened), numericRule(registered, happened); got != want {
					t.Fatalf("Matches(%s %b, %s %b) = %t, want %t",
						registered.Resource, registered.ActionType, happened.Resource, happened.ActionType, got, want)
				}
			}
		}
	}
}

// change is one resource that changed in one way.
type change struct {
	resource fwk.EventResource
	action   fwk.ActionType
}

// changesOf writes an event out as the set of single changes that it stands for. A registered event stands for
// the resources that its resource covers, one that happened for its own only.
func changesOf(event fwk.ClusterEvent, registered bool) sets.Set[change] {
	covered := []fwk.EventResource{event.Resource}
	if registered && event.Resource == fwk.WildCard {
		covered = matchResources()
	}
	if registered && event.Resource == fwk.Pod {
		covered = append(covered, fwk.AssignedPod, fwk.UnscheduledPod, fwk.TargetPod)
	}
	changes := sets.New[change]()
	for _, resource := range covered {
		for bit := fwk.Add; bit < fwk.All; bit <<= 1 {
			if event.ActionType&bit != 0 {
				changes.Insert(change{resource, bit})
			}
		}
	}
	return changes
}

// FuzzMatches compares Matches with the set model: a registration covers an event if it holds every change of the event.
// It compares an EventMap with it too, whose keys are unrolled.
func FuzzMatches(f *testing.F) {
	for resource := range matchResources() {
		f.Add(uint8(resource), uint16(fwk.All), uint8(5), uint16(fwk.UpdateNodeLabel))
		f.Add(uint8(resource), uint16(fwk.UpdatePodLabel|fwk.Delete), uint8(2), uint16(fwk.Update))
		f.Add(uint8(5), uint16(fwk.Add|fwk.Update), uint8(resource), uint16(fwk.Update))
		f.Add(uint8(1), uint16(fwk.Add), uint8(resource), uint16(fwk.Add|fwk.Delete))
	}
	f.Add(uint8(0), uint16(fwk.All), uint8(0), uint16(fwk.All))
	f.Add(uint8(0), uint16(fwk.None), uint8(5), uint16(fwk.Add))
	resources := matchResources()
	f.Fuzz(func(t *testing.T, registeredResource uint8, registeredActions uint16, happenedResource uint8, happenedActions uint16) {
		defer fuzzlimit.Limits{}.Start()()
		registered := fwk.ClusterEvent{
			Resource:   resources[int(registeredResource)%len(resources)],
			ActionType: fwk.ActionType(registeredActions) & fwk.All,
		}
		happened := fwk.ClusterEvent{
			Resource:    resources[int(happenedResource)%len(resources)],
			ActionType:  fwk.ActionType(happenedActions) & fwk.All,
			CustomLabel: "a label means nothing",
		}
		want := changesOf(registered, true).IsSuperset(changesOf(happened, false))
		if happened.ActionType == fwk.None {
			want = framework.IsWildcard(registered) // nothing happened
		}
		if got := framework.Matches(registered, happened); got != want {
			t.Errorf("Matches(%v, %v) = %t, want %t", registered, happened, got, want)
		}
		if happened.Resource == fwk.Pod {
			return // pods in general are registered, but never change
		}
		m := framework.EventMap{}
		m.Register("Plugin", registered)
		if got := m.Plugins(happened).Has("Plugin"); got != want {
			t.Errorf("Plugins(%v) has the plugin: %t with %v registered, want %t", happened, got, registered, want)
		}
	})
}

func TestIsWildcard(t *testing.T) {
	tests := map[fwk.ClusterEvent]bool{
		framework.EventUnschedulableTimeout():                  true,
		framework.EventForceActivate():                         true,
		{Resource: fwk.WildCard, ActionType: fwk.All}:          true,
		{Resource: fwk.WildCard, ActionType: fwk.Add}:          false,
		{Resource: fwk.WildCard, ActionType: fwk.Update}:       false,
		{Resource: fwk.Node, ActionType: fwk.All}:              false,
		{Resource: fwk.Pod, ActionType: fwk.All}:               false,
		{Resource: "foos.v1.example.com", ActionType: fwk.All}: false,
	}
	for event, want := range tests {
		if got := framework.IsWildcard(event); got != want {
			t.Errorf("IsWildcard(%v) = %t, want %t", event, got, want)
		}
	}
	if got := labels([]fwk.ClusterEvent{framework.EventUnschedulableTimeout(), framework.EventForceActivate()}); got[0] != "UnschedulableTimeout" || got[1] != "ForceActivate" {
		t.Errorf("labels of the wildcard events = %v", got)
	}
}
