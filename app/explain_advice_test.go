// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package app_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestExplainSaysWhatToDo has the pods of the scenarios with what would help each of them, or what each waits for.
func TestExplainSaysWhatToDo(t *testing.T) {
	scenarios := filepath.Join("..", "testdata", "scenarios")
	for _, test := range []struct{ pod, scenario, at, want string }{
		{"urgent-2", "preemption.yaml", "31s", "is nominated for node n1, and waits for default/batch-1 to end there.\n"},
		{"urgent-2", "preemption.yaml", "31s", "\n  - wait until pod default/batch-1 on n1, which is being deleted, has ended\n"},
		{"batch-1", "preemption.yaml", "31s", "is on node n1, and is being deleted, preempted by default/urgent-2.\n"},
		{"patient", "preemption.yaml", "25s", "\n  - free 2 cpu on n1 (ending default/batch-1 would do)\n"},
		{"gated", "gates-removed.yaml", "0s", "is not tried before its scheduling gates example.com/quota and example.com/approval are removed.\n"},
		{"gated", "gates-removed.yaml", "0s", "\n  - remove the scheduling gate example.com/quota and remove the scheduling gate example.com/approval"},
		{"disk-2", "volume-in-use.yaml", "0s", "\n  - end pod default/disk-1 on n1\n"},
		{"visitor", "existing-anti-affinity.yaml", "0s", "\n  - end pod default/hermit on n1\n"},
		{"second", "host-port-freed.yaml", "0s", "\n  - end pod default/first on n1\n"},
		{"one", "driver-missing.yaml", "0s", "\n  - install the CSI driver one.example.com on n1\n"},
		{"disk-1", "volume-in-use.yaml", "0s", "The best nodes, if it were placed now (score times weight)\n\n  NODE  TOTAL  PLUGINS\n  n1 "},
	} {
		text := succeed(t, []string{"explain", "pod", test.pod, "--scenario", filepath.Join(scenarios, test.scenario), "--at", test.at})
		if !strings.Contains(text, test.want) {
			t.Errorf("%s of %s: want %q in\n%s", test.pod, test.scenario, test.want, text)
		}
	}
}

func TestExplainSchema(t *testing.T) {
	if text := succeed(t, []string{"explain", "--schema"}); !strings.Contains(text, `"suggestions": {`) {
		t.Errorf("schema %s", text)
	}
}
