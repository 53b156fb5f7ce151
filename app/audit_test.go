// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"context"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/rouse-scheduler/rouse/app"
)

// forgetful is podState without the event that the labels of a node change.
type forgetful struct{ *podState }

func (f forgetful) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add}}}, nil
}

func withForgetful() app.Option {
	return app.WithPlugin(podStateName, func(ctx context.Context, args apiruntime.Object, handle fwk.Handle) (fwk.Plugin, error) {
		plugin, err := newPodState(ctx, args, handle)
		if err != nil {
			return nil, err
		}
		return forgetful{plugin.(*podState)}, nil
	})
}

const becomesReady = `
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {state: starting}}
status: {allocatable: {cpu: "2", memory: 4Gi, pods: "10"}}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: default}
spec: {schedulerName: inspected, containers: [{name: main, image: i}]}
---
apiVersion: rouse/v1alpha1
kind: Scenario
metadata: {name: becomes-ready}
spec:
  steps:
  - at: 10s
    patch: {apiVersion: v1, kind: Node, metadata: {name: n1, labels: {state: ready}}}
`

// documentedAudit is the documented form of rouse audit -o json.
type documentedAudit struct {
	Profiles []string `json:"profiles"`
	Summary  struct {
		Nodes          int     `json:"nodes"`
		Pods           int     `json:"pods"`
		RightWakeups   int     `json:"rightWakeups"`
		WastedWakeups  int     `json:"wastedWakeups"`
		RightSkips     int     `json:"rightSkips"`
		MissedWakeups  int     `json:"missedWakeups"`
		Failed         int     `json:"failed"`
		VirtualSeconds float64 `json:"virtualSeconds"`
		WallSeconds    float64 `json:"wallSeconds"`
	} `json:"summary"`
	Decisions []struct {
		Event         string `json:"event"`
		Plugin        string `json:"plugin"`
		RightWakeups  int    `json:"rightWakeups"`
		WastedWakeups int    `json:"wastedWakeups"`
		RightSkips    int    `json:"rightSkips"`
		MissedWakeups int    `json:"missedWakeups"`
		Failed        int    `json:"failed"`
	} `json:"decisions"`
	Missed []struct {
		At      string `json:"at"`
		Pod     string `json:"pod"`
		Profile string `json:"profile"`
		Event   string `json:"event"`
		Change  string `json:"change"`
		Node    string `json:"node"`
		Blame   []struct {
			Plugin string `json:"plugin"`
			At     string `json:"at"`
			Event  string `json:"event"`
			Why    string `json:"why"`
		} `json:"blame"`
		Until   string `json:"until"`
		WokenBy string `json:"wokenBy"`
	} `json:"missed"`
	Failures []struct {
		At      string `json:"at"`
		Pod     string `json:"pod"`
		Event   string `json:"event"`
		Plugin  string `json:"plugin"`
		Message string `json:"message"`
		Times   int    `json:"times"`
	} `json:"failures"`
	Warnings []string `json:"warnings"`
}

func TestAuditThatMissesNothing(t *testing.T) {
	text := succeed(t, []string{"audit", scenario(t)})
	for _, want := range []string{
		"2 pods on 1 node, 10s of virtual time, audited in ",
		"missed wake-ups  0",
		"NodeUpdateNodeLabel  NodeAffinity      1       0        0       0       0\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the text does not contain %q:\n%s", want, text)
		}
	}
	audit := decode[documentedAudit](t, succeed(t, []string{"audit", "-o", "json", scenario(t)}))
	if audit.Summary.RightWakeups != 1 || len(audit.Decisions) != 1 || audit.Missed == nil || len(audit.Missed) != 0 || audit.Summary.WallSeconds <= 0 {
		t.Errorf("audit %+v, want one right wake-up and nothing missed", audit)
	}
	if yaml := succeed(t, []string{"audit", "-o", "yaml", scenario(t)}); !strings.Contains(yaml, "\n  rightWakeups: 1\n") {
		t.Errorf("YAML:\n%s", yaml)
	}
}

