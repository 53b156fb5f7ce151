// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rouse-scheduler/rouse/simulate"
)

func TestVersionOf(t *testing.T) {
	module := func(path, version string) debug.Module { return debug.Module{Path: path, Version: version} }
	rouse := module(modulePath, "v0.3.0")
	tests := map[string]struct {
		info *debug.BuildInfo
		want version
	}{
		"nothing known": {nil, version{Rouse: "(devel)", Kubernetes: "1.37"}},
		"the binary itself": {
			&debug.BuildInfo{GoVersion: "go1.26.8", Main: rouse, Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}}},
			version{Rouse: "v0.3.0", Revision: "abc", Go: "1.26.8", Kubernetes: "1.37"},
		},
		"a working copy": {
			&debug.BuildInfo{GoVersion: "go1.26.8", Main: module(modulePath, "")},
			version{Rouse: "(devel)", Go: "1.26.8", Kubernetes: "1.37"},
		},
		"a binary with plugins of its own": {
			&debug.BuildInfo{
				GoVersion: "go1.26.8", Main: module("example.com/mine", "v1.0.0"), Deps: []*debug.Module{&rouse},
				Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "of mine"}},
			},
			version{Rouse: "v0.3.0", Go: "1.26.8", Kubernetes: "1.37"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(&test.want, versionOf(test.info)); diff != "" {
				t.Errorf("version (-want +got):\n%s", diff)
			}
		})
	}
}

func TestKubernetesMinorIsThatOfGoMod(t *testing.T) {
	text, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if want := "k8s.io/kube-scheduler v0" + strings.TrimPrefix(kubernetesMinor, "1") + "."; !strings.Contains(string(text), want) {
		t.Errorf("go.mod does not contain %q: kubernetesMinor is out of date", want)
	}
}

func TestProgressBar(t *testing.T) {
	start := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	progress := simulate.Progress{Done: 1, Total: 4, Now: simulate.Time(12 * time.Second), Bound: 3, Pending: 9, Attempts: 40}
	const line = "[======                  ]  25%  3 bound  9 waiting  40 attempts  at 12s"
	tests := map[string]struct {
		width    int
		after    time.Duration
		progress simulate.Progress
		want     string
	}{
		"early":            {80, 900 * time.Millisecond, progress, ""},
		"late":             {80, time.Second, progress, "\r\x1b[K" + line},
		"unknown width":    {0, time.Second, progress, "\r\x1b[K" + line},
		"narrow terminal":  {30, time.Second, progress, "\r\x1b[K" + line[:29]},
		"without scenario": {80, time.Second, simulate.Progress{Bound: 3, Pending: 1}, "\r\x1b[K[==================      ]  75%  3 bound  1 waiting  0 attempts  at 0s"},
		"nothing to do":    {80, time.Second, simulate.Progress{}, "\r\x1b[K[========================] 100%  0 bound  0 waiting  0 attempts  at 0s"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var drawn bytes.Buffer
			bar := &progressBar{w: &drawn, width: test.width, start: start}
			bar.update(start.Add(test.after), test.progress)
			if got := drawn.String(); got != test.want {
				t.Errorf("drew %q, want %q", got, test.want)
			}
			drawn.Reset()
			bar.clear()
			if cleared := drawn.Len() > 0; cleared != (test.want != "") {
				t.Errorf("cleared: %v, but drew %q", cleared, test.want)
			}
		})
	}
}
