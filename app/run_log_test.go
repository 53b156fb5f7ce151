// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestStartLogsNoErrors starts a process whose log is its own, up to where it would connect to a cluster.
func TestStartLogsNoErrors(t *testing.T) {
	folder := t.TempDir()
	allowed := write(t, folder, "allowed.yaml", "scheduler_pending_pods,queue: active\n")
	for _, flags := range [][]string{
		nil,
		{"--disabled-metrics=scheduler_pending_pods"},
		{"--show-hidden-metrics-for-version=1.36"},
		{"--allow-metric-labels=scheduler_pending_pods,queue=active"},
		{"--allow-metric-labels-manifest=" + allowed},
	} {
		written := filepath.Join(folder, "written.yaml")
		process := exec.Command(os.Args[0])
		args := append([]string{"run", "--write-config-to=" + written}, flags...)
		process.Env = append(os.Environ(), argumentsVariable+"="+strings.Join(args, " "))
		log, err := process.CombinedOutput()
		if err != nil || !strings.Contains(string(log), "Wrote configuration") {
			t.Fatalf("%q: %v\n%s", flags, err, log)
		}
		if line := regexp.MustCompile(`(?m)^E.*`).Find(log); line != nil {
			t.Errorf("%q: the log of a start without errors has %s", flags, line)
		}
	}
}
