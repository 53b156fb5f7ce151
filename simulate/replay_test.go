// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rouse-scheduler/rouse/simulate"
)

func TestFailedExpectations(t *testing.T) {
	report := run(t, documents(node("n1", ""), pod("a", "1", ""), pod("b", "1", ", nodeSelector: {disk: ssd}"),
		scenario(
			"{at: 1s, expect: {pods: [{name: a, node: n1}, {name: b, pool: bound, node: n1, rejectedBy: [], wokenBy: NodeAdd}]}}",
			"{at: 2s, expect: {pods: [{name: c}, {name: a, node: ''}]}}",
		)), simulate.Options{})
	const reason = `message "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector. ` +
		`preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."`
	want := []simulate.ExpectationFailure{
		{
			Position: "input.yaml:8:47", At: simulate.Time(time.Second), Pod: "default/b",
			Wanted: "node n1, pool bound, rejectedBy (none), wokenBy NodeAdd",
			Found:  "node (none), pool unschedulable, rejectedBy NodeAffinity, wokenBy (none), " + reason,
		},
		{Position: "input.yaml:9:26", At: simulate.Time(2 * time.Second), Pod: "default/c", Wanted: "that it exists", Found: "no such pod"},
		{Position: "input.yaml:9:37", At: simulate.Time(2 * time.Second), Pod: "default/a", Wanted: "node (none)", Found: "node n1"},
	}
	if diff := cmp.Diff(want, report.Failures); diff != "" {
		t.Errorf("failures differ (-want +got):\n%s", diff)
	}
	if got, want := report.Failures[2].String(), "input.yaml:9:37: at 2s: pod default/a: wanted node (none); found node n1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestStepsWithTheSameTimeHappenTogether(t *testing.T) {
	// If the first pod were tried before the second exists, it would get the node.
	report := run(t, documents(node("n1", ""), scenario(
		"{at: 5s, create: "+pod("first", "4", "")+"}",
		"{at: 5s, create: "+pod("second", "4", ", priority: 10")+"}",
		"{at: 5s, expect: {pods: [{name: first, pool: unschedulable}, {name: second, node: n1}]}}",
	)), simulate.Options{})
	wantNoFailures(t, report)
}

func TestStepWithoutTimeWaitsUntilTheOneBeforeHasSettled(t *testing.T) {
	// Without nodes a pod is tried again and again, with backoff.
	report := run(t, documents(scenario(
		"{create: "+pod("a", "1", "")+"}",
		"{expect: {pods: [{name: a, pool: backoff}]}}",
		"{create: "+node("n1", "")+"}",
		"{expect: {pods: [{name: a, node: n1}]}}",
	)), simulate.Options{})
	wantNoFailures(t, report)
	bound, err := time.ParseDuration(states(report)["default/a"].BoundAt)
	if err != nil || bound < 10*time.Second || bound > time.Minute {
		t.Errorf("the pod was bound at %v (%v), want some backoffs after the start", bound, err)
	}
}

func TestStepWithoutTimeDoesNotDelayTheNextOne(t *testing.T) {
	report := run(t, documents(scenario(
		"{create: "+pod("a", "1", "")+"}",
		"{expect: {pods: [{name: a, pool: backoff}]}}",
		"{at: 4s, create: "+node("n1", "")+"}",
		"{expect: {pods: [{name: a, node: n1}]}}",
	)), simulate.Options{})
	wantNoFailures(t, report)
	if got := states(report)["default/a"].BoundAt; got != "5s" {
		t.Errorf("the pod was bound at %s, want 5s, when the second backoff is over", got)
	}
}

func TestPodsThatWaitTooLongAreTriedWhileStepsRemain(t *testing.T) {
	input := documents(node("n1", ""), pod("a", "1", ", nodeSelector: {disk: ssd}"))
	report := run(t, input, simulate.Options{Trace: true})
	if got := states(report)["default/a"].Attempts; got != 1 || report.Summary.VirtualSeconds != 0 {
		t.Errorf("got %d attempts in %v s, want the run to end after the first", got, report.Summary.VirtualSeconds)
	}
	report = run(t, documents(input, scenario("{at: 11m, expect: {pods: [{name: a, pool: unschedulable, wokenBy: UnschedulableTimeout}]}}")),
		simulate.Options{Trace: true})
	wantNoFailures(t, report)
	want := []string{
		"5m0s      woken     default/a by UnschedulableTimeout to active",
		"10m0s     woken     default/a by UnschedulableTimeout to active",
	}
	if diff := cmp.Diff(want, trace(report, simulate.WhatWoken)); diff != "" {
		t.Errorf("wake-ups differ (-want +got):\n%s", diff)
	}
	if got := report.Summary; got.Attempts != 3 || got.Wasted != 2 || got.Wakeups != 2 || got.VirtualSeconds != 660 {
		t.Errorf("got %+v, want 3 attempts, 2 of them wasted after 2 wake-ups, in 660 s", got)
	}
}