// TestAuditCatchesAForgottenEvent has a plugin out of the tree that is not told when labels change. The message names the
// plugin, the event, the pod and the node.
func TestAuditCatchesAForgottenEvent(t *testing.T) {
	folder := t.TempDir()
	config, path := write(t, folder, "scheduler.yaml", podStateConfiguration), write(t, folder, "cluster.yaml", becomesReady)
	got := rouse(t, []string{"audit", "--config", config, path}, withForgetful())
	want := "\nMissed wake-ups\n\n" +
		"  10s  pod default/web fits node n1 since NodeUpdateNodeLabel (Node n1 was changed), but was not woken\n" +
		"    plugin PodState, which rejected the pod, did not register NodeUpdateNodeLabel\n" +
		"    It waited to the end.\n"
	if got.code != 1 || !strings.HasSuffix(got.stdout, want) || got.stderr != "missed wake-ups: 1\n" {
		t.Errorf("exit code %d, standard error %q, text:\n%s\nwant exit code 1 and\n%s", got.code, got.stderr, got.stdout, want)
	}
	got = rouse(t, []string{"audit", "-o", "json", folder}, withForgetful())
	audit := decode[documentedAudit](t, got.stdout)
	if got.code != 1 || len(audit.Missed) != 1 || audit.Missed[0].Node != "n1" || audit.Missed[0].Blame[0].Plugin != "PodState" || audit.Missed[0].Blame[0].Why != "notRegistered" {
		t.Errorf("exit code %d, missed %+v, want one missed wake-up", got.code, audit.Missed)
	}
	// The plugin that forgets nothing is right.
	if audit := rouse(t, []string{"audit", "--config", config, path}, withPodState()); audit.code != 0 {
		t.Errorf("with all events: exit code %d\n%s", audit.code, audit.stdout)
	}
}

func TestAuditIsTheSameEveryTime(t *testing.T) {
	path := filepath.Join("..", "testdata", "quickstart")
	wall := regexp.MustCompile(`"wallSeconds": [\d.e-]+`)
	run := func() string {
		got := rouse(t, []string{"audit", "-o", "json", "--seed", "7", path})
		if got.code != 0 || !strings.HasPrefix(got.stderr, "Using the configuration ") {
			t.Fatalf("exit code %d: %s", got.code, got.stderr)
		}
		return wall.ReplaceAllString(got.stdout, "")
	}
	if diff := cmp.Diff(run(), run()); diff != "" {
		t.Errorf("two runs differ:\n%s", diff)
	}
}

func TestAuditWarnsOfExpectationsThatFail(t *testing.T) {
	folder := t.TempDir()
	path, second := write(t, folder, "scenario.yaml", labelWakesPod), write(t, folder, "too-much.yaml", expectsTooMuch)
	got := rouse(t, []string{"audit", path, second})
	if want := "Warning: expectations of the scenarios that were not met: 3; 'simulate' lists them\n"; got.code != 0 || got.stderr != want {
		t.Errorf("exit code %d, standard error %q, want %q", got.code, got.stderr, want)
	}
}

func TestAuditOfWhatCannotBeRead(t *testing.T) {
	folder := t.TempDir()
	broken := write(t, folder, "broken.yaml", "spec: [}")
	impossible := write(t, folder, "impossible.yaml", strings.ReplaceAll(labelWakesPod, "name: n1, labels: {disk: ssd}", "name: n9"))
	for _, command := range [][]string{{"audit"}, {"explain", "pod", "web", "--scenario"}} {
		for path, want := range map[string]string{broken: broken + ":1: not well-formed YAML", impossible: impossible + ":23:5: spec.steps[0].patch: "} {
			got := rouse(t, append(command, path))
			if got.code != 2 || !strings.HasPrefix(got.stderr, want) || got.stdout != "" {
				t.Errorf("%v %s: exit code %d, standard error %q, want %q", command, path, got.code, got.stderr, want)
			}
		}
	}
	if got := rouse(t, []string{"audit"}); got.code != 2 || !strings.Contains(got.stderr, "needs at least one file or folder") {
		t.Errorf("without a path: exit code %d, standard error %q", got.code, got.stderr)
	}
}
