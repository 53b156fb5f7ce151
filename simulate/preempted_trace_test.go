// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rouse-scheduler/rouse/simulate"
)

// TestTraceOfPreemption has two victims, one of which takes its time to go: the trace says at once that both have to go,
// and for whom, and only then whom that wakes.
func TestTraceOfPreemption(t *testing.T) {
	report := run(t, documents(node("n1", ""),
		"{apiVersion: v1, kind: Pod, metadata: {name: slow, namespace: default, finalizers: [example.com/hold]}, spec: {nodeName: n1, priority: 1, containers: [{name: c, image: i, resources: {requests: {cpu: 2}}}]}}",
		pod("quick", "1", ", nodeName: n1, priority: 1"),
		pod("important", "4", ", priority: 100"),
		scenario("{at: 10s, patch: {apiVersion: v1, kind: Pod, metadata: {name: slow, $deleteFromPrimitiveList/finalizers: [example.com/hold]}}}"),
	), simulate.Options{Trace: true})
	var got []string
	for _, entry := range report.Trace {
		switch entry.What {
		case simulate.WhatPreempted:
			got = append(got, entry.Pod+" preempted on "+entry.Node+" for "+entry.By)
		case simulate.WhatDeleted, simulate.WhatWoken, simulate.WhatBound:
			got = append(got, entry.Pod+" "+string(entry.What))
		}
	}
	want := []string{
		"default/slow preempted on n1 for default/important", "default/quick preempted on n1 for default/important",
		"default/important woken", "default/slow deleted", "default/important woken", "default/important bound",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("trace differs (-want +got):\n%s", diff)
	}
	if report.Summary.Preempted != 2 {
		t.Errorf("%d pods preempted, want 2", report.Summary.Preempted)
	}
}
