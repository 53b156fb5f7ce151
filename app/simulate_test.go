// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"bytes"
	"context"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rouse-scheduler/rouse/app"
)

const labelWakesPod = `
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {disk: hdd}}
status: {allocatable: {cpu: "2", memory: 4Gi, pods: "10"}}
---
apiVersion: v1
kind: Pod
metadata: {name: wants-ssd, namespace: default}
spec: {nodeSelector: {disk: ssd}, containers: [{name: main, image: i}]}
---
apiVersion: v1
kind: Pod
metadata: {name: plain, namespace: default}
spec: {containers: [{name: main, image: i}]}
---
apiVersion: rouse/v1alpha1
kind: Scenario
metadata: {name: label-wakes-pod}
spec:
  steps:
  - at: 10s
    patch: {apiVersion: v1, kind: Node, metadata: {name: n1, labels: {disk: ssd}}}
  - expect:
      pods: [{name: wants-ssd, node: n1, wokenBy: NodeUpdateNodeLabel}]
`

const expectsTooMuch = `
apiVersion: rouse/v1alpha1
kind: Scenario
metadata: {name: too-much}
spec:
  steps:
  - expect:
      pods:
      - {name: wants-ssd, node: n2}
      - {name: plain, pool: unschedulable}
      - {name: missing}
`

func scenario(t *testing.T) string {
	t.Helper()
	return write(t, t.TempDir(), "scenario.yaml", labelWakesPod)
}

// documentedReport is the documented form of rouse simulate -o json.
type documentedReport struct {
	Profiles []string `json:"profiles"`
	Summary  struct {
		Nodes          int     `json:"nodes"`
		Pods           int     `json:"pods"`
		Bound          int     `json:"bound"`
		Unschedulable  int     `json:"unschedulable"`
		Gated          int     `json:"gated"`
		Preempted      int     `json:"preempted"`
		Attempts       int     `json:"attempts"`
		Wasted         int     `json:"wasted"`
		Wakeups        int     `json:"wakeups"`
		Events         int     `json:"events"`
		VirtualSeconds float64 `json:"virtualSeconds"`
		WallSeconds    float64 `json:"wallSeconds"`
	} `json:"summary"`
	Pods []struct {
		Namespace  string   `json:"namespace"`
		Name       string   `json:"name"`
		Node       string   `json:"node"`
		Pool       string   `json:"pool"`
		Attempts   int      `json:"attempts"`
		RejectedBy []string `json:"rejectedBy"`
		BoundAt    string   `json:"boundAt"`
		Message    string   `json:"message"`
	} `json:"pods"`
	Trace []struct {
		At      string `json:"at"`
		Pod     string `json:"pod"`
		What    string `json:"what"`
		Event   string `json:"event"`
		Plugin  string `json:"plugin"`
		Node    string `json:"node"`
		Queue   string `json:"queue"`
		Message string `json:"message"`
	} `json:"trace"`
}

func TestSimulateText(t *testing.T) {
	text := succeed(t, []string{"simulate", scenario(t)})
	trace, summary, _ := strings.Cut(text, "\n\n")
	want := `       0s  attempt    default/wants-ssd
       0s  rejected   default/wants-ssd     by NodeAffinity: 0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector. preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.
       0s  attempt    default/plain
       0s  bound      default/plain         on n1
      10s  woken      default/wants-ssd     by NodeUpdateNodeLabel for NodeAffinity  to active
      10s  attempt    default/wants-ssd
      10s  bound      default/wants-ssd     on n1`
	if diff := cmp.Diff(want, trace); diff != "" {
		t.Errorf("trace (-want +got):\n%s", diff)
	}
	if !regexp.MustCompile(`^2 pods on 1 node, 10s of virtual time, simulated in [\d.]+m?s\n\n  bound +2  `).MatchString(summary) {
		t.Errorf("summary:\n%s", summary)
	}
	if quiet := succeed(t, []string{"simulate", "--quiet", scenario(t)}); !strings.HasPrefix(quiet, "2 pods on 1 node") {
		t.Errorf("the quiet form is more than the summary:\n%s", quiet)
	}
}

// TestTextIsFoldedToColumns is about output that goes to a file or another program.
func TestTextIsFoldedToColumns(t *testing.T) {
	for columns, folded := range map[string]bool{"": false, "80": true, "120": true, "0": false, "-1": false, "wide": false} {
		t.Setenv("COLUMNS", columns)
		longest := 0
		for line := range strings.Lines(succeed(t, []string{"simulate", scenario(t)})) {
			longest = max(longest, len(strings.TrimSpace(line)))
		}
		if limit := map[string]int{"80": 80, "120": 120}[columns]; folded != (longest <= max(limit, 120)) || folded && longest > limit {
			t.Errorf("with COLUMNS=%q the longest line has %d columns", columns, longest)
		}
	}
}

