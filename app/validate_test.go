// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rouse-scheduler/rouse/app"
)

// withInput runs a command line that reads standard input.
func withInput(t *testing.T, input string, args ...string) outcome {
	t.Helper()
	command := app.NewSchedulerCommand()
	var stdout, stderr bytes.Buffer
	command.SetOut(&stdout)
	command.SetErr(&stderr)
	command.SetIn(strings.NewReader(input))
	command.SetArgs(args)
	command.SetContext(t.Context())
	code := app.Run(command)
	return outcome{stdout.String(), stderr.String(), code}
}

func TestConfigurationsFromStandardInput(t *testing.T) {
	const named = header + "profiles: [{schedulerName: mine}]\n"
	if got := withInput(t, named, "profiles", "validate", "-"); got.code != 0 || got.stdout != "-: valid, 1 profile\n" {
		t.Errorf("validate: %+v", got)
	}
	if got := withInput(t, named, "profiles", "show", "-"); got.code != 0 || !strings.Contains(got.stdout, "mine") {
		t.Errorf("show: %+v", got)
	}
	if got := withInput(t, named, "events", "--config", "-"); got.code != 0 || !strings.Contains(got.stdout, "mine") {
		t.Errorf("events: %+v", got)
	}
	if got := withInput(t, header+"profile: []\n", "profiles", "validate", "-"); got.code != 2 || !strings.HasPrefix(got.stderr, "standard input:3:1: profile: unknown field") {
		t.Errorf("validate of a broken one: %+v", got)
	}
	const broken = header + "profiles: [{plugins: {filter: {enabled: [{name: ImageLocality}]}}}]\n"
	if got := withInput(t, broken, "profiles", "validate", "-"); got.code != 2 || !strings.HasPrefix(got.stderr, "standard input:3:") {
		t.Errorf("validate of one with a plugin out of place: %+v", got)
	}
}

func TestValidateStrict(t *testing.T) {
	file := write(t, t.TempDir(), "c.yaml", header+"profiles: [{plugins: {score: {disabled: [{name: ImageLocalty}]}}}]\n")
	if got := rouse(t, []string{"profiles", "validate", file}); got.code != 0 || !strings.Contains(got.stderr, "Warning: ") {
		t.Errorf("without --strict: %+v", got)
	}
	if got := rouse(t, []string{"profiles", "validate", "--strict", file}); got.code != 1 || got.stdout != "" || !strings.HasSuffix(got.stderr, "warnings: 1\n") {
		t.Errorf("with --strict: %+v", got)
	}
}

func TestValidateAsJSON(t *testing.T) {
	type message struct {
		File, Field, Message, Suggestion string
		Line, Column                     int
	}
	type view struct {
		Files []struct {
			File             string
			Valid            bool
			Profiles         []string
			Errors, Warnings []message
		}
	}
	folder := t.TempDir()
	good := write(t, folder, "good.yaml", header)
	bad := write(t, folder, "bad.yaml", header+"parallelism: -1\nprofile: []\n")
	got := rouse(t, []string{"profiles", "validate", "-o", "json", good, bad})
	files := decode[view](t, got.stdout).Files
	if got.code != 2 || len(files) != 2 || !files[0].Valid || files[0].Profiles[0] != "default-scheduler" || files[1].Valid {
		t.Fatalf("exit code %d, %+v", got.code, files)
	}
	want := []message{
		{File: bad, Line: 3, Column: 1, Field: "parallelism", Message: "Invalid value: -1: should be an integer value greater than zero"},
		{File: bad, Line: 4, Column: 1, Field: "profile", Message: "unknown field", Suggestion: "profiles"},
	}
	if errs := files[1].Errors; len(errs) != 2 || errs[0] != want[0] || errs[1] != want[1] {
		t.Errorf("errors %+v\nwant %+v", errs, want)
	}
}

func TestShowAsConfigurationLoads(t *testing.T) {
	text := succeed(t, []string{"profiles", "show", "-o", "config", "../testdata/quickstart/scheduler.yaml"})
	if got := withInput(t, text, "profiles", "show", "-o", "config", "-"); got.code != 0 || got.stdout != text {
		t.Errorf("what is shown does not load as the same: %+v\nwant\n%s", got, text)
	}
}

func TestCertificatesOfExtendersAreChecked(t *testing.T) {
	for settings, want := range map[string]string{
		"serverName: one, keyFile: /none, certFile: /none": "open /none: no such file or directory",
		"caFile: /none, insecure: true":                    "specifying a root certificates file with the insecure flag is not allowed",
		"caFile: /none":                                    "open /none: no such file or directory",
	} {
		text := header + "extenders:\n- urlPrefix: https://one\n  enableHTTPS: true\n  tlsConfig: {" + settings + "}\n"
		got := withInput(t, text, "profiles", "validate", "-")
		if got.code != 2 || !strings.HasPrefix(got.stderr, "standard input:6:3: extenders[0].tlsConfig: ") || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: %+v, want %s", settings, got, want)
		}
	}
}

func TestProfilesMayNamePluginsWhoseGatesAreOff(t *testing.T) {
	const named = header + `profiles:
- plugins:
    multiPoint: {enabled: [{name: GangScheduling}, {name: DeferredPodScheduling}, {name: PodGroupPodsCount}, {name: TopologyPlacementGenerator}]}
    permit: {enabled: [{name: GangScheduling}]}
`
	file := write(t, t.TempDir(), "c.yaml", named)
	if got := rouse(t, []string{"profiles", "validate", file}); got.code != 0 {
		t.Errorf("validate: %+v", got)
	}
	if got := rouse(t, []string{"profiles", "show", file}); got.code != 0 || !strings.Contains(got.stdout, "GangScheduling") {
		t.Errorf("show: %+v", got)
	}
	if got := rouse(t, []string{"profiles", "diff", file}); got.code != 1 || !strings.Contains(got.stdout, "GangScheduling") {
		t.Errorf("diff: %+v", got)
	}
	if got := rouse(t, []string{"plugins"}); got.code != 0 || !strings.Contains(got.stdout, "GangScheduling ") {
		t.Errorf("plugins: %+v", got)
	}
}
