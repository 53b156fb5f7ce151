// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestCommands runs the commands as they are run from the shell, with the plugins as a cluster has them. What the scenario expects is
// in its file.
func TestCommands(t *testing.T) {
	tests := []struct {
		name, line string
		want       []string
	}{
		{"simulate", "simulate crds.yaml scenario.yaml --config scheduler.yaml", []string{"6 pods on 2 nodes", "bound           6"}},
		{"audit", "audit crds.yaml scenario.yaml --config scheduler.yaml", []string{"missed wake-ups  0", "failed           0", "podgroups.v1alpha1.scheduling.example.comUpdate"}},
		{"explain", "explain pod b-1 --scenario scenario.yaml --at 65s --config scheduler.yaml", []string{"the gang has 1 of 2 pods", "podgroups.v1alpha1.scheduling.example.com"}},
		{"events", "events --config scheduler.yaml --plugin Maintenance", []string{"maintenances.v1alpha1.scheduling.example.com"}},
		{"profiles show", "profiles show scheduler.yaml", []string{"Gang", "Maintenance", "Prices", "permitTimeout: 30s"}},
		{"profiles validate", "profiles validate scheduler.yaml", []string{"scheduler.yaml"}},
		{"plugins", "plugins --config scheduler.yaml", []string{"Gang", "preEnqueue preFilter reserve permit postBind"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			command := newCommand()
			var output bytes.Buffer
			command.SetOut(&output)
			command.SetErr(&output)
			command.SetArgs(strings.Fields(test.line))
			if err := command.ExecuteContext(t.Context()); err != nil {
				t.Fatalf("%s: %v\n%s", test.line, err, &output)
			}
			for _, want := range test.want {
				if !strings.Contains(output.String(), want) {
					t.Errorf("%s: no %q in\n%s", test.line, want, &output)
				}
			}
		})
	}
}
