// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package verdicts

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	fwk "k8s.io/kube-scheduler/framework"
)

// A plugin may keep a status that it returned, change it, and return it again.
func TestStatusesThatAPluginKeeps(t *testing.T) {
	var table StatusTable
	kept := fwk.NewStatus(fwk.Unschedulable, "first").WithPlugin("A")
	first := table.Number(kept, "A")
	if again := table.Number(kept, "A"); again != first {
		t.Errorf("number %d, and then %d, of the same status", first, again)
	}
	kept.AppendReason("second")
	kept.SetPlugin("B")
	if diff := cmp.Diff([]string{"first"}, table.Status(first).Reasons()); diff != "" {
		t.Errorf("reasons in the table after the plugin changed its status (-want +got):\n%s", diff)
	}
	if plugin := table.Status(first).Plugin(); plugin != "A" {
		t.Errorf("plugin %q in the table after the plugin changed its status, want A", plugin)
	}
	if diff := cmp.Diff([]string{"first", "second"}, table.Status(table.Number(kept, "A")).Reasons()); diff != "" {
		t.Errorf("reasons of the changed status (-want +got):\n%s", diff)
	}
	if same := table.Number(fwk.NewStatus(fwk.Unschedulable, "first"), "A"); same != first {
		t.Errorf("number %d of an equal status, want %d", same, first)
	}
}
