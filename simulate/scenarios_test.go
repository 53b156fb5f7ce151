// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

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

func TestScenariosMeetTheirExpectations(t *testing.T) {
	for _, path := range files(t, "../testdata/scenarios/*.yaml") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			input, err := simulate.Load([]string{path}, simulate.LoadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			report, err := simulate.Run(t.Context(), input, simulate.Options{Trace: true})
			if err != nil {
				t.Fatal(err)
			}
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
		"truncated.yaml":              {":", "not well-formed YAML"},
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
			var fault *simulate.InputError
			if !errors.As(err, &fault) {
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
	var fault *simulate.InputError
	if !errors.As(err, &fault) {
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
