// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/framework"
	"github.com/rouse-scheduler/rouse/profiles"
	"github.com/rouse-scheduler/rouse/simulate"
)

func files(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		t.Fatalf("no files match %s (%v)", pattern, err)
	}
	return found
}

// replayed returns the reports of all scenarios, by name: files, and folders with a configuration of their own. It
// replays them once.
func replayed(t *testing.T) map[string]*simulate.Report {
	t.Helper()
	reports := make(map[string]*simulate.Report)
	for _, path := range append(files(t, "../testdata/scenarios/*.yaml"), "../testdata/profile-affinity") {
		options := simulate.Options{Trace: true}
		read := path
		if info, err := os.Stat(path); err != nil {
			t.Fatal(err)
		} else if info.IsDir() {
			configuration, err := profiles.Load(filepath.Join(path, "scheduler.yaml"), profiles.Options{})
			if err != nil {
				t.Fatal(err)
			}
			options.Configuration, read = configuration, filepath.Join(path, "timeline.yaml")
		}
		input, err := simulate.Load([]string{read}, simulate.LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		report, err := simulate.Run(t.Context(), input, options)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		reports[filepath.Base(path)] = report
	}
	return reports
}

func TestScenariosMeetTheirExpectations(t *testing.T) {
	for name, report := range replayed(t) {
		t.Run(name, func(t *testing.T) {
			wantNoFailures(t, report)
			if len(report.Warnings) > 0 {
				t.Errorf("warnings: %q", report.Warnings)
			}
			if t.Failed() {
				for _, entry := range report.Trace {
					t.Log(entry)
				}
			}
		})
	}
}

// TestEveryDefaultPluginHasAScenario looks in the scenarios for pods that a plugin rejected, that an event woke because of
// it, and that got a node then. Every plugin of the default profile that can hold a pod back must have one, and every
// event that it registers should.
func TestEveryDefaultPluginHasAScenario(t *testing.T) {
	shown := make(map[string]sets.Set[string]) // plugin -> events that woke its pods for good
	for _, report := range replayed(t) {
		for _, steps := range tracesByPod(report.Trace) {
			for i, step := range steps {
				if step.What != simulate.WhatWoken || !boundNext(steps[i+1:]) {
					continue
				}
				for _, plugin := range strings.Split(lastRejectors(steps[:i]), ",") {
					if plugin != step.Plugin {
						continue
					}
					if shown[plugin] == nil {
						shown[plugin] = sets.New[string]()
					}
					shown[plugin].Insert(step.Event)
				}
			}
		}
	}

	cluster, err := simulate.NewCluster(t.Context(), simulate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	unreachable := withoutScenario()
	profile := cluster.Scheduler().Profiles()["default-scheduler"]
	for plugin, registered := range profile.Registrations() {
		for _, event := range singleEvents(registered) {
			why, excused := unreachable[plugin+" "+event]
			if why == "" {
				why, excused = unreachable[plugin]
			}
			switch has := shown[plugin].Has(event); {
			case !has && !excused:
				t.Errorf("no scenario has a pod that %s rejected and that %s woke so that it got a node", plugin, event)
			case has && excused:
				t.Errorf("%s %s has a scenario, but is said not to be able to: %s", plugin, event, why)
			}
		}
	}
}

// withoutScenario lists the plugins, and events of plugins, that no scenario can show with the default profile, and why.
func withoutScenario() map[string]string {
	return map[string]string{
		"NodeName": "a pod that names its node has it already",
		"DefaultPreemption": "it holds a pod back while victims are evicted; their deletion wakes the pod for the plugin that " +
			"rejected it, see preemption.yaml",

		"InterPodAffinity NamespaceAdd": "pods come after their namespace, and their own events wake",

		"NodeVolumeLimits PersistentVolumeClaimAdd": "VolumeRestrictions and VolumeBinding miss the claim first",
		"VolumeZone PersistentVolumeClaimAdd":       "VolumeRestrictions misses the claim first",
		"VolumeZone PersistentVolumeClaimUpdate":    "VolumeBinding rejects pods with claims that are not bound first",
		"VolumeZone storage.k8s.io/StorageClassAdd": "VolumeBinding rejects pods with claims that are not bound first",
	}
}

func tracesByPod(trace []simulate.TraceEntry) map[string][]simulate.TraceEntry {
	byPod := make(map[string][]simulate.TraceEntry)
	for _, entry := range trace {
		byPod[entry.Pod] = append(byPod[entry.Pod], entry)
	}
	return byPod
}

// boundNext reports whether the next attempt ends with a node.
func boundNext(steps []simulate.TraceEntry) bool {
	for _, step := range steps {
		switch step.What {
		case simulate.WhatBound:
			return true
		case simulate.WhatRejected, simulate.WhatDeleted, simulate.WhatPreempted:
			return false
		}
	}
	return false
}

func lastRejectors(steps []simulate.TraceEntry) string {
	for _, step := range slices.Backward(steps) {
		if step.What == simulate.WhatRejected {
			return step.Plugin
		}
	}
	return ""
}

// singleEvents returns the labels of the events that a plugin registered, one by one. For a plugin that registered all
// updates of a resource they are one.
func singleEvents(registered []fwk.ClusterEventWithHint) []string {
	var labels []string
	for _, r := range registered {
		resource, _ := framework.LookupResource(r.Event.Resource)
		var covered fwk.ActionType
		for _, action := range slices.Backward(resource.Actions) {
			if r.Event.ActionType&action.Bit == action.Bit && covered&action.Bit == 0 {
				covered |= action.Bit
				labels = append(labels, fwk.ClusterEvent{Resource: resource.Name, ActionType: action.Bit}.Label())
			}
		}
	}
	return labels
}

func TestBrokenScenariosAreRefused(t *testing.T) {
	// What the first line of each error begins with, after the name of the file, and what it has to mention.
	wanted := map[string][2]string{
		"backwards.yaml":              {":12:5: spec.steps[1].at: ", "10s is before the time of an earlier step, 20s"},
		"bad-duration.yaml":           {":6:5: spec.steps[0].at: ", `a duration such as "15s"`},
		"bad-expectation.yaml":        {":8:19: spec.steps[0].expect.pods[0].pool: ", `did you mean "unschedulable"?`},
		"bad-quantity.yaml":           {":8:28: spec.containers[0].resources.requests.cpu: ", "lots"},
		"binary.yaml":                 {":3:", "not a text file"},
		"created-twice.yaml":          {":11:5: spec.steps[0].create: ", "create Node n1 at 1s: it exists already"},
		"delete-unknown-object.yaml":  {":6:5: spec.steps[0].delete: ", "delete Pod shop/web at 0s: there is no such object"},
		"duplicate-field.yaml":        {":8:5: ", "already set on line 6"},
		"duplicate-object.yaml":       {":11:3: items[1]: ", "Node n1 is already defined at ../testdata/broken/scenarios/duplicate-object.yaml:1:1"},
		"empty.yaml":                  {": ", "the file is empty"},
		"negative-time.yaml":          {":6:5: spec.steps[0].at: ", "-1s is before the start"},
		"no-action.yaml":              {":6:5: spec.steps[0]: ", "create, patch, delete and expect"},
		"no-kind.yaml":                {":1:1: ", "needs apiVersion and kind"},
		"no-name.yaml":                {":3:1: metadata: ", "set metadata.name"},
		"no-steps.yaml":               {":4:1: spec.steps: ", "no steps"},
		"patch-unknown-object.yaml":   {":11:5: spec.steps[0].patch: ", "patch Node n2 at 10s: there is no such object"},
		"truncated.json":              {":3:", "not well-formed JSON"},
		"truncated.yaml":              {":7: not well-formed YAML: ", "the document ends here; is it complete?"},
		"two-actions.yaml":            {":6:5: spec.steps[0]: ", "create and delete"},
		"unknown-action.yaml":         {":7:5: spec.steps[0].replace: ", "unknown field"},
		"unknown-field.yaml":          {":7:5: spec.steps[0].delte: ", `did you mean "delete"?`},
		"unknown-kind.yaml":           {":8:7: spec.steps[0].create.kind: ", `did you mean "Pod"?`},
		"unknown-priority-class.yaml": {":1:1: ", "no PriorityClass with name urgent"},
		"wrong-type.yaml":             {":11:70: spec.steps[0].patch.spec.unschedulable: ", "want true or false"},
		"wrong-version.yaml":          {":1:1: apiVersion: ", "rouse/v1alpha1"},
	}
	for _, path := range files(t, "../testdata/broken/scenarios/*") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			want, known := wanted[filepath.Base(path)]
			if !known {
				t.Fatal("the test does not say what is wrong with this file")
			}
			input, err := simulate.Load([]string{path}, simulate.LoadOptions{})
			if err == nil {
				_, err = simulate.Run(t.Context(), input, simulate.Options{})
			}
			var inputErr *simulate.InputError
			if !errors.As(err, &inputErr) {
				t.Fatalf("got error %v (%T), want an InputError", err, err)
			}
			if !strings.HasPrefix(err.Error(), path+want[0]) {
				t.Errorf("the error does not begin with %q:\n%v", path+want[0], err)
			}
			if !strings.Contains(err.Error(), want[1]) {
				t.Errorf("the error does not mention %q:\n%v", want[1], err)
			}
		})
	}
}

func TestEveryFaultIsReported(t *testing.T) {
	_, err := simulate.Load([]string{
		"../testdata/broken/scenarios/bad-expectation.yaml",
		"../testdata/broken/scenarios/no-name.yaml",
		"../testdata/broken/scenarios/does-not-exist.yaml",
	}, simulate.LoadOptions{})
	var inputErr *simulate.InputError
	if !errors.As(err, &inputErr) {
		t.Fatalf("got error %v (%T), want an InputError", err, err)
	}
	for _, want := range []string{"pods[0].pool", "pods[1].wokenBy", "pods[2]", "steps[1].expect", "no-name.yaml:3:1", "does-not-exist.yaml"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not mention %q:\n%v", want, err)
		}
	}
	if !errors.Is(err, os.ErrNotExist) {
		t.Error("the error does not wrap os.ErrNotExist")
	}
}
