// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/rouse-scheduler/rouse/simulate"
)

// parse reads an input or fails the test.
func parse(t *testing.T, text string) *simulate.Input {
	t.Helper()
	input, err := simulate.Parse("input.yaml", []byte(text))
	if err != nil {
		t.Fatalf("reading the input: %v", err)
	}
	return input
}

// run replays an input or fails the test.
func run(t *testing.T, text string, options simulate.Options) *simulate.Report {
	t.Helper()
	report, err := simulate.Run(t.Context(), parse(t, text), options)
	if err != nil {
		t.Fatalf("replaying: %v", err)
	}
	return report
}

// wantNoFailures reports every expectation of the scenarios that was not met.
func wantNoFailures(t *testing.T, report *simulate.Report) {
	t.Helper()
	for _, failure := range report.Failures {
		t.Error(failure)
	}
}

// documents joins parts of YAML into one text of several documents.
func documents(parts ...string) string { return strings.Join(parts, "\n---\n") }

func node(name, rest string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: Node, metadata: {name: %s%s}, status: {allocatable: {cpu: 4, memory: 8Gi, pods: 110}}}", name, rest)
}

// pod is a pod that asks for some CPU; rest is appended to its spec.
func pod(name, cpu, rest string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {name: %s}, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: %q}}}]%s}}", name, cpu, rest)
}

// scenario is a timeline of steps, one a line.
func scenario(steps ...string) string {
	return "{apiVersion: rouse/v1alpha1, kind: Scenario, metadata: {name: test}, spec: {steps: [\n" + strings.Join(steps, ",\n") + "\n]}}"
}

// trace returns the entries in short, those of some kinds only.
func trace(report *simulate.Report, kinds ...simulate.What) []string {
	var lines []string
	for _, entry := range report.Trace {
		for _, kind := range kinds {
			if entry.What == kind {
				lines = append(lines, entry.String())
			}
		}
	}
	return lines
}

func states(report *simulate.Report) map[string]simulate.PodState {
	byName := make(map[string]simulate.PodState)
	for _, state := range report.Pods {
		byName[state.Namespace+"/"+state.Name] = state
	}
	return byName
}

// encode returns the JSON of a report without the time that the test took.
func encode(t *testing.T, report *simulate.Report) string {
	t.Helper()
	copied := *report
	copied.Summary.WallSeconds = 0
	data, err := json.MarshalIndent(copied, "", " ")
	if err != nil {
		t.Fatalf("encoding the report: %v", err)
	}
	return string(data)
}
