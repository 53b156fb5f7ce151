// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/app"
)

// documentedEvents is the documented form of rouse events -o json.
type documentedEvents struct {
	Profiles []struct {
		SchedulerName string `json:"schedulerName"`
		Registered    []struct {
			Resource string             `json:"resource"`
			Actions  []string           `json:"actions"`
			Plugins  []documentedPlugin `json:"plugins"`
		} `json:"registered"`
		Atomic []struct {
			Event    string             `json:"event"`
			Resource string             `json:"resource"`
			Action   string             `json:"action"`
			Plugins  []documentedPlugin `json:"plugins"`
		} `json:"atomic"`
	} `json:"profiles"`
}

type documentedPlugin struct {
	Name string `json:"name"`
	Hint bool   `json:"hint"`
}

// builtPlugins are the plugins whose events the tests below know.
func builtPlugins() []string {
	return []string{"SchedulingGates", "NodeName", "NodePorts", "NodeUnschedulable", "NodeAffinity", "TaintToleration", "NodeResourcesFit"}
}

func TestEventsOfTheDefaultProfile(t *testing.T) {
	const hint, always = true, false
	want := map[string]map[string]bool{
		"AssignedPodUpdatePodScaleDown":               {"NodeResourcesFit": hint},
		"AssignedPodDelete":                           {"NodePorts": hint, "NodeResourcesFit": hint},
		"TargetPodUpdatePodScaleDown":                 {"NodeResourcesFit": hint},
		"TargetPodUpdatePodSchedulingGatesEliminated": {"SchedulingGates": hint},
		"TargetPodUpdatePodToleration":                {"NodeUnschedulable": hint, "TaintToleration": hint},
		"NodeAdd": {
			"NodeAffinity": hint, "NodeResourcesFit": hint, "NodeUnschedulable": hint, "TaintToleration": hint,
			"NodeName": always, "NodePorts": always,
		},
		"NodeUpdateNodeAllocatable":         {"NodeResourcesFit": hint},
		"NodeUpdateNodeLabel":               {"NodeAffinity": hint},
		"NodeUpdateNodeTaint":               {"NodeUnschedulable": hint, "TaintToleration": hint},
		"resource.k8s.io/DeviceClassAdd":    {"NodeResourcesFit": hint},
		"resource.k8s.io/DeviceClassUpdate": {"NodeResourcesFit": hint},
	}
	events := decode[documentedEvents](t, succeed(t, []string{"events", "-o", "json"}))
	if len(events.Profiles) != 1 || events.Profiles[0].SchedulerName != "default-scheduler" {
		t.Fatalf("profiles: %+v", events.Profiles)
	}
	got := map[string]map[string]bool{}
	for _, row := range events.Profiles[0].Atomic {
		if row.Event != row.Resource+row.Action {
			t.Errorf("event %s is called %s", row.Resource+row.Action, row.Event)
		}
		for _, plugin := range row.Plugins {
			if !slices.Contains(builtPlugins(), plugin.Name) {
				continue
			}
			if got[row.Event] == nil {
				got[row.Event] = map[string]bool{}
			}
			got[row.Event][plugin.Name] = plugin.Hint
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestRegistrationsOfTheDefaultProfile(t *testing.T) {
	want := []string{
		"NodeAffinity: Node Add|UpdateNodeLabel",
		"NodeName: Node Add",
		"NodePorts: AssignedPod Delete",
		"NodePorts: Node Add",
		"NodeResourcesFit: AssignedPod Delete",
		"NodeResourcesFit: AssignedPod UpdatePodScaleDown",
		"NodeResourcesFit: Node Add|UpdateNodeAllocatable",
		"NodeResourcesFit: TargetPod UpdatePodScaleDown",
		"NodeResourcesFit: resource.k8s.io/DeviceClass Add|Update",
		"NodeUnschedulable: Node Add|UpdateNodeTaint",
		"NodeUnschedulable: TargetPod UpdatePodToleration",
		"SchedulingGates: TargetPod UpdatePodSchedulingGatesEliminated",
		"TaintToleration: Node Add|UpdateNodeTaint",
		"TaintToleration: TargetPod UpdatePodToleration",
	}
	var got []string
	for _, row := range decode[documentedEvents](t, succeed(t, []string{"events", "-o", "json"})).Profiles[0].Registered {
		for _, plugin := range row.Plugins {
			if slices.Contains(builtPlugins(), plugin.Name) {
				got = append(got, plugin.Name+": "+row.Resource+" "+strings.Join(row.Actions, "|"))
			}
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("registrations (-want +got):\n%s", diff)
	}
}

func TestEventsOfAnOutOfTreePlugin(t *testing.T) {
	config := write(t, t.TempDir(), "scheduler.yaml", podStateConfiguration)
	args := []string{"events", "--config", config, "--plugin", "PodState"}
	want := `Profile inspected

  EVENT                        PLUGIN    WAKES ITS PODS
  NodeAdd                      PodState  if its hint returns Queue
  NodeUpdateNodeLabel          PodState  if its hint returns Queue
  states.v1.example.comUpdate  PodState  always
`
	if diff := cmp.Diff(want, succeed(t, args, withPodState())); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	byEvent := []string{"events", "--config", config, "--event", "states.v1.example.com", "-o", "json"}
	events := decode[documentedEvents](t, succeed(t, byEvent, withPodState()))
	if rows := events.Profiles[0].Atomic; len(rows) != 1 || rows[0].Plugins[0].Name != "PodState" {
		t.Errorf("events of the custom resource: %+v", rows)
	}
}

func TestEventsOfOneProfile(t *testing.T) {
	config := write(t, t.TempDir(), "scheduler.yaml", header+"profiles: [{schedulerName: one}, {schedulerName: two}]")
	all := decode[documentedEvents](t, succeed(t, []string{"events", "--config", config, "-o", "json"}))
	if len(all.Profiles) != 2 || all.Profiles[0].SchedulerName != "one" || all.Profiles[1].SchedulerName != "two" {
		t.Errorf("profiles are not those of the file, in its order: %+v", all.Profiles)
	}
	two := decode[documentedEvents](t, succeed(t, []string{"events", "--config", config, "--profile", "two", "-o", "json"}))
	if len(two.Profiles) != 1 || two.Profiles[0].SchedulerName != "two" {
		t.Errorf("profiles other than the chosen one: %+v", two.Profiles)
	}
}

// TestEventsOfExtenders checks that pods which an extender rejects wait for everything.
func TestEventsOfExtenders(t *testing.T) {
	config := write(t, t.TempDir(), "scheduler.yaml", header+"extenders: [{urlPrefix: 'http://extender.example', filterVerb: filter}]")
	text := succeed(t, []string{"events", "--config", config, "--event", "NodeUpdateNodeCondition"})
	if !strings.Contains(text, "NodeUpdateNodeCondition  Extender  always") {
		t.Errorf("the extender is missing:\n%s", text)
	}
}

// TestEventsThatAreNeverAnnounced is about events that the framework has names for.
func TestEventsThatAreNeverAnnounced(t *testing.T) {
	if text := succeed(t, []string{"events", "-o", "json"}); strings.Contains(text, "UnscheduledPodAdd") || strings.Contains(text, "TargetPodAdd") {
		t.Errorf("events that are never announced are promised:\n%s", text)
	}
	for _, event := range []string{"UnscheduledPodAdd", "UnscheduledPod", "UnscheduledPodUpdate", "scheduling.k8s.io/PodGroupAdd"} {
		got := rouse(t, []string{"events", "--event", event})
		if got.code != 2 || !strings.Contains(got.stderr, `"`+event+`" is never announced`) {
			t.Errorf("--event %s: code %d, %s", event, got.code, got.stderr)
		}
	}
}

// TestEventsOfNoResource is about names under which nothing is ever announced.
func TestEventsOfNoResource(t *testing.T) {
	config := write(t, t.TempDir(), "scheduler.yaml", header+"profiles: [{plugins: {multiPoint: {enabled: [{name: KindWatcher}]}}}]")
	factory := func(context.Context, apiruntime.Object, fwk.Handle) (fwk.Plugin, error) {
		return kindWatcher{"ConfigMap"}, nil
	}
	input := write(t, t.TempDir(), "cluster.yaml", "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: c, image: i}]}}")
	for _, args := range [][]string{
		{"events", "--config", config}, {"profiles", "validate", config}, {"profiles", "show", config},
		{"simulate", "--config", config, input}, {"audit", "--config", config, input}, {"explain", "pod", "web", "--config", config, "--scenario", input},
	} {
		got := rouse(t, args, app.WithPlugin("KindWatcher", factory))
		if got.code != 2 || !strings.Contains(got.stderr, config) || !strings.Contains(got.stderr, `plugin "KindWatcher" registers events of "ConfigMap"`) ||
			!strings.Contains(got.stderr, `did you mean "configmaps.v1."?`) {
			t.Errorf("%q: code %d, %s", args, got.code, got.stderr)
		}
	}
}