func TestScenariosRunOneAfterTheOther(t *testing.T) {
	report := run(t, documents(node("n1", ""),
		scenario("{at: 10s, create: "+pod("a", "1", "")+"}"),
		scenario("{at: 5s, create: "+pod("b", "1", "")+"}", "{expect: {pods: [{name: a}, {name: b}]}}"),
	), simulate.Options{})
	wantNoFailures(t, report)
	if got := states(report)["default/b"].BoundAt; got != "15s" {
		t.Errorf("the pod of the second scenario was bound at %s, want 15s", got)
	}
}

func TestStepsAboutObjectsThatAreGone(t *testing.T) {
	report := run(t, documents(node("n1", ""), pod("a", "1", ""), scenario(
		"{at: 1s, delete: {apiVersion: v1, kind: Pod, metadata: {name: a}}}",
		"{at: 2s, delete: {apiVersion: v1, kind: Pod, metadata: {name: a}}}",
		"{at: 3s, patch: {apiVersion: v1, kind: Pod, metadata: {name: a, labels: {x: z}}}}",
	)), simulate.Options{})
	want := []string{`2 steps were about objects that were gone by then, the first was step 2 of scenario "test", delete Pod default/a`}
	if diff := cmp.Diff(want, report.Warnings); diff != "" {
		t.Errorf("warnings differ (-want +got):\n%s", diff)
	}
}

func TestPatchThatTheObjectRefuses(t *testing.T) {
	input := parse(t, documents(node("n1", ""), scenario(
		"{at: 1s, patch: {apiVersion: v1, kind: Node, metadata: {name: n1, uid: other}}}")))
	_, err := simulate.Run(t.Context(), input, simulate.Options{})
	var inputErr *simulate.InputError
	if !errors.As(err, &inputErr) || !strings.HasPrefix(err.Error(), "input.yaml:4:10: spec.steps[0].patch: patch Node n1 at 1s: ") {
		t.Errorf("got error %v, want an InputError with the place of the step", err)
	}
}

func TestPodsOfAnotherScheduler(t *testing.T) {
	report := run(t, documents(node("n1", ""), pod("a", "1", ", schedulerName: other")), simulate.Options{})
	got := states(report)["default/a"]
	if got.Pool != simulate.PoolUnschedulable || got.Attempts != 0 || !strings.Contains(got.Message, "other") {
		t.Errorf("got %+v, want the pod left alone with a message", got)
	}
}

func TestFinishedPodFreesItsNode(t *testing.T) {
	report := run(t, documents(node("n1", ""), pod("a", "4", ", nodeName: n1"), pod("b", "4", ""), scenario(
		"{expect: {pods: [{name: a, pool: bound}, {name: b, pool: unschedulable}]}}",
		"{at: 5s, patch: {apiVersion: v1, kind: Pod, metadata: {name: a}, status: {phase: Succeeded}}}",
		"{expect: {pods: [{name: a, pool: deleted, node: n1}, {name: b, node: n1, wokenBy: AssignedPodDelete}]}}",
		"{at: 6s, delete: {apiVersion: v1, kind: Pod, metadata: {name: a}}}",
	)), simulate.Options{Trace: true})
	wantNoFailures(t, report)
	want := []string{"5s        deleted   default/a on n1: the pod finished"}
	if diff := cmp.Diff(want, trace(report, simulate.WhatDeleted)); diff != "" {
		t.Errorf("trace differs (-want +got):\n%s", diff)
	}
}

func TestRecreatedPodHasARowOfItsOwn(t *testing.T) {
	report := run(t, documents(node("n1", ""), pod("a", "1", ""), scenario(
		"{at: 1s, delete: {apiVersion: v1, kind: Pod, metadata: {name: a}}}",
		"{at: 1s, create: "+pod("a", "1", "")+"}",
		"{expect: {pods: [{name: a, node: n1, pool: bound}]}}",
	)), simulate.Options{})
	wantNoFailures(t, report)
	want := []simulate.PodState{
		{Namespace: "default", Name: "a", Node: "n1", Pool: simulate.PoolDeleted, Attempts: 1, RejectedBy: []string{}, BoundAt: "0s"},
		{Namespace: "default", Name: "a", Node: "n1", Pool: simulate.PoolBound, Attempts: 1, RejectedBy: []string{}, BoundAt: "1s"},
	}
	if diff := cmp.Diff(want, report.Pods); diff != "" {
		t.Errorf("pods differ (-want +got):\n%s", diff)
	}
}

func TestCancelledRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := simulate.Run(ctx, parse(t, node("n1", "")), simulate.Options{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want that of the context", err)
	}
}

func TestProgress(t *testing.T) {
	var last simulate.Progress
	run(t, documents(node("n1", ""), pod("a", "1", ""), pod("b", "8", ""), scenario(
		"{at: 1s, create: "+pod("c", "1", "")+"}",
		"{at: 2s, delete: {apiVersion: v1, kind: Pod, metadata: {name: a}}}",
		"{at: 3s, expect: {pods: [{name: c}]}}",
	)), simulate.Options{Progress: func(p simulate.Progress) { last = p }})
	want := simulate.Progress{Done: 3, Total: 3, Now: simulate.Time(3 * time.Second), Bound: 1, Pending: 1, Attempts: 4}
	if diff := cmp.Diff(want, last); diff != "" {
		t.Errorf("the last progress differs (-want +got):\n%s", diff)
	}
}
