// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const onlyANode = `
apiVersion: v1
kind: Node
metadata: {name: n2}
status: {allocatable: {cpu: "2", memory: 4Gi, pods: "10"}}
`

const podsWithoutPlugins = `
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint:
      disabled: [{name: NodeAffinity}]
`

const waitsForSSD = `
apiVersion: v1
kind: Pod
metadata: {name: wants-ssd, namespace: default}
spec: {nodeSelector: {disk: ssd}, containers: [{name: main, image: i}]}
---
apiVersion: rouse/v1alpha1
kind: Scenario
metadata: {name: waits}
spec:
  steps:
  - expect: {pods: [{name: wants-ssd, pool: unschedulable, rejectedBy: [NodeAffinity]}]}
`

// TestTest has a folder of scenarios, each of which is run alone: what one of them creates is not there for another.
func TestTest(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"a", "b", "c", "d", "only", "broken"} {
		if err := os.Mkdir(filepath.Join(folder, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	passes := write(t, folder, "a/passes.yaml", labelWakesPod)
	fails := write(t, folder, "b/fails.yaml", labelWakesPod+"---"+expectsTooMuch)
	write(t, folder, "nodes.yaml", onlyANode)
	tests := []struct {
		name string
		args []string
		code int
		want []string
	}{
		{"all pass", []string{filepath.Dir(passes)}, 0, []string{"ok      " + passes + "  (1 expectation)\n", "\n1 file: 1 ok, 0 failed; 1 expectation, 0 failed\n"}},
		{"a folder is walked", []string{filepath.Dir(passes), filepath.Dir(fails)}, 1, []string{
			"ok      " + passes, "FAILED  " + fails + "  (3 of 4 expectations)\n        " + fails + ":", "pod default/wants-ssd: wanted node n2; found node n1",
			"\n2 files: 1 ok, 1 failed; 5 expectations, 3 failed\n",
		}},
		{"trace", []string{"--trace", fails}, 1, []string{"bound      default/plain"}},
		{"no file", []string{filepath.Join(folder, "missing.yaml")}, 2, []string{"missing.yaml"}},
		{"no scenario", []string{write(t, folder, "only/nodes.yaml", onlyANode), passes}, 2, []string{
			"ERROR   ", "nothing is expected of any pod", "ok      " + passes, "2 files: 1 ok, 0 failed, 1 could not be run;",
		}},
		{"no scenario in a folder", []string{filepath.Join(folder, "only")}, 2, []string{"no file in ", "kind Scenario"}},
		{"not YAML", []string{write(t, folder, "broken/x.yaml", "kind: Scenario\n\tx: [")}, 2, []string{"ERROR   ", "x.yaml:"}},
		{"with", []string{"--with", filepath.Join(folder, "nodes.yaml"), write(t, folder, "c/waits.yaml", waitsForSSD)}, 0, []string{"1 file: 1 ok"}},
		{"configuration in the folder", []string{
			"--with", filepath.Join(folder, "nodes.yaml"),
			write(t, filepath.Dir(write(t, folder, "d/scheduler.yaml", podsWithoutPlugins)), "waits.yaml", waitsForSSD),
		}, 1, []string{"found pool bound"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := rouse(t, append([]string{"test"}, test.args...))
			if got.code != test.code {
				t.Errorf("exit code %d, want %d", got.code, test.code)
			}
			for _, want := range test.want {
				if !strings.Contains(got.stdout+got.stderr, want) {
					t.Errorf("no %q in\n%s%s", want, got.stdout, got.stderr)
				}
			}
		})
	}
}

// TestTestJSON checks the documented form of rouse test -o json.
func TestTestJSON(t *testing.T) {
	folder := t.TempDir()
	fails := write(t, folder, "fails.yaml", labelWakesPod+"---"+expectsTooMuch)
	got := rouse(t, []string{"test", "-o", "json", fails})
	if got.code != 1 {
		t.Errorf("exit code %d, want 1: %s", got.code, got.stderr)
	}
	var report struct {
		Summary struct{ Files, Passed, Failed, Errors, Expectations, Failures int }
		Files   []struct {
			Path, Result, Error string
			Expectations        int
			Failures            []string
		}
	}
	if err := json.Unmarshal([]byte(got.stdout), &report); err != nil {
		t.Fatalf("%v in\n%s", err, got.stdout)
	}
	want := struct{ Files, Passed, Failed, Errors, Expectations, Failures int }{Files: 1, Failed: 1, Expectations: 4, Failures: 3}
	if diff := cmp.Diff(want, report.Summary); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
	if len(report.Files) != 1 || report.Files[0].Result != "failed" || len(report.Files[0].Failures) != 3 {
		t.Errorf("got %+v", report.Files)
	}
}
