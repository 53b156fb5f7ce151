// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rouse-scheduler/rouse/app"

	"example.com/rackscheduler/rackbudget"
)

// run runs the command with some arguments and returns what it prints.
func run(t *testing.T, args ...string) string {
	t.Helper()
	command := app.NewSchedulerCommand(app.WithPlugin(rackbudget.Name, rackbudget.New))
	var output bytes.Buffer
	command.SetOut(&output)
	command.SetErr(&output)
	command.SetArgs(args)
	if err := command.ExecuteContext(t.Context()); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, &output)
	}
	return output.String()
}

// TestScenario plays the scenario as it is played on the command line. What it expects is in the file.
func TestScenario(t *testing.T) {
	output := run(t, "simulate", "scenario.yaml", "--config", "scheduler.yaml", "--quiet")
	if !strings.Contains(output, "5 pods on 3 nodes") {
		t.Errorf("unexpected output:\n%s", output)
	}
}

// TestEventMap checks that the event map of the scheduler has the plugin.
func TestEventMap(t *testing.T) {
	output := run(t, "events", "--config", "scheduler.yaml", "--plugin", "RackBudget")
	for _, want := range []string{"AssignedPod", "UpdateNodeLabel"} {
		if !strings.Contains(output, want) {
			t.Errorf("no %s in the event map:\n%s", want, output)
		}
	}
}