func TestSimulateJSON(t *testing.T) {
	path := scenario(t)
	without := decode[documentedReport](t, succeed(t, []string{"simulate", "-o", "json", path}))
	if without.Trace != nil {
		t.Error("there is a trace without --trace")
	}
	report := decode[documentedReport](t, succeed(t, []string{"simulate", "-o", "json", "--trace", path}))
	if len(report.Trace) != 7 || report.Trace[4].What != "woken" || report.Trace[4].Event != "NodeUpdateNodeLabel" || report.Trace[4].At != "10s" {
		t.Errorf("trace: %+v", report.Trace)
	}
	s := report.Summary
	if s.Nodes != 1 || s.Pods != 2 || s.Bound != 2 || s.Attempts != 3 || s.Wakeups != 1 || s.VirtualSeconds != 10 || s.WallSeconds <= 0 {
		t.Errorf("summary: %+v", s)
	}
	if pod := report.Pods[1]; pod.Name != "wants-ssd" || pod.Pool != "bound" || pod.BoundAt != "10s" || pod.Node != "n1" {
		t.Errorf("pods: %+v", report.Pods)
	}
}

func TestSimulateIsTheSameEveryTime(t *testing.T) {
	path := filepath.Join("..", "testdata", "quickstart")
	wall := regexp.MustCompile(`"wallSeconds": [\d.e-]+`)
	run := func() string {
		got := rouse(t, []string{"simulate", "-o", "json", "--trace", "--seed", "7", path})
		if got.code != 0 {
			t.Fatalf("exit code %d: %s", got.code, got.stderr)
		}
		return wall.ReplaceAllString(got.stdout, "")
	}
	if diff := cmp.Diff(run(), run()); diff != "" {
		t.Errorf("two runs differ:\n%s", diff)
	}
}

func TestSimulateOtherForms(t *testing.T) {
	path := scenario(t)
	page := succeed(t, []string{"simulate", "-o", "html", path})
	for _, want := range []string{"<!DOCTYPE html>", "Timeline of pods", "NodeUpdateNodeLabel", "default/wants-ssd"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not contain %q", want)
		}
	}
	text := succeed(t, []string{"simulate", "-o", "yaml", path})
	if !strings.Contains(text, "\nsummary:\n  attempts: 3\n") || strings.Contains(text, "trace:") {
		t.Errorf("YAML:\n%s", text)
	}
}

func TestFailedExpectations(t *testing.T) {
	folder := t.TempDir()
	path := write(t, folder, "scenario.yaml", labelWakesPod)
	second := write(t, folder, "too-much.yaml", expectsTooMuch)
	for _, form := range []string{"text", "json", "yaml", "html"} {
		got := rouse(t, []string{"simulate", "-o", form, path, second})
		lines := strings.Split(strings.TrimSpace(got.stderr), "\n")
		if got.code != 1 || got.stdout == "" || len(lines) != 3 {
			t.Fatalf("%s: exit code %d, standard error:\n%s", form, got.code, got.stderr)
		}
		for i, want := range []string{
			second + ":9:9: at 10s: pod default/wants-ssd: wanted node n2; found node n1",
			second + ":10:9: at 10s: pod default/plain: wanted pool unschedulable; found pool bound",
			second + ":11:9: at 10s: pod default/missing: wanted that it exists; found no such pod",
		} {
			if lines[i] != want {
				t.Errorf("%s: line %d of standard error is\n%s\nwant\n%s", form, i+1, lines[i], want)
			}
		}
	}
}

func TestSimulateReadsStandardInput(t *testing.T) {
	command := app.NewSchedulerCommand()
	var stdout, stderr bytes.Buffer
	command.SetOut(&stdout)
	command.SetErr(&stderr)
	command.SetIn(strings.NewReader(labelWakesPod))
	command.SetArgs([]string{"simulate", "-q", "-"})
	if code := app.Run(command); code != 0 || !strings.HasPrefix(stdout.String(), "2 pods on 1 node") {
		t.Errorf("exit code %d, standard error %q, standard output:\n%s", code, stderr.String(), stdout.String())
	}
}

