// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/rouse-scheduler/rouse/simulate"
)

// TestHugeQuantitiesAreRefusedEverywhere has a quantity that apimachinery never finishes with, in everything that a
// simulation reads.
func TestHugeQuantitiesAreRefusedEverywhere(t *testing.T) {
	const pod = `apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, resources: {requests: {cpu: "1e-2147483648"}}}]}`
	const deployment = `apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {template: {spec: {containers: [{name: c, resources: {requests: {cpu: "1e-2147483648"}}}]}}}`
	scenario := func(step string) string {
		return "apiVersion: rouse/v1alpha1\nkind: Scenario\nspec:\n  steps:\n  - " + step + "\n"
	}
	for name, test := range map[string]struct{ text, want string }{
		"object":                       {"{" + pod + "}", "a.yaml:1:"},
		"object that plugins may read": {"{" + deployment + "}", "a.yaml:1:"},
		"item of a list":               {"apiVersion: v1\nkind: List\nitems:\n- {" + pod + "}", "a.yaml:4:"},
		"item of a list in a list":     {"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: List\n  items:\n  - {" + pod + "}", "a.yaml:7:"},
		"created object":               {scenario("create: {" + pod + "}"), "a.yaml:5:"},
		"patch":                        {scenario("patch: {" + pod + "}"), "a.yaml:5:"},
		"patch of another kind":        {scenario("patch: {" + deployment + "}"), "a.yaml:5:"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := simulate.Parse("a.yaml", []byte(test.text))
			if err == nil || !strings.HasPrefix(err.Error(), test.want) || !strings.Contains(err.Error(), ".cpu: the number has more than 100 digits") {
				t.Errorf("error = %v, want one at %s", err, test.want)
			}
		})
	}
}

func TestHugeObjectsAreRefused(t *testing.T) {
	object := `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "` + strings.Repeat("x", 3<<20) + `"}}`
	list := `{"apiVersion": "v1", "kind": "List", "items": [` + object + `]}`
	step := `{"apiVersion": "rouse/v1alpha1", "kind": "Scenario", "spec": {"steps": [{"patch": ` + object + `}]}}`
	for name, test := range map[string]struct{ text, want string }{
		"object": {object, "a.json:1:1: the object has more than 3145728 bytes, which no API server accepts"},
		"item":   {list, "a.json:1:48: items[0]: the object has more than 3145728 bytes, which no API server accepts"},
		"patch":  {step, "a.json:1:74: spec.steps[0].patch: the object has more than 3145728 bytes, which no API server accepts"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := simulate.Parse("a.json", []byte(test.text)); err == nil || err.Error() != test.want {
				t.Errorf("error = %.300v\nwant %s", err, test.want)
			}
		})
	}
	spacious := `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"},` + strings.Repeat(" ", 4<<20) + `"data": {}}`
	if _, err := simulate.Parse("a.json", []byte(spacious)); err != nil {
		t.Errorf("an object with much white space: error = %v", err)
	}
}

func TestErrorsHaveAnEnd(t *testing.T) {
	for name, text := range map[string]string{
		"documents":        strings.Repeat("{}", 100_000),
		"items":            `{"apiVersion":"v1","kind":"List","items":[{}` + strings.Repeat(",{}", 100_000) + `]}`,
		"broken documents": strings.Repeat(`{"a"}`, 20_000) + strings.Repeat(" ", 1_000_000),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := simulate.Parse("a.json", []byte(text))
			if err == nil {
				t.Fatal("the input is accepted")
			}
			lines := strings.Split(err.Error(), "\n")
			if last := lines[len(lines)-1]; len(lines) > 1100 || last != "too many errors; the rest was not read" {
				t.Errorf("the error has %d lines, the last is %q", len(lines), last)
			}
		})
	}
}

func TestListsInListsAreRead(t *testing.T) {
	text := `
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: NodeList
  items:
  - {metadata: {name: n1}, status: {allocatable: {cpu: 1, pods: 10}}}
- {apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c}]}}
`
	input, err := simulate.Parse("a.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	report, err := simulate.Run(context.Background(), input, simulate.Options{})
	if err != nil || report.Summary.Nodes != 1 || report.Summary.Bound != 1 || len(report.Warnings) > 0 {
		t.Errorf("summary = %+v, warnings %q, error %v; want a pod on a node", report.Summary, report.Warnings, err)
	}
}

func TestStepsMakeOneObject(t *testing.T) {
	for object, want := range map[string]string{
		"apiVersion: rouse/v1alpha1, kind: Scenario, metadata: {name: a}": "a Scenario is a document of its own and cannot be made by a step",
		"kind: Scenario, apiVersion: rouse/v2":                            "a Scenario is a document of its own and cannot be made by a step",
		"apiVersion: v1, kind: List, metadata: {name: a}, items: []":      "a step is about one object, not a list; make it a step for each, with the same time",
		"apiVersion: example.com/v1, kind: CardList, metadata: {name: a}": "a step is about one object, not a list; make it a step for each, with the same time",
	} {
		for _, action := range []string{"create", "patch", "delete"} {
			text := fmt.Sprintf("apiVersion: rouse/v1alpha1\nkind: Scenario\nspec:\n  steps:\n  - %s: {%s}\n", action, object)
			_, err := simulate.Parse("a.yaml", []byte(text))
			if want := "a.yaml:5:5: spec.steps[0]." + action + ": " + want; err == nil || err.Error() != want {
				t.Errorf("%s of %s: error = %v\nwant %s", action, object, err, want)
			}
		}
	}
}
