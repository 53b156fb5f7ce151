// Copyright The Rouse Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"fmt"
	"testing"

	"github.com/rouse-scheduler/rouse/plugintest/objects"
)

// A decision about a pod like the one before allocates the same little, however many nodes there are.
func TestDecisionsAllocateLittle(t *testing.T) {
	const limit = 130
	perDecision := func(nodes int) float64 {
		f := newFixture(t)
		for i := range nodes {
			f.nodeAdded(objects.Node(fmt.Sprintf("n%d", i)).Capacity("cpu", "64", "memory", "8Gi").Build())
		}
		const decisions = 60
		for i := range decisions + 10 {
			f.add(objects.Pod(fmt.Sprintf("p%d", i)).Requests("cpu", "100m").Build())
		}
		for range 5 {
			f.TryScheduleOne(f.ctx)
		}
		return testing.AllocsPerRun(decisions, func() {
			if !f.TryScheduleOne(f.ctx) {
				t.Fatal("no pod is ready")
			}
		})
	}
	few, many := perDecision(50), perDecision(2000)
	if few > limit || many > limit || many > few+5 {
		t.Errorf("a decision allocates %v times with 50 nodes and %v with 2,000, want at most %d and no growth", few, many, limit)
	}
	t.Logf("a decision allocates %v times with 50 nodes, %v with 2,000", few, many)
}