func TestSimulateWithAnOutOfTreePlugin(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, "scheduler.yaml", podStateConfiguration)
	write(t, folder, "cluster.yaml", `
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: "1", pods: "10"}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: default}, spec: {schedulerName: inspected, containers: [{name: c, image: i}]}}
---
apiVersion: rouse/v1alpha1
kind: Scenario
metadata: {name: state}
spec:
  steps:
  - expect: {pods: [{name: a, pool: unschedulable, rejectedBy: [PodState]}]}
  - at: 5s
    patch: {apiVersion: v1, kind: Node, metadata: {name: n1, labels: {state: ready}}}
  - expect: {pods: [{name: a, node: n1, wokenBy: NodeUpdateNodeLabel}]}
`)
	got := rouse(t, []string{"simulate", folder}, withPodState())
	if got.code != 0 {
		t.Errorf("exit code %d, standard error:\n%s", got.code, got.stderr)
	}
}

func TestSimulateChoosesTheConfiguration(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, "cluster.yaml", labelWakesPod)
	first := write(t, folder, "a.yaml", header+"profiles: [{schedulerName: default-scheduler}, {schedulerName: first}]")
	got := rouse(t, []string{"simulate", "-o", "json", folder})
	if report := decode[documentedReport](t, got.stdout); got.stderr != "Using the configuration "+first+"\n" || report.Profiles[1] != "first" {
		t.Errorf("one configuration: standard error %q, profiles %v", got.stderr, report.Profiles)
	}
	second := write(t, folder, "b.yaml", header+"profiles: [{schedulerName: default-scheduler}, {schedulerName: second}]")
	got = rouse(t, []string{"simulate", "-o", "json", folder})
	if want := "Error: " + first + " and " + second + " are both a KubeSchedulerConfiguration: choose one with --config\n"; got.code != 2 || got.stderr != want {
		t.Errorf("two configurations: exit code %d, standard error %q, want %q", got.code, got.stderr, want)
	}
	text := succeed(t, []string{"simulate", "-o", "json", "--config", second, folder})
	if report := decode[documentedReport](t, text); report.Profiles[1] != "second" {
		t.Errorf("chosen configuration: profiles %v", report.Profiles)
	}
}

func TestSimulateLeavesExtendersOut(t *testing.T) {
	folder := t.TempDir()
	path := write(t, folder, "cluster.yaml", labelWakesPod)
	config := write(t, folder, "scheduler.yaml", header+"extenders: [{urlPrefix: 'http://extender.example', filterVerb: filter}]")
	got := rouse(t, []string{"simulate", "--config", config, path})
	if want := "Warning: " + config + ": the extenders are left out of the simulation\n"; got.code != 0 || got.stderr != want {
		t.Errorf("exit code %d, standard error %q, want %q", got.code, got.stderr, want)
	}
}

func TestBrokenInput(t *testing.T) {
	folder := t.TempDir()
	tests := map[string]struct{ text, want string }{
		"not YAML":        {"spec: [}", ":1: not well-formed YAML"},
		"unknown step":    {strings.ReplaceAll(labelWakesPod, "- at: 10s", "- att: 10s"), ":22:5: spec.steps[0].att: unknown field; did you mean \"at\"?"},
		"impossible step": {strings.ReplaceAll(labelWakesPod, "name: n1, labels: {disk: ssd}", "name: n9"), ":23:5: spec.steps[0].patch: patch Node n9 at 10s: there is no such object"},
		"unknown event":   {strings.ReplaceAll(labelWakesPod, "NodeUpdateNodeLabel", "NodeUpdateLabel"), ":25:"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path := write(t, folder, "input.yaml", test.text)
			got := rouse(t, []string{"simulate", path})
			if got.code != 2 || !strings.HasPrefix(got.stderr, path+test.want) {
				t.Errorf("exit code %d, standard error:\n%swant\n%s", got.code, got.stderr, path+test.want)
			}
		})
	}
}

func TestInterruptedSimulation(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	command := app.NewSchedulerCommand()
	var stdout, stderr bytes.Buffer
	command.SetOut(&stdout)
	command.SetErr(&stderr)
	command.SetContext(ctx)
	command.SetArgs([]string{"simulate", scenario(t)})
	if code := app.Run(command); code != 2 || !strings.HasPrefix(stderr.String(), "Error: interrupted at 0s of virtual time: ") {
		t.Errorf("exit code %d, standard error %q", code, stderr.String())
	}
}

// TestVerbosity checks that the log is silent unless it is asked for, so that output can be read.
func TestVerbosity(t *testing.T) {
	if got := rouse(t, []string{"simulate", "-q", scenario(t)}); got.stderr != "" {
		t.Errorf("standard error:\n%s", got.stderr)
	}
}
